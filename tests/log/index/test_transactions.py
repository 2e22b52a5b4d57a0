"""Transactions from an index are those of a reading of the logs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError
from binlogkit.log.index import Index
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import Input, committed

INPUTS = committed()
TWO_FILES = golden.case("8.0-row-full", "transactions")


def _told(log: bk.Log, **filters: Any) -> list[Any]:
    try:
        table = log.transaction_table(**filters)
    except BinlogKitError as error:
        return [type(error), str(error)]
    notes = [(note.code, note.place, note.found) for note in log.notes]
    return [table.to_pylist(), log.gaps, notes, [str(d) for d in log.damages], log.times]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_they_are_those_of_a_reading(name: str, written: Callable[[Input], list[str]]) -> None:
    item = INPUTS[name]
    names = written(item)
    logs = [bk.open(names, index=index, **item.options) for index in (None, "index")]
    Index("index").update(logs[1].carriers)
    plain, known = (_told(log) for log in logs)
    assert known == plain
    for filters in ({"op": "delete"}, {"start_position": 2000}, {"table": "bank.account"}):
        assert _told(logs[1], **filters)[0] == _told(logs[0], **filters)[0]


def test_what_is_known_is_not_read(tmp_path: Path, reads: Callable[[], list[str]]) -> None:
    for path in TWO_FILES.binlogs:
        shutil.copy(path, tmp_path)
    first, second = sorted(tmp_path.iterdir())
    bk.index(first, tmp_path / "index")
    reads()
    log = bk.open([first, second], index=tmp_path / "index")
    assert log.transactions(engine="pyarrow") == bk.open([first, second]).transactions(
        engine="pyarrow"
    )
    assert reads() == [second.name]
