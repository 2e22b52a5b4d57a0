"""A state's rows with the table's own columns: written, read again, and what no state wrote."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import binlogkit as bk
from binlogkit.errors import InputError
from binlogkit.frames.snapshots.facts import KEY
from binlogkit.log.states.table_state import TableState
from binlogkit.reports.output import Output
from binlogkit.reports.text import write_state
from binlogkit_fixtures import golden

FULL, MINIMAL = (golden.case(f"8.0-row-{image}", "types") for image in ("full", "minimal"))
NAMES = sorted(FULL.manifest.marks[-1].tables)


def _state(case: golden.GoldenCase, table: str) -> TableState:
    return bk.open([str(path) for path in case.binlogs]).state(table)


@pytest.mark.parametrize("table", NAMES)
def test_every_type_is_the_same_again(table: str, tmp_path: Path) -> None:
    for case in (FULL, MINIMAL):
        state = _state(case, table)
        state.to_parquet(tmp_path / "s.parquet")
        schema = pq.read_schema(tmp_path / "s.parquet")
        assert [name for name in schema.names if name != "_cells"] == [*(state.columns or ())]
        log = bk.open([str(path) for path in case.binlogs])
        again = log.state(table, base=str(tmp_path / "s.parquet"))
        assert list(again.records()) == list(state.records())
        assert again.unknown_cells == state.unknown_cells


def test_csv_has_texts_and_names_what_is_no_value(tmp_path: Path) -> None:
    state = _state(FULL, "types.timestamps")
    write_state(state, Output("csv", tmp_path / "s.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "s.csv").read_text("utf-8"))))
    assert len(rows) == state.rows.num_rows
    zero = [(i, n) for i, row in enumerate(rows) for n, v in row.items() if v.startswith("0000-")]
    told = [record["values"] for record in state.records()]
    assert zero and all(rows[i][name] == told[i][name] for i, name in zero)  # type: ignore[index]
    assert all('"no_arrow_value"' in rows[i]["_cells"] for i, _ in zero)


def test_names_of_ours_are_told_from_a_tables(tmp_path: Path) -> None:
    """A table may have a column called ``_cells``."""
    fields = [pa.field("_cells", pa.int32(), metadata={"binlogkit:mysql_type": "int"})]
    from binlogkit.frames.flat_states import flat_schema, flat_states, states_of_flat

    state = pa.table({
        "values": pa.StructArray.from_arrays([pa.array([1, None], pa.int32())], fields=fields),
        "unknown": pa.array([[], ["_cells"]], pa.list_(pa.string())),
        "value_state": pa.array([None, [2]], pa.list_(pa.uint8())),
        "raw": pa.nulls(2, _raw()),
    })  # fmt: skip
    schema = flat_schema(fields, {}, cells=True)
    assert schema.names == ["@005fcells", "_cells"]
    found = states_of_flat(flat_states([state], schema), fields)
    assert found["values"].to_pylist() == [{"_cells": 1}, {"_cells": None}]
    assert found["unknown"].to_pylist() == [[], ["_cells"]]
    plain = flat_schema(fields, {}, cells=False)
    found = states_of_flat(flat_states([state.slice(0, 1)], plain), fields)
    assert plain.names == ["_cells"] and found["values"].to_pylist() == [{"_cells": 1}]


def _raw() -> pa.DataType:
    from binlogkit.frames.fields.field import arrow_type

    return arrow_type("raw")


def _without(name: str) -> Any:
    return lambda table: table.drop_columns([name])


def _with(name: str, values: Any) -> Any:
    return lambda table: table.set_column(
        table.schema.names.index(name),
        name,
        pa.nulls(table.num_rows, values.type).fill_null(values),
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_without("total"), "its rows are not those of its table"),
        (_with("total", pa.scalar("twelve")), "its rows are not those of its table"),
        (_with("placed_at", pa.scalar(1 << 62, pa.timestamp("us"))), "a value of placed_at is"),
        (lambda t: t.append_column("_cells", _odd(t.num_rows, "nothing")), "its rows are not"),
        (lambda t: t.replace_schema_metadata({KEY: b"{}"}), "its metadata cannot be read"),
        (lambda t: t.replace_schema_metadata({}), "it is no state that binlogkit wrote"),
    ],
)  # fmt: skip
def test_what_no_state_wrote_is_refused(change: Any, told: str, tmp_path: Path) -> None:
    (path,) = golden.case("8.0-row-full", "incident").binlogs
    log = bk.open(path)
    log.state("shop.orders").to_parquet(tmp_path / "s.parquet")
    pq.write_table(change(pq.read_table(tmp_path / "s.parquet")), tmp_path / "s.parquet")
    with pytest.raises(InputError, match=told):
        log.state("shop.orders", base=str(tmp_path / "s.parquet"))


def _odd(size: int, word: str) -> pa.Array:
    from binlogkit.frames.flat_cells import CELLS_TYPE

    cell = {"column": "total", "state": word, "bytes": None, "text": None}
    return pa.array([[cell]] * size, CELLS_TYPE)
