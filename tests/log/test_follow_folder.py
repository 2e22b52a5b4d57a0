"""``log.follow()``: the rows and transactions of a folder whose logs are being written."""

from __future__ import annotations

import random
import shutil
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import DamageError, InputError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.sources.server.resume import Stop
from binlogkit_fixtures import golden

SETS = (
    ("5.7-row-no-checksum", "keys"),
    ("8.0-row-partial-json", "json"),
    ("8.0-row-compressed", "transactions"),
    ("9-row-full", "transactions"),
)
Record = dict[str, Any]


class Writer(threading.Thread):
    """Copies logs piece by piece, as a server writes them: each log after the one before."""

    def __init__(self, logs: tuple[Path, ...], folder: Path) -> None:
        super().__init__()
        self._logs, self._folder, self._random = logs, folder, random.Random(7)

    def run(self) -> None:
        for log in self._logs:
            data, at = log.read_bytes(), 0
            with (self._folder / log.name).open("wb", buffering=0) as file:
                while at < len(data):
                    size = self._random.choice([1, 7, 100, 3000, 1 << 16])
                    at += file.write(data[at : at + size])


def without_folder(records: list[Record]) -> list[Record]:
    return [record | {"file": Path(record["file"]).name} for record in records]


@pytest.mark.parametrize(("name", "scenario"), SETS)
def test_rows_come_as_they_are_written(name: str, scenario: str, tmp_path: Path) -> None:
    """Whole transactions in order over rotation, as a reader of the finished folder finds them."""
    logs = golden.case(name, scenario).binlogs
    expected = list(bk.open([str(p) for p in logs]).row_records())
    (tmp_path / logs[0].name).touch()
    log, stop = bk.open(str(tmp_path / logs[0].name)), Stop()
    writer = Writer(logs, tmp_path)
    writer.start()
    found = []
    for row in log.follow(stop=stop).rows():
        found.append(row)
        if len(found) == len(expected):
            stop.now()
    writer.join()
    assert without_folder(found) == without_folder(expected)


