"""What `rows` writes for programs, column by column, is what its records say one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binlogkit as bk
from binlogkit.frames import text_columns
from binlogkit.frames.row_batches import read_batches
from binlogkit.frames.tables import generic_schema
from binlogkit.reports import _arrow, _csv
from binlogkit.reports.output import Output, write_batches, write_records
from binlogkit.rows.filters import Filters
from tests.reference.binlogkit_reference.records import RECORD_KEYS, window_records

DATA = Path(__file__).parents[1] / "_data"
LOGS = [
    path
    for scenario in ("types", "json", "keys", "modern", "transactions")
    for path in sorted(DATA.glob(f"*-row-*/{scenario}/binlog.000001"))
]


def read(path: Path) -> pa.Table | bytes:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    return pa.ipc.open_stream(path).read_all() if path.suffix == ".arrow" else path.read_bytes()


def records_of(path: Path) -> Iterator[dict[str, Any]]:
    """Its rows, made one after the other."""
    for window in read_batches(bk.open(path).reading(), Filters()):
        yield from window_records([batch for _, batch in window])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "arrow"])
def test_the_same_by_records_and_by_batches(form: str, tmp_path: Path) -> None:
    rows = 0
    for number, log in enumerate(LOGS[::3]):
        one, other = (tmp_path / f"{number}-{way}.{form}" for way in ("one", "other"))
        rows += write_records(records_of(log), Output(form, one), names=RECORD_KEYS)
        batches = bk.open(log).generic_batches(compact=True)
        write_batches(generic_schema(), batches, Output(form, other))
        assert read(one) == read(other), log
        if form in ("parquet", "arrow"):
            assert read(one).schema == read(other).schema  # type: ignore[union-attr]
    assert rows > 500


@pytest.mark.sampled(3)
@pytest.mark.parametrize("columns", ["pos,after", "after.id,pos", "table"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "arrow"])
def test_chosen_columns(run: Any, tmp_path: Path, form: str, columns: str) -> None:
    log, out = LOGS[0], tmp_path / f"out.{form}"
    assert run("rows", log, "--format", form, "--columns", columns, "--output", out).status == 0
    expected = tmp_path / f"expected.{form}"
    output = Output(form, expected, columns=columns.split(","))
    write_records(records_of(LOGS[0]), output, names=RECORD_KEYS)
    assert read(out) == read(expected)


@pytest.mark.slow
def test_very_large_rows_take_the_other_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Their text may be more than an Arrow string can hold."""
    paths, forms = [], ("jsonl", "csv")
    for large in (text_columns.LARGE, 0):
        monkeypatch.setattr(text_columns, "LARGE", large)
        for form in forms:
            paths.append(tmp_path / f"{large}.{form}")
            batches = bk.open(LOGS[0]).generic_batches(compact=True)
            write_batches(generic_schema(), batches, Output(form, paths[-1]))
    first, second, *others = (path.read_bytes() for path in paths)
    assert [first, second] == others


CELLS = {
    "text": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    "number": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
    "after": st.none() | st.dictionaries(st.text('ab"\\\n\u202e\x7fé', max_size=4), st.integers()),
}


@settings(deadline=None)
@given(
    st.lists(st.fixed_dictionaries(CELLS), max_size=6),
    st.integers(0, 5),
    st.sampled_from([None, "one", 'a"\\', "\x1b\u2028", ""]),
)
def test_any_line(rows: list[dict[str, Any]], start: int, same: str | None) -> None:
    """Also of a slice, of columns that do not change, and of coded ones."""
    after = [None if r["after"] is None else json.dumps(r["after"]) for r in rows]
    text = pa.array([r["text"] for r in rows], pa.string())
    columns = {
        'a"b': text,
        "coded": text.dictionary_encode(),
        "number": pa.array([r["number"] for r in rows], pa.int64()),
        "same": pa.array([same] * len(rows), pa.string()),
        "after": pa.array(after, pa.string()),
        "end": pa.array([7] * len(rows), pa.int32()),
    }
    batch = pa.RecordBatch.from_pydict(columns).slice(start)
    lines = _arrow.json_lines(batch).decode()
    assert lines == "".join(_arrow._lines(batch))
    parsed = [json.loads(line) for line in lines.split("\n")[:-1]]
    assert [record['a"b'] for record in parsed] == [r["text"] for r in rows[start:]]
    assert [record["after"] for record in parsed] == [r["after"] for r in rows[start:]]
    assert [record["same"] for record in parsed] == [same] * len(parsed)
    assert "\x1b" not in lines and "\u202e" not in lines and "\u2028" not in lines


@settings(deadline=None)
@given(
    st.lists(
        st.none() | st.text(st.sampled_from("a=+-@ \t\n\r,;\"'\\1.e＝é\0"), max_size=5),
        max_size=6,
    ),
    st.booleans(),
    st.integers(0, 2),
)
def test_any_line_of_csv(values: list[str | None], raw: bool, start: int) -> None:
    """The spreadsheet's guard and quotation marks are those of cells one by one."""
    text = pa.array(values, pa.string())
    plain = pa.array([None if v is None else v.strip("=+-@ ") for v in values], pa.string())
    columns = {
        "a": text,
        "b": plain,
        "c": pa.array([None if v is None else -len(v) for v in values], pa.int64()),
        "d": pa.array([(values or [None])[0]] * len(values), pa.string()),
        "e": text.dictionary_encode(),
    }
    for names in (list(columns), ["a"]):
        batch = pa.RecordBatch.from_pydict({n: columns[n] for n in names}).slice(start)
        rows = [list(record.values()) for record in batch.to_pylist()]
        expected = list(_csv.csv_lines(names, iter(rows), raw=raw, terminal=False))[1:]
        assert _csv.csv_block(batch, raw=raw).decode() == "".join(expected)
