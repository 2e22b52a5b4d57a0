"""A log in pieces: each with the schemas of its tables, and steps from where the scan gives up."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

import pytest
from binlogkit.rows.boundaries import Boundary
from binlogkit.rows.pieces import Piece, transactions_ahead
from binlogkit.rows.walk import MOST_EVENTS, LogWalk, Step
from binlogkit_fuzz import framing, seeds

import binlogkit as bk
from binlogkit.errors import LimitError, TruncatedEventError
from binlogkit.rows.transactions import Transaction
from binlogkit.sources import chunks

LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
DDL = seeds.logs()["5.7-row-full/ddl/binlog.000001"]


def walk_of(*logs: bytes, on_damage: str = "report") -> LogWalk:
    return bk.open(list(logs), on_damage=on_damage).walk()


def rows_tables(data: bytes) -> list[tuple[int, tuple[str, str, int] | None]]:
    """(ordinal, table and schema version) of every rows event, by the walk over events."""
    return [
        (step.seq >> 32, step.schema and (*step.schema.name, step.schema.version))
        for step in walk_of(data)
        if type(step.event.body).__name__ == "RowsEvent"
    ]


@pytest.mark.parametrize("size", [300, 1 << 20])
def test_each_rows_event_has_the_schema_of_its_time(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(chunks, "SIZE", size)
    for data in (LOG, DDL):
        found: list[tuple[int, tuple[str, str, int] | None]] = []
        for piece in walk_of(data).pieces():
            assert isinstance(piece, Piece)
            if piece.stretch is None:
                continue
            for i, (code, slot) in enumerate(piece.stretch.entries[["type", "slot"]].tolist()):
                if code in seeds.ROWS:
                    schema = piece.schemas[slot] if slot >= 0 else None
                    name = schema and (*schema.name, schema.version)
                    found.append((piece.stretch.ordinal + i, name))
        assert found == rows_tables(data)
        assert len(found) > 10


def test_steps_follow_where_the_scan_gives_up() -> None:
    at = len(LOG) // 2
    broken = LOG[:at] + bytes([LOG[at] ^ 1]) + LOG[at + 1 :]
    items = list(walk_of(broken, LOG).pieces())
    kinds = "".join("P" if isinstance(i, Piece) else "s" for i in items)
    assert kinds.strip("P").count("P") == 0 and "s" in kinds
    first = next(i for i in items if isinstance(i, Piece) and i.stretch is None)
    assert not first.whole
    ordinals = [i.seq >> 32 for i in items if isinstance(i, Step)]
    assert ordinals == list(range(ordinals[0], ordinals[0] + len(ordinals)))
    last = items[-2]
    assert isinstance(last, Piece) and last.stretch is not None
    events = last.stretch.ordinal + len(last.stretch.entries)
    assert events == sum(1 for _ in walk_of(broken, LOG))


def test_table_ids_outlive_the_place_where_the_scan_gives_up() -> None:
    """Rows behind damage belong to the map before it, and a format description ends that."""
    pieces = framing.split(LOG)
    at = next(i for i, part in enumerate(pieces.parts) if part.code in seeds.ROWS)
    again = pieces.parts[at]
    unknown = replace(again, code=2, body=b"\0")  # no QUERY_EVENT can be so short
    for between, tables in (([], 2), ([pieces.parts[0]], 1)):
        parts = [*pieces.parts[: at + 1], unknown, *between, again]
        data = framing.join(replace(pieces, parts=parts))
        log = bk.open(data, on_damage="report")
        found = [step for step in log.walk() if step.schema is not None]
        rows = list(log.row_records())
        assert len(found) == tables
        assert len({record["pos"] for record in rows}) == tables


@pytest.mark.parametrize("on_damage", ["report", "stop"])
@pytest.mark.parametrize("left", [200, 4 + len(framing.split(LOG).parts[0].body) + 19 + 4])
def test_a_file_that_is_made_shorter_while_it_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: int, on_damage: str
) -> None:
    """To before the place from which it is read again: nothing of what is gone is passed over."""
    monkeypatch.setattr(chunks, "SIZE", 4096)
    path = tmp_path / "binlog.000001"
    path.write_bytes(LOG)
    log = bk.open(path, on_damage=on_damage)
    walk, met = log.walk(), 0
    with pytest.raises(TruncatedEventError) if on_damage == "stop" else nullcontext():
        for item in walk.pieces():
            if isinstance(item, Piece) and item.stretch is not None:
                met += 1
                path.write_bytes(LOG[:left])
    assert met
    if on_damage == "report":
        (damage,) = walk.damages
        assert isinstance(damage, TruncatedEventError)
        assert damage.offset > 2000 and "made shorter" in damage.reason


@pytest.mark.parametrize("broken", [False, True])
def test_transactions_are_read_ahead_to_their_end(broken: bool) -> None:
    """One by one from where the scan gives up, with the numbers that the walk gives them."""
    data = LOG
    if broken:
        at = len(LOG) // 2
        data = LOG[:at] + bytes([LOG[at] ^ 1]) + LOG[at + 1 :]
    walk = walk_of(data)
    expected = {t.number: t.xid for t in walk.transactions_of(walk.carriers[0], 7)}
    found: dict[int, int | None] = {}
    for item in transactions_ahead(walk, walk.carriers[0], Boundary(0, 7)):
        if isinstance(item, Transaction):
            found[item.number] = item.xid
        else:
            found |= {int(t["number"]): int(t["xid"]) if t["has"] & 16 else None for t in item}
    assert found == expected
    assert min(found) == 7 and len(found) > 5


@pytest.mark.parametrize("by_events", [False, True])
def test_more_events_than_a_place_in_the_walk_can_tell(by_events: bool) -> None:
    count = sum(1 for _ in walk_of(LOG))

    def read(ordinal: int) -> int:
        walk = walk_of(LOG)
        walk.ordinal = ordinal
        read = iter(walk) if by_events else walk.pieces()
        list(read)
        return walk.ordinal

    assert read(MOST_EVENTS - count) == MOST_EVENTS
    with pytest.raises(LimitError, match="more than 2,147,483,648 events in one reading"):
        read(MOST_EVENTS - count + 1)