@pytest.mark.parametrize("name", ["8.0-row-full", "8.0-row-no-gtid"])
def test_resumed_at_every_step(name: str, tmp_path: Path) -> None:
    """From a step's place, or its GTID set, on: what comes is the rest, once."""
    for path in golden.case(name, "transactions").binlogs:
        shutil.copy(path, tmp_path)
    log = bk.open(tmp_path)
    expected = list(log.row_records())
    whole = log.follow(wait=False)
    ends = [(whole.file, whole.pos, whole.gtids) for _ in whole.steps()]
    assert len(ends) > len(log.files)
    for file, pos, gtids in ends[:: max(len(ends) // 12, 1)]:
        after = [r for r in expected if (r["file"], r["pos"]) >= (file, pos)]
        places: list[Any] = [{"at": (file, pos)}, {"at": f"{file}:{pos}"}]
        if name == "8.0-row-full":
            places.append({"gtid_set": gtids})
        for place in places:
            assert list(bk.open(tmp_path).follow(wait=False, **place).rows()) == after
        again = bk.open(tmp_path).follow(wait=False, at=(file, pos))
        assert all((again.file, again.pos) >= (file, pos) for _ in again.steps())


def test_steps_are_whole_transactions() -> None:
    """Each row belongs to a transaction that ended in its own step."""
    logs = [str(p) for p in golden.case("8.0-row-full", "transactions").binlogs]
    following = bk.open(logs).follow(wait=False)
    met: list[str | None] = []
    for step in following.steps():
        rows = {n for one in step.batches for n in one.batch["tx"].to_pylist() if n is not None}
        assert rows <= set(step.numbers)
        assert step.numbers == sorted(step.numbers)
        met += step.gtids
    expected = [t["gtid"] for t in bk.open(logs).transaction_records()]
    assert met == expected
    assert following.gtids == GtidSet.of(filter(None, expected))
    assert not following.gaps


def test_a_step_is_kept_by_whom_it_was_given() -> None:
    """Alone: it may have 64 MB, and the next one be long in coming."""
    logs = [str(p) for p in golden.case("8.0-row-full", "transactions").binlogs]
    steps = bk.open(logs).follow(wait=False).steps()
    step = next(one for one in steps if one.batches)
    kept = weakref.ref(step.batches[0].batch)
    assert kept() is not None
    del step
    assert kept() is None


def test_filters_and_transactions() -> None:
    logs = [str(p) for p in golden.case("8.0-row-full", "keys").binlogs]
    log = bk.open(logs)
    assert list(log.follow(wait=False).rows(table="keyed.pk")) == list(
        log.row_records(table="keyed.pk")
    )
    assert list(log.follow(wait=False).transactions()) == list(log.transaction_records())
    changes = sum(one.batch.num_rows for one in log.follow(wait=False).batches(op="delete"))
    assert changes == sum(1 for _ in log.row_records(op="delete"))


def test_a_log_that_ends_inside_an_event_is_damage_beside_the_next_one(tmp_path: Path) -> None:
    logs = golden.case("8.0-row-full", "transactions").binlogs
    first = logs[0].read_bytes()
    (tmp_path / logs[0].name).write_bytes(first[: len(first) // 2])
    shutil.copy(logs[1], tmp_path)
    expected = [r for r in bk.open(str(logs[0])).row_records() if r["end_pos"] < len(first) // 2]
    found = []
    with pytest.raises(DamageError, match="the file ends"):
        for row in bk.open(tmp_path).follow(wait=False).rows():
            found.append(row)
    assert without_folder(found) == without_folder(expected)[: len(found)]
    assert {r["pos"] for r in expected} - {r["pos"] for r in found} <= {expected[-1]["pos"]}


def test_what_cannot_be_followed(tmp_path: Path) -> None:
    logs = [str(p) for p in golden.case("8.0-row-full", "keys").binlogs]
    log = bk.open(logs)
    with pytest.raises(UsageError, match="not both"):
        log.follow(at=(logs[0], 4), gtid_set="")
    with pytest.raises(UsageError, match="not a position"):
        log.follow(at="x")
    with pytest.raises(UsageError, match="not one of the logs"):
        log.follow(at="elsewhere:4")
    with pytest.raises(UsageError, match="cannot be followed"):
        bk.open(Path(logs[0]).read_bytes()).follow()
    following = log.follow(wait=False)
    list(following.rows())
    with pytest.raises(UsageError, match="once"):
        list(following.rows())
    (tmp_path / "binlog.000001").write_bytes(b"something else, which is no log")
    with pytest.raises((InputError, DamageError)):
        list(bk.open(str(tmp_path / "binlog.000001")).follow(wait=False).rows())


def test_a_transaction_that_its_log_cuts_off_is_none_yet(tmp_path: Path) -> None:
    """Cut at every event of three transactions: only whole ones are counted, and their ends are
    where to go on, so that the others come again once."""
    (path,) = golden.case("8.0-row-full", "keys").binlogs
    data, log = path.read_bytes(), bk.open(str(path))
    expected = without_folder(list(log.row_records()))
    events = log.events().to_dict("records")
    begins = [e["pos"] for e in events if e["type"] == "GTID_LOG_EVENT"]
    own = [e["pos"] for e in events if begins[-4] <= e["pos"] <= begins[-1]]
    assert len(own) > 9
    for pos in own:
        folder = tmp_path / str(pos)
        folder.mkdir()
        (folder / path.name).write_bytes(data[:pos])
        following = bk.open(folder).follow(wait=False)
        found = list(following.rows())
        last = max(b for b in begins if b <= pos)
        assert following.pos == last, pos
        assert following.gtids.count() == begins.index(last)
        (folder / path.name).write_bytes(data)
        place = (following.file, following.pos)
        again = bk.open(folder).follow(wait=False, at=place).rows()
        assert without_folder([*found, *again]) == expected
