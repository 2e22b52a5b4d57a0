"""Moments that went by: the same states as ``log.state`` at their places."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import UndeterminedError
from binlogkit.livestate.history import At
from binlogkit.livestate.live import Live
from binlogkit.livestate.moment import Moment
from binlogkit.log.states.table_state import TableState
from tests.livestate.shop import to_the_end
from tests.livestate.test_live_folder import folder_of
from tests.waiting import LONG

CASES = [
    ("8.0-row-full", "keys"),
    pytest.param("5.7-row-minimal", "ddl", marks=pytest.mark.slow),
    ("8.0-row-compressed", "transactions"),
]


def ends(log: bk.Log) -> list[int]:
    """Where the transactions of a log end."""
    return sorted({int(one["end_pos"]) for one in log.transaction_records()})


def written(path: Path, data: bytes, places: list[int], live: Live) -> None:
    """A log grows, a transaction at a time."""
    for place in places:
        with path.open("r+b") as file:
            file.seek(0, 2)
            file.write(data[file.tell() : place])
        live.wait_for((path.name, place), LONG)


def same(live: Live, table: str, moment: Moment, theirs: TableState) -> int:
    """Compare a table as of a moment with its log's state there; 0 where there is no table."""
    ways: list[At] = [moment, (moment.file, moment.pos)]
    ways += [moment.gtids] if moment.gtids else []
    for at in ways:
        try:
            ours = live.state(table, at=at)
        except UndeterminedError as error:
            assert "was not there" in str(error)
            assert theirs.rows.num_rows == 0
            return 0
        assert list(ours.records()) == list(theirs.records()), (table, moment)
        assert ours.rows_determined
        assert ours.position == (moment.file, moment.pos)
    return 1


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize(("cell", "scenario"), CASES)
def test_every_moment_is_that_of_the_log(cell: str, scenario: str, tmp_path: Path) -> None:
    log = folder_of(cell, scenario, tmp_path)
    path = next(iter(sorted(tmp_path.iterdir())))
    tables, places, data = log.table_names(), ends(bk.open(path)), path.read_bytes()
    for other in tmp_path.iterdir():
        if other != path:
            other.unlink()
    path.write_bytes(data[: places[0]])
    compared = 0
    with bk.live(bk.open(tmp_path), tables, history=1 << 30) as live:
        written(path, data, places, live)
        moments = live.moments
        assert [one.pos for one in moments if one.pos] == places
        log = bk.open(path)
        for moment in moments[1 :: max(1, len(moments) // 6)]:
            for table in tables[:6]:
                theirs = log.state(table, at=(moment.file, moment.pos))
                later = theirs.findings["finding"].to_pylist() == ["made_later"]
                if theirs.rows_determined and not later:  # which live could not know then
                    compared += same(live, table, moment, theirs)
    assert compared > 5


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    log = folder_of("8.0-row-full", "keys", tmp_path)
    path = next(iter(sorted(tmp_path.iterdir())))
    places, data = ends(log), path.read_bytes()
    path.write_bytes(data[: places[0]])
    with bk.live(bk.open(tmp_path), "keyed.pk", history=20_000) as live:
        written(path, data, places, live)
        kept = live.moments
        assert 1 < len(kept) < len(places)
        assert kept[-1] == live.moment
        with pytest.raises(UndeterminedError, match=r"before what is kept"):
            live.state("keyed.pk", at=(path.name, places[0]))
        with pytest.raises(UndeterminedError, match="was not reached"):
            live.state("keyed.pk", at=(path.name, places[-1] + 100))
    with bk.live(log, "keyed.pk", history=1 << 30, wait=False) as live:
        to_the_end(live)
        with pytest.raises(UndeterminedError, match="came together"):
            live.state("keyed.pk", at=(path.name, places[-2] + 1))
    with bk.live(log, "keyed.pk", wait=False) as live, pytest.raises(UndeterminedError):
        live.state("keyed.pk", at=live.moment)
