"""Which logs an index says may have changed a row: none that did is missing."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError, InputError, UsageError
from binlogkit.log.index import Index
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import Input, committed

INPUTS = committed()
SHOP = golden.case("8.0-row-full", "transactions")
_COUNTS = ("rows", "inserts", "updates", "deletes")


def _with_row(log: bk.Log, table: str, where: Any) -> set[str]:
    found = log.rows(table, engine="pyarrow", where=where, columns=[])
    return {Path(name).name for name in pc.unique(found["file"].cast(pa.string())).to_pylist()}


def _told(table: str, where: Any) -> set[str]:
    found = bk.touched("index", table=table, where=where)
    return {Path(name).name for name in found["file"].to_pylist()}


@pytest.mark.sampled(0, 6)
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_no_log_with_the_row_is_missing(name: str, written: Callable[[Input], list[str]]) -> None:
    """Each key of every table, looked for by its value and by its text."""
    item = INPUTS[name]
    log = bk.open(written(item), on_damage="report", **item.options)
    left = Index("index").update(log.carriers, log.options).left
    if left:
        return
    try:
        batches = list(log.batches())
    except BinlogKitError:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for batch in batches:
            table = ".".join("`" + part.replace("`", "``") + "`" for part in batch.table)
            names = [field.name for field in batch.batch.schema.field("after").type]
            rows = batch.batch.slice(0, 400).to_pylist()[:: max(1, batch.batch.num_rows // 2)]
            for image in (row[side] for row in rows for side in ("before", "after")):
                if image is None or not names or image[names[0]] is None:
                    continue
                value = image[names[0]]
                texts = [f"`{names[0]}`={value}"] if isinstance(value, (int, str)) else []
                for where in [{names[0]: value}, *texts]:
                    try:
                        there = _with_row(log, table, where)
                    except BinlogKitError:
                        continue
                    assert there <= _told(table, where), where


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bk.Log:
    """Two logs, and the index ``index`` of them."""
    monkeypatch.chdir(tmp_path)
    for path in SHOP.binlogs:
        shutil.copy(path, tmp_path)
    log = bk.open(sorted(path.name for path in tmp_path.iterdir()))
    Index("index").update(log.carriers)
    return log


def test_few_logs_without_the_row_are_named(shop: bk.Log) -> None:
    table = ".".join(shop.table_pairs()[0])
    others = [_told(table, f"id={number}") for number in range(10**6, 10**6 + 30)]
    assert sum(map(len, others)) <= 0.01 * 30 * len(shop.files)
    rows = shop.rows(table, engine="pyarrow")
    known = next(filter(None, rows["after.id"].to_pylist()))
    assert _told(table, f"id={known}") == _with_row(shop, table, f"id={known}")
    assert _told(table, f"after.id in ({known}, 77777)") == _told(table, {"id": known})


def test_totals_are_those_of_the_audit(shop: bk.Log) -> None:
    audit, found = shop.audit(), bk.touched("index", minutes=True)
    for section, by in (("by_table", ["db", "table"]), ("by_minute", ["minute"])):
        counted = _counted(found, by)
        told = {
            tuple(row[name] for name in by): [row[name] for name in _COUNTS]
            for row in audit[section].to_pylist()
        }
        assert counted == told
    whole = bk.touched("index")
    assert _counted(whole, ["db", "table"]) == _counted(found, ["db", "table"])
    assert whole["minute"].null_count == whole.num_rows
    assert set(bk.touched("index", op="delete")["op"].to_pylist()) <= {"delete"}


def _counted(found: pa.Table, by: list[str]) -> dict[tuple[Any, ...], list[int]]:
    counted: dict[tuple[Any, ...], list[int]] = {}
    for row in found.to_pylist():
        sums = counted.setdefault(tuple(row[name] for name in by), [0, 0, 0, 0])
        sums[0] += row["rows"]
        sums[1 + ["insert", "update", "delete"].index(row["op"])] += row["rows"]
    return counted


def test_a_damaged_log_is_always_named(shop: bk.Log) -> None:
    first = Path(shop.files[0])
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 0xFF
    first.write_bytes(data)
    Index("anew").update(bk.open(shop.files).carriers)
    found = bk.touched("anew", table="no.such", where="id=1").to_pylist()
    assert [(row["file"], row["table"], row["damaged"]) for row in found] == [
        (first.name, None, True)
    ]


def test_what_is_not_known_may_be_there(shop: bk.Log) -> None:
    """A condition on another column than the key's, and an index that keeps no values."""
    table = ".".join(shop.table_pairs()[0])
    every = {Path(name).name for name in bk.touched("index", table=table)["file"].to_pylist()}
    assert _told(table, "owner=nobody") == every
    with pytest.raises(UsageError, match="there is no column ownr; did you mean owner"):
        _told(table, "ownr=nobody")
    assert _told(table, "id=no number") == every
    Index("index").commit({}, {str(Path(name).resolve()) for name in shop.files})
    Index("index", queries=False).update(shop.carriers)
    assert Index("index").table("filters")["filter"].null_count > 0
    assert _told(table, "id=99999999") == every


def test_what_is_no_index_and_no_key_is_an_error(shop: bk.Log) -> None:
    with pytest.raises(InputError, match="is no index"):
        bk.touched("nowhere")
    with pytest.raises(UsageError, match="value of a key"):
        bk.touched("index", where="after.id > 5")
    with pytest.raises(UsageError, match="op is one of"):
        bk.touched("index", op="truncate")
