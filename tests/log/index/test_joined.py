"""Logs read one by one and joined tell what one reading of all tells: order, tables, gaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import BinlogKitError, InputError
from binlogkit.log.index import Joined, Part, Position, parts_of
from binlogkit.log.states.history import History
from binlogkit.log.streams import view_log, viewed
from binlogkit.rows.filters import Filters
from binlogkit.rows.reading import Reading
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import Input, committed

INPUTS = committed()
#: Several files, with XA transactions, DDL, copies, relay logs; damage in one of them.
NAMES = sorted(name for name in INPUTS if not name.startswith(("golden/", "carried/")))


def _joined(log: bk.Log, segment: int = 1) -> Joined:
    return Joined(parts_of(log.carriers, log.options, segment=segment), log.options)


@pytest.fixture
def opened(request: pytest.FixtureRequest, written: Callable[[Input], list[str]]) -> Any:
    """Opens the logs of an input of tests/answers."""
    item = INPUTS[request.param]
    return partial(bk.open, written(item), **item.options)


def _read(log: bk.Log) -> Reading:
    return view_log(log)


@pytest.mark.sampled(16, 24)
@pytest.mark.parametrize("opened", NAMES, indirect=True)
def test_what_is_joined_is_what_one_reading_tells(opened: Any) -> None:
    log = opened(on_damage="report")
    reading = _read(log)
    joined = _joined(log)
    assert joined.gaps == reading.gaps
    assert joined.schemas == reading.schemas
    assert (joined.events, joined.transactions) == (
        reading.ordinal,
        reading.scanner.transactions.number,
    )
    assert joined.seen.to_set() == reading.seen.to_set()


@pytest.mark.sampled(16, 24)
@pytest.mark.parametrize("opened", NAMES, indirect=True)
def test_parts_that_nobody_reads_from_tell_the_same(opened: Any) -> None:
    log = opened(on_damage="report")
    parts = list(parts_of(log.carriers, log.options, segment=1))
    plain, read = (
        Joined(parts, log.options, reads=reads, happening=True) for reads in (False, True)
    )
    assert (plain.gaps, plain.notes, plain.schemas) == (read.gaps, read.notes, read.schemas)
    assert (plain.happened, plain.decisions) == (read.happened, read.decisions)
    firsts = {position.part: position for position in reversed(read.positions)}
    assert plain.positions == [replace(firsts[i], known=None) for i in range(len(parts))]


@pytest.mark.sampled(16, 24)
@pytest.mark.parametrize("opened", INPUTS, indirect=True)
def test_what_happened_to_tables_is_what_one_reading_tells(opened: Any) -> None:
    log = opened(on_damage="report")
    history = History(Filters())
    parts = list(parts_of(log.carriers, log.options, segment=1))
    joined = Joined(parts, log.options, happening=True)
    try:
        viewed(log, history.feed)
    except InputError:
        assert any(part.unreadable for part in parts)
        return
    assert joined.happened is not None
    expected = history.table().to_pylist()
    found = [(one, change) for one in joined.happened for change in one.changes]
    names = ("file", "pos", "inner", "db", "table", "action", "new_db", "new_table", "reason")
    assert joined.folded == history.folded
    if any(position.seen for position in joined.positions):  # those that came before are told, too
        places = {(row["file"], row["pos"]) for row in expected}
        found = [(one, change) for one, change in found if (one.file, one.pos) in places]
    mine: list[tuple[object, ...]] = [
        (one.file, one.pos, one.inner, change.db, change.table, change.action, change.new_db,
         change.new_table, change.reason)
        for one, change in found
    ]  # fmt: skip
    if history.folded:
        mine = [(*m[:3], *(str(name).lower() for name in m[3:5]), *m[5:]) for m in mine]
    assert mine == [tuple(row[name] for name in names) for row in expected]
    for (one, change), row in zip(found, expected, strict=True):
        theirs = history.changes[row["seq"]]
        assert change == theirs or replace(change, definition=None) == theirs
        assert one.statement in ("", row["statement"])
        assert one.statement or row["action"] in ("statement_write", "incident")


@pytest.mark.sampled(8, 24)
@pytest.mark.parametrize("opened", NAMES, indirect=True)
def test_what_ends_a_reading_is_a_gap(opened: Any) -> None:
    try:
        log = opened()
        reading = _read(log)
    except BinlogKitError:
        return  # nothing can be read
    assert bool(_joined(log).gaps) == bool(reading.gaps)


def test_parts_are_made_in_any_order_and_joined_in_one() -> None:
    log = bk.open([case.path for case in golden.cases() if case.scenario == "transactions"])
    order = list(range(len(log.carriers)))
    Random(7).shuffle(order)
    parts: dict[int, Part] = {}
    for i in order:
        [parts[i]] = parts_of(log.carriers[i : i + 1], log.options, segment=1)
    joined = Joined([parts[i] for i in sorted(parts)], log.options)
    assert len(order) > 10
    assert list(map(_facts, joined.positions)) == list(map(_facts, _joined(log).positions))
    assert joined.gaps == _joined(log).gaps


def _facts(position: Position) -> tuple[Any, ...]:
    known = position.known
    tables = known and (known.catalog.tables(), known.tracked)
    return tables, replace(position, known=None)


def test_a_segment_begins_where_a_reading_counts_as_much() -> None:
    log = bk.open(golden.case("8.0-row-full", "transactions").path)
    places = {(r["file"], r["pos"]): n for n, r in enumerate(log.event_records())}
    numbers = {(t["file"], t["pos"]): t["tx"] for t in log.transaction_records()}
    joined = _joined(log)
    found = [(log.files[p.part], p) for p in joined.positions if p.segment.pos]
    assert len(found) > 20
    for file, position in found:
        at = file, position.segment.pos
        assert (position.events, position.transactions) == (places[at], numbers[at])


def test_what_is_known_of_tables_is_what_the_log_touches() -> None:
    """A task is sent what concerns its log, not all that DDL ever told."""
    case = golden.case("8.0-row-full", "transactions")
    tables = "".join(f"CREATE TABLE other{i}.t (a INT, b{i} INT);" for i in range(500))
    log = bk.open(case.path, schema=_catalog(tables))
    known = [p.known for p in _joined(log, segment=1 << 30).positions]
    names = [{t.db for t in k.catalog.tables()} if k else set() for k in known]
    assert len(names) == 2 and names[0] == set()
    assert names[1] and not any(db.startswith("other") for db in names[1])


def _catalog(tables: str) -> Any:
    from binlogkit.rows.ddl.dump import load_schema

    made = "".join(f"CREATE DATABASE other{i};" for i in range(500))
    return load_schema(made + tables)
