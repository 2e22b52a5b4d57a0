"""What fuzzing found, each as the smallest input that shows it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import pytest

import binlogkit as bk
from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.json_diff import apply, parse_diffs
from binlogkit.analyses.conformance import parse_decoded
from binlogkit.errors import DamageError, MalformedEventError, NotABinlogError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.sources.framing import Framer, Framing
from tests.fuzz.binlogkit_fuzz.framing import Pieces, join, log_of, split

SID = bytes(range(16))
UUID = "00010203-0405-0607-0809-0a0b0c0d0e0f"
GTID, PREVIOUS_GTIDS, TAGGED, TABLE_MAP, ROTATE, STOP, PAYLOAD = 33, 35, 42, 19, 4, 3, 40


def number(value: int) -> bytes:
    """A variable-length integer of 9 bytes, as tagged GTIDs have it."""
    return b"\xff" + value.to_bytes(8, "little")


def diff(op: int, path: bytes, value: bytes) -> bytes:
    length = len(path).to_bytes(2, "little")
    return bytes([op]) + b"\xfc" + length + path + bytes([len(value)]) + value


def test_diffs_that_nest_deeper_than_a_document_can_be() -> None:
    """Each diff puts an array into the innermost one: text was made by recursion without end."""
    array = b"\2" + b"\0\0\4\0"
    cell = b"".join(diff(1, b"$" + b"[0]" * depth, array) for depth in range(1, 1200))
    with pytest.raises(ValueError, match="too deep"):
        apply("[]", parse_diffs(cell))
    shallow = b"".join(diff(1, b"$" + b"[0]" * depth, array) for depth in range(1, 100))
    assert apply("[]", parse_diffs(shallow)) == "[" * 100 + "]" * 100


def test_a_diff_that_does_not_fit_names_its_path_safely() -> None:
    with pytest.raises(ValueError, match=r"\$\.\\x1b does not fit"):
        apply("[]", parse_diffs(b"\2\3$.\x1b"))


@pytest.mark.parametrize("tag", [b"a,b", b"\xff", b"a:1-9", b"x\n", b"9"])
def test_tags_that_no_server_takes(tag: bytes) -> None:
    """A set's text is read again by others: what cannot be read again is damage."""
    data = bytes([0, 1, 0, 0, 0, 0, 0, 1]) + SID + bytes([len(tag) << 1]) + tag
    data += (1).to_bytes(8, "little") + (1).to_bytes(8, "little") + (5).to_bytes(8, "little")
    with pytest.raises(MalformedEventError, match="is no tag"):
        GtidSet.read(Cursor(data))


@pytest.mark.parametrize(
    "text", [f"{UUID}:{'9' * 5000}", f"{UUID}:٣", f"{UUID}:1-{'1' * 20}"], ids=["long", "٣", "20"]
)
def test_numbers_that_no_gtid_has(text: str) -> None:
    with pytest.raises(UsageError):
        GtidSet.parse(text)
    assert text not in GtidSet.parse(f"{UUID}:1-5")
    assert f"{UUID}:²" not in GtidSet.parse(f"{UUID}:1-5")


@pytest.mark.parametrize("field", [6, 7])
def test_commit_times_beyond_their_bits(field: int) -> None:
    """Microseconds of 64 bits fit no column of the frames."""
    body = number(1) + number(9) + number(0)
    body += number(1) + b"".join(bytes([byte << 1]) for byte in SID)
    body += number(2) + number(2) + number(field) + number(1 << 55)
    log = bk.open(log_of([(TAGGED, body)]))
    with pytest.raises(DamageError, match="do not fit 55 bits"):
        list(log.event_records())
    assert bk.open(log_of([(TAGGED, body)]), on_damage="report").transactions() is not None


def test_gtids_that_cannot_be_continued() -> None:
    """Two logs whose transactions have the number 0: continuity is told from the others."""
    gtid = b"\0" + SID + (0).to_bytes(8, "little")
    previous = (0).to_bytes(8, "little")
    log = log_of([(PREVIOUS_GTIDS, previous), (GTID, gtid)])
    audit = bk.open([log, log]).audit()
    assert audit["continuity"].num_rows == 1


