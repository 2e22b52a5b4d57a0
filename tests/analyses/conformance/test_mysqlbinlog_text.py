"""The reader of mysqlbinlog's text, on real texts (mysqlbinlog 9.7.4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from binlogkit.analyses.conformance.mysqlbinlog_text import read_text
from binlogkit.analyses.conformance.our_records import OurEvents
from binlogkit.analyses.conformance.printed import PrintedEvent, PrintedRow


def read(lines: Any, hints: Any = None) -> tuple[list[PrintedEvent], list[PrintedRow]]:
    events, rows = [], []
    for item in read_text(lines, hints):
        if isinstance(item, PrintedEvent):
            events.append(item)
        else:
            rows.append(item)
    return events, rows


def query(pos: int, end: int, *statement: bytes) -> list[bytes]:
    """A Query event as mysqlbinlog prints it."""
    return [
        b"# at %d" % pos,
        b"#231114 22:13:20 server id 7  end_log_pos %d \tQuery\tthread_id=7\texec_time=0"
        b"\terror_code=0" % end,
        b"SET TIMESTAMP=1700000000/*!*/;",
        *statement,
        b"/*!*/;",
    ]


class Hints(OurEvents):
    """One statement is known."""

    def __init__(self, key: tuple[int, int], statement: bytes) -> None:
        super().__init__(())
        self.known = (key, statement)

    def statement(self, key: tuple[int, int]) -> bytes | None:
        return self.known[1] if key == self.known[0] else None


def test_every_event_of_a_real_text_is_read(golden_case: Callable[..., Any]) -> None:
    case = golden_case("8.0-row-full", "types")
    text = b"".join(case.lines())
    events, rows = read(case.lines())
    positions = [int(at) for at in re.findall(rb"^# at (\d+)$", text, re.MULTILINE)]
    assert [event.pos for event in events] == positions
    assert len(rows) == len(re.findall(rb"^### (?:INSERT INTO|UPDATE|DELETE FROM) `", text, re.M))
    cells = sum(len(image) for row in rows for image in (row.before, row.after) if image)
    assert cells == len(re.findall(rb"^###   @\d+=(?!!!)", text, re.MULTILINE))
    assert not any(event.doubt for event in events)
    start = events[0]
    assert (start.kind, start.server_id, start.end_log_pos) == ("Start", 80, 126)
    assert start.time == re.search(rb"^#(\d{6} ..:..:..) server", text, re.M)[1].decode()  # type: ignore[index]
    assert f"CRC32 0x{start.checksum:08x}".encode() in text


def test_events_held_back_are_put_in_order(golden_case: Callable[..., Any]) -> None:
    """LOAD DATA's block is printed before the user variable that stands before it in the log."""
    case = golden_case("5.7-statement-full", "statements")
    events, _ = read(case.lines())
    assert [e.pos for e in events] == sorted(e.pos for e in events)
    ours = {record["pos"]: record["type"] for record in case.events()}
    held = [e for e in events if e.kind in ("Intvar", "Rand", "User_var")]
    assert held
    for event in held:
        assert ours[event.pos] == f"{event.kind.upper()}_EVENT"


def test_rows_follow_the_last_event_of_their_statement(absent: Any) -> None:
    items = list(read_text(absent.lines()))
    first = next(i for i, e in enumerate(items) if isinstance(e, PrintedEvent)
                 and e.kind == "Write_rows" and b"STMT_END_F" not in e.head)  # fmt: skip
    headers, at = [], first
    while isinstance(item := items[at], PrintedEvent):
        headers.append(item)
        at += 1
    assert len(headers) > 1
    assert b"STMT_END_F" in headers[-1].head
    rows = items[at : at + 20]
    assert all(isinstance(row, PrintedRow) and row.op == "insert" for row in rows)


def test_inner_events_are_counted_from_the_payload(absent: Any) -> None:
    events, _ = read(absent.lines())
    payload = next(e for e in events if e.kind == "Transaction_Payload")
    inner = [e for e in events if e.outer == payload.pos]
    assert [e.key for e in inner] == [(payload.pos, i) for i in range(len(inner))]
    assert {e.pos for e in inner} == {payload.end_log_pos}
    after = events[events.index(inner[-1]) + 1]
    assert after.key == (payload.end_log_pos, -1)


def test_a_type_that_is_not_handled_is_a_fault_of_its_row(absent: Any) -> None:
    _, rows = read(absent.lines())
    faults = [row for row in rows if row.fault]
    assert len(faults) == 2
    assert faults[0].fault == "!! Don't know how to handle column type=255 meta=4 (0004)"
    assert list(faults[0].after or ()) == [0]


