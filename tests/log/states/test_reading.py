"""States folded while the log is read are those of changes read when all else is known."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses.point_in_time.forward import Forward
from binlogkit.errors import BinlogKitError
from binlogkit.log.states import reading
from binlogkit.log.states.reading import StateReading
from binlogkit.log.streams import Streams
from binlogkit.rows.filters import written_table_name

DATA = Path(__file__).parents[2] / "_data"

#: Logs with XA, savepoints, key changes, statements, and several files.
STORIES = (
    "5.7-row-no-gtid/transactions",
    "8.0-row-minimal/keys",
    pytest.param("8.0-row-full/ddl", marks=pytest.mark.slow),
    *(
        pytest.param(story, marks=[pytest.mark.slow, pytest.mark.campaign])
        for story in (
            "8.0-row-full/transactions", "8.0-row-compressed/statements",
            "5.7-mixed-full/statements",
        )
    ),
)  # fmt: skip
#: Where tables come from others, which only what follows tells.
RENAMES = "8.0-row-full/ddl"


def files(story: str) -> list[Path]:
    return [p for p in sorted((DATA / story).glob("binlog.0*")) if p.suffix != ".xz"]


def answer(log: bk.Log, table: str, point: dict[str, Any]) -> Any:
    try:
        state = log.state(table, **point)
    except BinlogKitError as error:
        return str(error)
    rows, findings = state.rows.to_pylist(), state.findings.to_pylist()
    return rows, findings, state.determined, state.key, state.columns


def points(log: bk.Log, count: int) -> list[dict[str, Any]]:
    """The end, and some other points of each kind."""
    rows = log.transactions(engine="pyarrow").to_pylist()
    found: list[dict[str, Any]] = [{}]
    for row in random.Random(7).sample(rows, count):
        time = row["commit_timestamp"] or row["end_timestamp"] * 1_000_000
        found.append({"at": (row["end_file"], row["end_pos"])})
        found.append({"until_time": time / 1e6})
        if row["gtid"]:
            found.append({"until_gtid": row["gtid"]})
    return found


@pytest.mark.sampled(0)
@pytest.mark.parametrize("story", STORIES)
def test_of_one_reading_as_of_two(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = bk.open(files(story), on_damage="report")
    confirmed = Forward.confirmed
    once = asked = 0

    def noted(self: Forward, *known: Any) -> Any:
        nonlocal once, asked
        found = confirmed(self, *known)
        once, asked = once + (found is not None), asked + 1
        return found

    for pair in log.table_pairs()[:4]:
        table = written_table_name(*pair)
        for point in points(log, 2):
            monkeypatch.setattr(Forward, "confirmed", noted)
            found = answer(log, table, point)
            monkeypatch.setattr(Forward, "confirmed", lambda *_: None)
            assert found == answer(log, table, point), (table, point)
            monkeypatch.setattr(StateReading, "changes", lambda *_: None)  # too many to be kept
            assert found == answer(log, table, point), (table, point)
            monkeypatch.undo()
    assert asked > 8
    assert (once == asked) == (story != RENAMES)


def test_few_changes_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log = bk.open(files("5.7-row-no-gtid/transactions"))
    readings = list[object]()
    read = Streams.read_batches

    def noted(self: Streams, *args: Any, **how: Any) -> Any:
        readings.append(args[0])
        return read(self, *args, **how)

    monkeypatch.setattr(Streams, "read_batches", noted)
    monkeypatch.setattr(Forward, "confirmed", lambda *_: None)
    tables = len(list(log.states()))
    assert (tables > 1, len(readings)) == (True, 1)
    readings.clear()
    monkeypatch.setattr(reading, "_MOST_KEPT", 100)
    assert len(list(log.states())) == tables
    assert len(readings) == 1 + tables