def test_a_table_map_that_fits_no_table() -> None:
    """Its table has no schema, and the audit tells the damage."""
    broken = bytes(6) + b"\1\0" + b"\1d\0" + b"\1t\0" + b"\1\xf6" + b"\0" + b"\0"
    audit = bk.open(log_of([(TABLE_MAP, broken)]), on_damage="report").audit()
    assert any("metadata" in f["found"] for f in audit["integrity"].to_pylist())


def test_text_of_mysqlbinlog_that_is_no_utf8() -> None:
    text = (
        b"# at 4\n#240502 10:02:06 server id 1  end_log_pos 40 CRC32 0x00000000 \tRotate to a\xdc  "
        b"pos: 4\n"
    )
    events = parse_decoded(text.splitlines(keepends=True), "mysqlbinlog").events
    assert events is not None
    for record in events:
        json.dumps(record, ensure_ascii=False).encode("utf-8")
        assert record["fields"]["name"] == "a\\xdc"


@pytest.mark.parametrize(
    "line",
    [
        b"#249902 10:02:06 server id 1  end_log_pos 40 CRC32 0x00000000 \tXid = 7",
        b"#240502 10:02:06 server id 1  end_log_pos 40 CRC32 0x00000000 \tXid = " + b"9" * 5000,
        b"#240502 10:02:06 server id 1  end_log_pos " + b"9" * 5000 + b" \tXid = 7",
    ],
    ids=["month 99", "xid", "position"],
)
def test_text_with_numbers_that_mysqlbinlog_never_prints(line: bytes) -> None:
    events = parse_decoded([b"# at 4\n", line + b"\n"], "mysqlbinlog").events
    assert events is not None
    with suppress(UsageError):
        assert all("xid" not in record["fields"] for record in events)


def test_an_event_that_fills_its_packet_goes_on_in_an_empty_one() -> None:
    """2**24 - 2 bytes and the status byte; fed in pieces, the packet is put together once."""
    size = (1 << 24) - 2
    event = bytes(4) + b"\2\1\0\0\0" + size.to_bytes(4, "little") * 2 + bytes(2)
    event += bytes(size - len(event))
    sent = b"\xff\xff\xff\1\0" + event + b"\0\0\0\2"
    framer = Framer(Framing.PACKETS)
    found = [e for i in range(0, len(sent), 1 << 16) for e in framer.feed(sent[i : i + (1 << 16)])]
    assert found == [event] and not framer.broken and not framer.left


def test_two_columns_of_one_name() -> None:
    """A record has one place for both: the second value would hide the first."""
    names = b"\1a\1a"
    table_map = bytes(6) + b"\1\0\1d\0\1t\0\2\3\3\0\0\4" + bytes([len(names)]) + names
    rows = bytes(6) + b"\1\0\2\0\2\xff\0\1\0\0\0\2\0\0\0"
    data = log_of([(TABLE_MAP, table_map), (30, rows)])
    with pytest.raises(DamageError, match="two columns of one name"):
        list(bk.open(data).row_records())
    log = bk.open(data, on_damage="report")
    assert not list(log.row_records()) and log.damages


def test_a_statement_that_makes_two_columns_of_one_name() -> None:
    """No server runs it; a crafted log may hold it. The names are not believed."""
    sql = bytes(8) + b"\1" + bytes(4) + b"d\0CREATE TABLE t (a INT, a INT)"
    table_map = bytes(6) + b"\1\0\1d\0\1t\0\2\3\3\0\0"
    rows = bytes(6) + b"\1\0\2\0\2\xff\0\1\0\0\0\2\0\0\0"
    log = bk.open(log_of([(2, sql), (TABLE_MAP, table_map), (30, rows)]))
    assert [row["after"] for row in log.row_records()] == [{"@1": 1, "@2": 2}]
    assert "two columns of one name" in log.problems[0]