def test_an_insert_without_values(absent: Any) -> None:
    _, rows = read(absent.lines())
    row = next(row for row in rows if row.after == {})
    assert (row.table, row.op, row.before) == ((b"shop", b"mi"), "insert", None)


def test_cells_carry_their_comment(vector: Any) -> None:
    _, rows = read(vector.lines())
    cell = (rows[0].after or {})[2]
    assert (cell.token, cell.type, cell.meta) == (b"-1 (4294967295)", "INT", 0)


# Hostile texts


def test_a_value_cannot_forge_a_row(hostile: Any) -> None:
    _, rows = read(hostile.lines(), OurEvents(hostile.events()))
    assert [(row.table[1], row.op) for row in rows] == [
        (b"h", "insert"),
        (b"h", "insert"),
        (b"t`a\n### DELETE FROM b", "insert"),
    ]
    first = rows[0].after or {}
    assert b"\\n### INSERT INTO `shop`.`h`\\n" in first[1].token
    assert first[2].type == "VARSTRING(800)"


def test_a_statement_can_forge_a_transaction_in_the_text_alone(hostile: Any) -> None:
    """The text is read in the wrong way, and says so: a position comes twice."""
    events, _ = read(hostile.lines())
    repeated = [e for e in events if e.doubt and "this position" in e.doubt]
    assert len(repeated) == 2
    assert [e.kind for e in events if e.pos == repeated[0].pos] == ["Xid", "Xid"]


def test_what_our_decoder_read_there_decides(hostile: Any) -> None:
    ours = hostile.events()
    events, rows = read(hostile.lines(), OurEvents(ours))
    assert [e.pos for e in events] == [record["pos"] for record in ours]
    assert len(rows) == 3
    doubted = [e.kind for e in events if e.doubt]
    assert doubted == ["Table_map", "Query", "Query"]


def test_a_delimiter_within_a_statement_is_not_its_end() -> None:
    lines = [*query(4, 100, b"insert into t values ('", b"/*!*/;", b"foo')"), b"# at 100",
             b"#231114 22:13:20 server id 7  end_log_pos 131 \tXid = 9"]  # fmt: skip
    events, _ = read(lines)
    assert [e.kind for e in events] == ["Query", "Xid"]
    assert events[0].statement == b"insert into t values ('\n/*!*/;\nfoo')"
    assert events[0].doubt


def test_a_wrong_hint_changes_nothing() -> None:
    lines = [*query(4, 100, b"insert into t values (1)"), *query(100, 200, b"select 2")]
    plain, _ = read(lines)
    hinted, _ = read(lines, Hints((4, -1), b"insert into t values (2)"))
    assert [(e.pos, e.statement) for e in hinted] == [(e.pos, e.statement) for e in plain]


def test_a_hint_cannot_swallow_events() -> None:
    """A statement of ours that reaches to where no event can begin is not believed."""
    lines = [*query(4, 100, b"a"), *query(100, 200, b"b"), *query(200, 300, b"c")]
    swallowed = b"a\n" + b"\n".join(query(100, 200, b"b"))
    events, _ = read(lines, Hints((4, -1), swallowed.removesuffix(b"\n/*!*/;")))
    assert [e.statement for e in events] == [b"a", b"b", b"c"]


def test_a_statement_cannot_forge_an_event_that_is_out_of_turn() -> None:
    """While every event begins where the one before it ends, one of another place is a text."""
    forged = [b"b", b"/*!*/;", *query(500, 600, b"x")]
    lines = [*query(4, 100, b"a"), *query(100, 200, *forged), *query(200, 300, b"c")]
    events, _ = read(lines)
    assert [event.pos for event in events] == [4, 100, 200]


def test_relay_logs_have_other_positions() -> None:
    """``end_log_pos`` is the source's; seen in bug33029-slave-relay-bin.000001 of the corpus."""
    lines = [b"# at 4", b"#080310 16:42:17 server id 2  end_log_pos 98 \tStart: binlog v 4",
             b"# at 98", b"#700101  0:00:00 server id 1  end_log_pos 0 \tRotate to m.1  pos: 4",
             *query(236, 188, b"b"), *query(326, 277, b"c")]  # fmt: skip
    events, _ = read(lines)
    assert [(e.pos, e.statement) for e in events[2:]] == [(236, b"b"), (326, b"c")]
    assert not any(e.doubt for e in events)


@pytest.mark.parametrize("cut", range(0, 700, 7))
def test_a_text_that_breaks_off_is_read_as_far_as_it_goes(hostile: Any, cut: int) -> None:
    lines = list(hostile.lines())
    events, _ = read(lines[:cut])
    assert len(events) <= len(lines[:cut])
