"""Rows and transactions compared as bytes: the same verdicts as one by one, nothing is let pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.analyses import conformance
from binlogkit.analyses.conformance import EventBatches, RowWindows, TextBlocks
from binlogkit.analyses.conformance.block_rows import BlockRows
from binlogkit.analyses.conformance.cell import TableVersions
from binlogkit.analyses.conformance.mysqlbinlog_text import read_text
from binlogkit.analyses.conformance.our_batches import OurBatches
from binlogkit.analyses.conformance.printed import LineSource, PrintedRow
from binlogkit.analyses.conformance.printed_transaction import PrintedTransaction
from binlogkit.analyses.conformance.result import Differences
from binlogkit.analyses.conformance.row_groups import RowEventFacts, RowGroups
from binlogkit.analyses.conformance.stored import StoredLog
from binlogkit.analyses.conformance.stored_statement import StoredStatement
from binlogkit.frames.fields.rows import ROW
from binlogkit.frames.generic import generic_rows
from binlogkit.frames.records import records_of
from binlogkit.frames.tables import generic_schema
from tests.analyses.conformance.test_golden_conformance import NAMES

Window = list[pa.RecordBatch]

CHOSEN = {
    ("5.7-row-full", "types"),
    ("8.0-row-full", "types"),
    ("8.0-row-minimal-partial-json", "json"),
    ("8.0-row-full", "keys"),
}


def windows(case: Any) -> Iterator[Window]:
    """Our rows as batches."""
    return bk.open(str(case.log)).row_windows()


def event_batches(case: Any) -> EventBatches:
    """Our events as batches."""
    return EventBatches(bk.open(str(case.log)).event_batches(compact=True))


def judge(case: Any, rows: Any, text: Any = None, events: Any = None, **options: Any) -> Any:
    """What is found, and the counts."""
    result = conformance.against_mysqlbinlog(
        events or case.events(), rows, case.schemas(), text or case.lines(), file=case.log.name,
        **{"stored": case.stored(), **options},
    )  # fmt: skip
    return result.differences.to_pylist(), result.summary


def _parameter(name: tuple[str, str, str]) -> Any:
    marks = [pytest.mark.quick] if name[:2] in CHOSEN else []
    return pytest.param(*name, marks=marks, id="/".join(name))


@pytest.mark.sampled(0, len(NAMES) // 10)
@pytest.mark.parametrize(("cell", "scenario", "log"), [_parameter(name) for name in NAMES])
@pytest.mark.parametrize("keep", [0, 1000])
def test_golden_logs_are_judged_alike(
    golden_case: Callable[..., Any], cell: str, scenario: str, log: str, keep: int
) -> None:
    """Where the frame keeps nothing, every block may be judged as bytes."""
    case = golden_case(cell, scenario, log)
    one_by_one = judge(case, case.rows(), keep=keep)
    for events in (None, event_batches(case)):
        text, rows = TextBlocks(case.lines()), RowWindows(windows(case))
        assert judge(case, rows, text, events, keep=keep) == one_by_one


@pytest.mark.parametrize("name", ["hostile", "absent", "vector"])
@pytest.mark.parametrize("keep", [0, 1000])
@pytest.mark.parametrize("by_bytes", [False, True])
def test_rare_logs_are_judged_alike(
    name: str, keep: int, by_bytes: bool, request: pytest.FixtureRequest
) -> None:
    case = request.getfixturevalue(name)
    stored = list(case.stored()) if by_bytes else []
    one_by_one = judge(case, case.rows(), keep=keep, stored=stored)
    assert judge(case, RowWindows(windows(case)), keep=keep, stored=stored) == one_by_one


@pytest.fixture
def types(golden_case: Callable[..., Any]) -> Any:
    """Every type, ROW format, FULL images (8.0.31)."""
    return golden_case("8.0-row-full", "types")


@pytest.fixture
def several(golden_case: Callable[..., Any]) -> Any:
    """Transactions, statements over several events, which stand before their rows."""
    return golden_case("8.0-row-rows-query", "transactions", "binlog.000002")


def records(given: list[Window]) -> list[dict[str, Any]]:
    """The records of batches."""
    return [
        record
        for window in given
        for record in records_of(generic_rows(window, generic_schema()), ROW)
    ]


def both_ways(case: Any, given: list[Window], text: Any = None) -> Any:
    """What both ways find, which must be the same, where blocks are judged and where rows are."""
    found = None
    for keep in (0, 1000):
        lines = None if text is None else list(text)
        found = judge(case, records(given), lines, keep=keep)
        for events in (None, event_batches(case)):
            assert judge(case, RowWindows(given), lines, events, keep=keep) == found
    return found


def failing(found: Any) -> list[dict[str, Any]]:
    """The differences that count."""
    return [d for d in found[0] if d["kind"] in ("ours", "unexplained")]


def with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """The batch with another column."""
    return batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), column)


def seeded(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, set[tuple[int, int, str]]]:
    """The batch with a cell of another row in each column after the change, each in its own row
    as far as there are; where they are."""
    struct, places = batch.column("after"), set[tuple[int, int, str]]()
    plain = [i for i in range(len(batch)) if not batch.column("after_state")[i].is_valid]
    cells = [struct.field(i) for i in range(struct.type.num_fields)]
    for column, field in enumerate(struct.type):
        values = cells[column].to_pylist()
        rows = [i for i in plain if struct[i].is_valid]
        row = rows[column % len(rows)] if rows else 0
        others = [i for i in rows if values[i] != values[row]]
        if others:
            chosen = [*range(len(batch))]
            chosen[row] = others[0]
            cells[column] = cells[column].take(pa.array(chosen))
            number = batch.column("row")[row].as_py()
            places.add((batch.column("pos")[row].as_py(), number, field.name))
    made = pa.StructArray.from_arrays(cells, fields=list(struct.type), mask=struct.is_null())
    return with_column(batch, "after", made), places


def test_a_value_of_another_row_is_found(types: Any) -> None:
    """In every column of every table."""
    given = list(windows(types))
    pairs = [[seeded(batch) for batch in window] for window in given]
    places = {place for window in pairs for _, some in window for place in some}
    assert len(places) > 100
    found = failing(both_ways(types, [[batch for batch, _ in window] for window in pairs]))
    assert places <= {(d["pos"], d["row"], d["column"]) for d in found}


@pytest.mark.parametrize(
    "column", ["pos", "end_pos", "row", "timestamp", "commit_timestamp", "server_id", "thread_id"]
)
def test_a_number_that_is_wrong_is_found(several: Any, column: str) -> None:
    given = list(windows(several))
    batch = max(given[0], key=len)
    values = batch.column(column).to_pylist()
    for row in (0, len(values) - 1):
        wrong = [v + 1 if i == row else v for i, v in enumerate(values)]
        other = with_column(batch, column, pa.array(wrong, batch.column(column).type))
        changed = [[other if b is batch else b for b in given[0]], *given[1:]]
        found = both_ways(several, changed)
        # What is an event's is looked at in the first of its rows.
        first_of_event = batch.column("row")[row].as_py() == 0
        assert failing(found) or not (column in ("pos", "row") or first_of_event)


@pytest.mark.parametrize(
    ("column", "wrong"),
    [("op", "delete"), ("db", "other"), ("table", "other"), ("gtid", "other"), ("query", "other")],
)
def test_a_word_that_is_wrong_is_found(several: Any, column: str, wrong: str) -> None:
    given = list(windows(several))
    batch = given[0][0]
    words = batch.column(column).to_pylist()
    for rows in ({0}, set(range(len(words)))):
        said = [wrong if i in rows else word for i, word in enumerate(words)]
        array = pa.array(said, pa.string()).dictionary_encode()
        changed = [[with_column(batch, column, array), *given[0][1:]], *given[1:]]
        assert failing(both_ways(several, changed))


def test_rows_that_are_lost_or_invented_are_found(several: Any) -> None:
    given = list(windows(several))
    batch = max(given[0], key=len)
    count = len(batch)
    for rows in (
        [*range(1, count)],
        [*range(count - 1)],
        [*range(count // 2), *range(count // 2 + 1, count)],
        [0, *range(count)],
        [*range(count), count - 1],
    ):
        other = batch.take(pa.array(rows))
        changed = [[other if b is batch else b for b in given[0]], *given[1:]]
        assert failing(both_ways(several, changed))


def test_a_text_that_says_otherwise_is_found(several: Any) -> None:
    """A digit of a value, a row's end, a line more: in lines all over the text."""
    given, lines = list(windows(several)), list(several.lines())
    cells = [i for i, line in enumerate(lines) if line.startswith(b"###   @")]
    for at in cells[5 :: len(cells) // 2]:
        value, blank, comment = lines[at].rpartition(b" /* ")
        name, _, token = value.partition(b"=")
        for said in (
            [name + b"=" + (b"7" if token != b"7" else b"8") + blank + comment],
            [],
            [lines[at], lines[at]],
            [lines[at], b"###   @99=1 /* INT meta=0 nullable=1 is_null=0 */\n"],
        ):
            both_ways(several, given, [*lines[:at], *said, *lines[at + 1 :]])


def test_few_rows_are_read_where_all_agree(golden_case: Callable[..., Any]) -> None:
    case = golden_case("8.0-row-full", "keys")
    ours, findings = OurBatches(windows(case)), Differences("", keep=0)
    stored = StoredStatement(StoredLog(case.stored()))
    groups = RowGroups(ours, TableVersions(case.schemas()), findings, stored)
    read, transaction = 0, PrintedTransaction(lambda *_: None)
    for item in read_text(case.lines(), None, BlockRows(ours, groups, findings).take):
        if isinstance(item, PrintedRow):
            groups.row(item)
            read += 1
            continue
        groups.next_event()
        if "_rows" in item.kind:
            ends = b"STMT_END_F" in item.head
            groups.event(RowEventFacts(item.key, ends, {}, None, transaction))
    groups.finish(complete=True)
    assert groups.rows == len(case.rows()) > 100
    assert read < groups.rows / 2
    assert not {"ours", "unexplained"} & set(findings.kinds)


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
def test_a_text_comes_in_blocks_of_any_size(several: Any, size: int) -> None:
    whole = b"".join(several.lines())
    blocks = [whole[i : i + size] for i in range(0, len(whole), size)]
    lines = LineSource(TextBlocks(blocks))
    taken = []
    while lines.peek() is not None:
        taken.append(lines.take() + b"\n")
    assert b"".join(taken) == whole
    assert lines.number == len(taken)
    found = judge(several, RowWindows(windows(several)), TextBlocks(blocks))
    assert found == judge(several, several.rows())


@pytest.mark.parametrize(
    ("text", "goes_on", "is_taken"),
    [
        (b"### INSERT INTO `a`\n", b"# at 4\n", True),
        (b"### INSERT INTO `a`\n", b"", True),
        (b"### INSERT INTO `a`\n", b"### INSERT INTO `b`\n", True),
        (b"### INSERT INTO `a`\n", b"### SET\n", False),
        (b"### INSERT INTO `a`\n", b"###   @2=1\n", False),
        (b"### INSERT INTO `a`\n", b"*** Error\n", False),
        (b"### INSERT INTO `b`\n", b"# at 4\n", False),
    ],
)
@pytest.mark.parametrize("peeked", [0, 1, 2])
def test_lines_are_taken_where_a_row_ends(
    text: bytes, goes_on: bytes, is_taken: bool, peeked: int
) -> None:
    lines = LineSource(TextBlocks([b"### INSERT INTO `a`\n" + goes_on]))
    lines.peek(peeked)
    assert lines.take_rows(text) is is_taken
    assert lines.number == is_taken
    assert (lines.peek() or b"") == (goes_on if is_taken else b"### INSERT INTO `a`\n")[:-1]
