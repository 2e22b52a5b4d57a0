"""Transactions compared as bytes, many at once: nothing is let pass."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.analyses import conformance
from binlogkit.analyses.conformance import EventBatches, RowWindows, TextBlocks
from binlogkit.analyses.conformance.block_events import BlockEvents
from binlogkit.analyses.conformance.printed import TakenEvents
from binlogkit.frames.fields.ledger import EVENT
from binlogkit.frames.records import records_of

Record = dict[str, Any]
Place = tuple[int, int | None]
COLUMNS = ("end_pos", "size", "timestamp", "type", "code", "server_id", "flags", "checksum", "gtid")


@pytest.fixture
def types(golden_case: Callable[..., Any]) -> Any:
    """Transactions of one row, most of them alike (8.0.31)."""
    return golden_case("8.0-row-full", "types")


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """Where events stand that were judged many at once."""
    found, take = list[Place](), BlockEvents.take

    def taking(self: BlockEvents, lines: Any, after: int) -> TakenEvents | None:
        before = self._ours.next()
        events = take(self, lines, after)
        if events is not None and before is not None:
            part, row = before
            found.extend((r["pos"], r["inner"]) for r in part.records(row, row + events.count))
        return events

    monkeypatch.setattr(BlockEvents, "take", taking)
    return found


def judge(case: Any, events: Any, rows: Any, lines: list[bytes]) -> Any:
    """The differences, and the counts."""
    result = conformance.against_mysqlbinlog(
        events, rows, case.schemas(), TextBlocks(lines), stored=case.stored(), keep=1000
    )
    return result.differences.to_pylist(), result.summary


def both_ways(case: Any, batches: list[pa.RecordBatch], lines: list[bytes]) -> Any:
    """What both ways find, which must be the same."""
    rows = RowWindows(bk.open(str(case.log)).row_windows())
    found = judge(case, EventBatches(batches), rows, lines)
    assert judge(case, list(records_of(batches, EVENT)), case.rows(), lines) == found
    return found


def failing(found: Any) -> list[Record]:
    """The differences that count."""
    return [d for d in found[0] if d["kind"] in ("ours", "unexplained")]


def batches_of(case: Any) -> list[pa.RecordBatch]:
    """Our events."""
    return list(bk.open(str(case.log)).event_batches(compact=True))


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return [*value, 1]
    if isinstance(value, dict):
        return {**value, **{name: other(one) for name, one in [*value.items()][:1]}}
    return value[:-1] + ("0" if value[-1:] != "0" else "1") if value else "x"


def test_most_transactions_are_taken(types: Any, taken: list[Place]) -> None:
    batches, lines = batches_of(types), list(types.lines())
    found = both_ways(types, batches, lines)
    assert not failing(found)
    assert len(taken) > found[1].events / 4


def test_transactions_of_sessions_in_turn_are_taken(sessions: Any, taken: list[Place]) -> None:
    """Of their settings mysqlbinlog prints those that changed."""
    batches, lines = batches_of(sessions), list(sessions.lines())
    found = both_ways(sessions, batches, lines)
    assert not failing(found)
    assert any(b"time_zone" in line for line in lines)
    assert len(taken) > found[1].events / 2


def test_most_rows_events_of_large_statements_are_taken(large: Any, taken: list[Place]) -> None:
    batches, lines = batches_of(large), list(large.lines())
    found = both_ways(large, batches, lines)
    assert not failing(found)
    assert found[1].cells_by_bytes > 300
    assert len(taken) > 0.8 * found[1].events


def changes(record: Record) -> Iterator[Record]:
    """The record with one value changed, for each of its columns and fields."""
    for name in COLUMNS:
        changed = {"flags": json.dumps([1]), "gtid": "x"}.get(name, other(record[name]))
        yield {**record, name: changed}
    said = json.loads(record["fields"])
    for name, value in said.items():
        text = json.dumps({**said, name: other(value)}, separators=(",", ":"))
        yield {**record, "fields": text}


@pytest.mark.parametrize("name", ["8.0-row-full", "8.0-row-compressed", "large", "sessions"])
def test_each_value_of_an_event_that_is_wrong_is_found(
    golden_case: Callable[..., Any], request: pytest.FixtureRequest, name: str, taken: list[Place]
) -> None:
    """Each in an event of its own among those that are judged many at once."""
    is_golden = name.startswith("8.0")
    case = golden_case(name, "types") if is_golden else request.getfixturevalue(name)
    batches, lines = batches_of(case), list(case.lines())
    both_ways(case, batches, lines)
    alike, records = frozenset(taken), pa.Table.from_batches(batches).to_pylist()
    wrong = set[Place]()
    for code in {record["code"] for record in records}:
        here = [
            i
            for i, r in enumerate(records)
            if r["code"] == code and (r["pos"], r["inner"]) in alike
        ]
        for number, i in enumerate(here):
            changed = [*changes(records[i])]
            if number < len(changed):
                records[i] = changed[number]
                wrong.add((records[i]["pos"], records[i]["inner"]))
    made = pa.RecordBatch.from_pylist(records, schema=batches[0].schema)
    found = failing(both_ways(case, [made], lines))
    assert len(wrong) > 50
    assert wrong <= {(d["pos"], d["inner"]) for d in found}


def test_each_line_that_says_otherwise_is_found(types: Any, taken: list[Place]) -> None:
    """A digit of every kind of line, in a transaction of its own that is judged among many."""
    batches, lines = batches_of(types), list(types.lines())
    right = both_ways(types, batches, lines)
    alike, count = frozenset(taken), 0
    starts = [i for i, line in enumerate(lines) if line.startswith(b"# at ")]
    begins = [
        i for i in starts if (int(lines[i][5:]), None) in alike and b"\tGTID\t" in lines[i + 1]
    ]
    for begin, following in zip(begins[::2], begins[1::2], strict=False):
        kinds = {re.sub(rb"\d+", b"0", lines[i])[:40]: i for i in range(begin + 1, following)}
        at = [*kinds.values()][count % len(kinds)]
        said = re.sub(rb"\d(?=\D*$)", lambda found: b"7" if found[0] != b"7" else b"8", lines[at])
        count += said != lines[at]
        lines[at] = said
    assert count > 8
    assert len(both_ways(types, batches, lines)[0]) > len(right[0])


@pytest.mark.parametrize("line", ["# at", "#231114"])
def test_each_line_of_rows_events_that_says_otherwise_is_found(
    large: Any, taken: list[Place], line: str
) -> None:
    batches, lines = batches_of(large), list(large.lines())
    right = both_ways(large, batches, lines)
    alike = frozenset(taken)
    heads = [
        i
        for i, said in enumerate(lines)
        if re.match(rb"# at \d+\n", said)
        and (int(said[5:]), None) in alike
        and b"_rows: " in lines[i + 1]
    ]
    wrong = list[int]()
    for number, i in enumerate(heads[::20]):
        at = i + (line != "# at")
        digits = [found.start() for found in re.finditer(rb"\d", lines[at])]
        place = digits[number % len(digits)]
        other_digit = b"7" if lines[at][place : place + 1] != b"7" else b"8"
        lines[at] = lines[at][:place] + other_digit + lines[at][place + 1 :]
        wrong.append(i)
    assert len(wrong) > 5
    assert len(both_ways(large, batches, lines)[0]) >= len(right[0]) + len(wrong)
