"""Transactions from an index are those of a reading of the logs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError
from binlogkit.log.index import Index, Joined
from binlogkit.log.index.transactions import narrow_transactions
from binlogkit.rows.filters import Filters
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import Input, committed

INPUTS = committed()
TWO_FILES = golden.case("8.0-row-full", "transactions")


KINDS = ("transactions", "statements", "boundaries")


def _told(log: bk.Log, kind: str, **filters: Any) -> list[Any]:
    try:
        table = getattr(log, kind)(engine="pyarrow", **filters)
    except BinlogKitError as error:
        return [type(error), str(error)]
    notes = [(note.code, note.place, note.found) for note in log.notes]
    return [table.to_pylist(), log.gaps, notes, [str(d) for d in log.damages], log.times]


@pytest.mark.sampled(10, 24)
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_they_are_those_of_a_reading(name: str, written: Callable[[Input], list[str]]) -> None:
    item = INPUTS[name]
    names = written(item)
    logs = [bk.open(names, index=index, **item.options) for index in (None, "index")]
    Index("index").update(logs[1].carriers)
    for kind in KINDS:
        plain, known = (_told(log, kind) for log in logs)
        assert known == plain
    for filters in ({"op": "delete"}, {"start_position": 2000}, {"table": "bank.account"}):
        plain, known = (_table(log.transaction_table, **filters) for log in logs)
        assert known == plain
    late = Filters.build(start_position=2000)
    for tables in ([log.statement_table for log in logs], [log.boundary_table for log in logs]):
        plain, known = (_table(table, late) for table in tables)
        assert known == plain


def _table(made: Callable[..., Any], *args: Any, **filters: Any) -> Any:
    try:
        return made(*args, **filters).to_pylist()
    except BinlogKitError as error:
        return type(error), str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_is_not_read(
    kind: str, tmp_path: Path, reads: Callable[[], list[str]]
) -> None:
    for path in TWO_FILES.binlogs:
        shutil.copy(path, tmp_path)
    first, second = sorted(tmp_path.iterdir())
    bk.index(first, tmp_path / "index")
    reads()
    log = bk.open([first, second], index=tmp_path / "index")
    found = getattr(log, kind)(engine="pyarrow")
    assert reads() == [second.name]
    assert found == getattr(bk.open([first, second]), kind)(engine="pyarrow")


def test_an_index_without_texts_is_read_past(tmp_path: Path) -> None:
    log = bk.open(TWO_FILES.binlogs, index=tmp_path / "index")
    Index(tmp_path / "index", queries=False).update(log.carriers)
    for kind in KINDS[1:]:
        plain = getattr(bk.open(TWO_FILES.binlogs), kind)(engine="pyarrow")
        assert getattr(log, kind)(engine="pyarrow") == plain


@pytest.mark.parametrize("later", [False, True])
def test_some_columns_with_dictionaries(tmp_path: Path, *, later: bool) -> None:
    log = bk.open(TWO_FILES.binlogs)
    for carrier in log.carriers[::-1]:  # each in a batch of its own, the second file's first
        Index(tmp_path / "index").update([carrier])
    parts = list(Index(tmp_path / "index").parts(log.carriers, None, ["transactions"], later=later))
    columns = ("tx", "source", "file", "gtid", "outcome", "resolved_file", "resolved_pos", "xa")
    found = narrow_transactions(parts, Joined(parts), columns, {"file", "outcome"})
    whole = log.transactions(engine="pyarrow")
    assert found.to_pylist() == whole.select(columns).to_pylist()
    dictionaries = [f.name for f in found.schema if pa.types.is_dictionary(f.type)]
    assert dictionaries == ["file", "outcome"]