@pytest.mark.parametrize("mode", ["stop", "report"])
@pytest.mark.parametrize(
    ("size", "sent"), [(23, 24), (24, 23), (19, 27)], ids=["longer", "shorter", "with more"]
)
def test_a_packet_that_is_not_as_long_as_its_event(size: int, sent: int, mode: str) -> None:
    """Without checksums nothing else tells: the bytes that were too many became the event's."""

    def packet(event: bytes) -> bytes:
        return (len(event) + 1).to_bytes(3, "little") + b"\1\0" + event

    def stop_event(size: int, log_pos: int, sent: int) -> bytes:
        head = bytes(4) + b"\3\1\0\0\0" + size.to_bytes(4, "little")
        return (head + log_pos.to_bytes(4, "little") + bytes(2)).ljust(sent, b"\0")

    sound = [packet(stop_event(19, pos, 19)) for pos in (119, 300)]
    broken = packet(stop_event(size, 200, sent))
    log = bk.open(sound[0] + broken + sound[1], on_damage=mode)
    if mode == "stop":
        with pytest.raises(MalformedEventError, match=f"{sent} were sent"):
            list(log.event_records())
    else:
        assert [event["pos"] for event in log.event_records()] == [100, 281]
        assert [(d.offset, d.field) for d in log.damages] == [(200 - sent, "event_size")]


def of_server(log: bytes, server_id: int) -> bytes:
    """The log as another server writes it, with a format description that cannot be read."""
    first, *parts = [replace(part, server_id=server_id) for part in split(log).parts]
    return join(Pieces([replace(first, body=first.body[:9]), *parts]))


def test_a_server_that_shows_itself_late_has_tables_of_its_own() -> None:
    """Its maps were scanned before: IndexError, or the columns of the server before."""
    sql = bytes(8) + b"\1" + bytes(4) + b"d\0CREATE TABLE t (a INT)"
    table_map = bytes(6) + b"\1\0" + b"\1d\0" + b"\1t\0" + b"\1\3\0\0"
    rows = bytes(6) + b"\1\0\2\0\1\xff" + b"\0" + b"\1\0\0\0"
    known = log_of([(2, sql), (TABLE_MAP, table_map), (30, rows)])
    other = table_map.replace(b"\1t\0", b"\1u\0")
    more = log_of([(TABLE_MAP, table_map), (30, rows), (TABLE_MAP, other), (30, rows)])
    log = bk.open([known, of_server(more, 2)], on_damage="report")
    found = [(row["table"], row["after"]) for row in log.row_records()]
    assert found == [("t", {"a": 1}), ("t", {"@1": 1}), ("u", {"@1": 1})]


def test_an_audit_of_damage_beside_what_is_no_log() -> None:
    """Damage ends the reading; the verification goes on, and meets the other file."""
    no_log, damaged = b"\xfe\x99bin" + bytes(40), bytearray(log_of([(STOP, b"")]))
    damaged[-1] ^= 1
    with pytest.raises(NotABinlogError):
        bk.open([no_log, bytes(damaged)]).audit()


def test_a_sql_mode_that_no_server_has() -> None:
    """64 bits fit no signed column."""
    status = b"\1" + (1 << 63 | 4).to_bytes(8, "little")
    sql = bytes(8) + b"\1" + bytes(2) + len(status).to_bytes(2, "little") + status
    log = bk.open(log_of([(2, sql + b'd\0CREATE TABLE t ("a" INT)')]))
    boundary = log.boundaries(engine="pyarrow").to_pylist()[0]
    assert (boundary["columns"], boundary["sql_mode"]) == (["a"], None)


def test_a_payload_of_no_events() -> None:
    """Of which none could be counted."""
    shown = bk.explain(log_of([(PAYLOAD, b"\2\3\xfc\xff\0" + b"\0")]))
    assert not shown.problems and "TRANSACTION_PAYLOAD_EVENT" in shown.text()
