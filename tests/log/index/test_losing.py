"""Where a log may lack statements on tables, and which tables are the same after that."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.log import open_log
from binlogkit.log.index import Joined, Part, parts_of
from binlogkit.log.index.losing import Losing
from binlogkit.rows.options import ReadOptions
from binlogkit_fixtures import golden
from tests.fuzz.binlogkit_fuzz.framing import places

LOG, NEXT = golden.case("8.0-row-full", "transactions").binlogs
DATA = LOG.read_bytes()
EVENTS = [(at, DATA[at + 4]) for at in places(DATA)[:-1]]
GTID, QUERY, XID, MAP, UPDATE = 33, 2, 16, 19, 31


def of_kind(*codes: int) -> int:
    """Where the first events of these types, one after the other, stand behind the log's middle."""
    for i, (at, _) in enumerate(EVENTS):
        if at > len(DATA) // 2 and tuple(code for _, code in EVENTS[i : i + len(codes)]) == codes:
            return at
    raise AssertionError(codes)


def size_at(at: int) -> int:
    return int.from_bytes(DATA[at + 9 : at + 13], "little")


def part_of(tmp_path: Path, begin: int, end: int) -> Part:
    """The log with zeros in it."""
    log = tmp_path / LOG.name
    log.write_bytes(DATA[:begin] + bytes(end - begin) + DATA[end:])
    (part,) = parts_of(open_log(log, on_damage="report").carriers)
    assert part.damages
    return part


def lost(part: Part) -> set[str]:
    """The tables that are not known after it, of those that are known before its damage."""
    known = Joined([part], ReadOptions("report"), forgets=True)
    before = Joined([part], ReadOptions("report"))
    names = {".".join(name) for name in before.schemas}
    catalog = known.series.definitions({known.positions[0].source or ""})
    return names - {f"{one.db}.{one.table}" for one in catalog}


@pytest.mark.parametrize(
    "codes", [(UPDATE,), (XID,), (MAP,), (QUERY, MAP), (GTID, QUERY, MAP), (UPDATE, XID)]
)
def test_no_statement_was_where_the_transactions_around_leave_no_room(
    codes: tuple[int, ...], tmp_path: Path
) -> None:
    at = of_kind(*codes)
    part = part_of(tmp_path, at + 20, at + size_at(at) - 4)
    assert Losing(part, forgets=True).before(None) is None
    assert not lost(part)


def test_a_whole_transaction_may_have_been_one(tmp_path: Path) -> None:
    """A table whose maps have one id before it and after it was not altered in it."""
    at = of_kind(GTID, QUERY, MAP)
    end = next(p for p, code in EVENTS if p > at and code == GTID)
    part = part_of(tmp_path, at, end + 40)
    losing = Losing(part, forgets=True)
    (place,) = (place for place in [losing.before(None)] if place is not None)
    assert place[1] <= at
    assert ("bank", "account") in losing.same(place)
    assert losing.before(None) is None  # each is met once
    missing = lost(part)
    assert missing and "bank.account" not in missing


def test_a_log_after_damage_has_the_tables_that_are_known_there(tmp_path: Path) -> None:
    """GTIDs that damage took are not missing before the next log."""
    at = of_kind(GTID, QUERY, MAP)
    end = next(p for p, code in EVENTS if p > at and code == GTID)
    part = part_of(tmp_path, at, end + 40)
    assert part.alone.losses[0].gtids
    (following,) = parts_of(open_log(NEXT).carriers)
    joined = Joined([part, following], ReadOptions("report"), forgets=True)
    assert not joined.broken and joined.damaged == {0}
    assert ("bank", "account") not in joined.unnamed.get(1, {})


def test_nothing_is_lost_where_nobody_asks(tmp_path: Path) -> None:
    at = of_kind(GTID, QUERY, MAP)
    part = part_of(tmp_path, at, len(DATA) - 100)
    assert Losing(part, forgets=True).before(None) is not None
    assert Losing(part, forgets=False).before(None) is None
