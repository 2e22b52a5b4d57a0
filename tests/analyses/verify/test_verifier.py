"""Each thing that can be wrong in one file, made from a real log, and what is found of it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.rows.soundness import CODES, Grade
from binlogkit.rows.soundness.log_checks import MAX_OF_A_CODE

LOG = "8.0-row-full/keys/binlog.000001"
OLDER = "5.7-row-full/keys/binlog.000001"
ROWS = ("WRITE_ROWS_EVENT", "UPDATE_ROWS_EVENT", "DELETE_ROWS_EVENT")
Pieces = list[Any]
Codes = Callable[[Any], list[str]]


def find(pieces: Pieces, kind: str, number: int = 0) -> int:
    """Where the event of that type with that number stands."""
    return [i for i, piece in enumerate(pieces) if piece.type == kind][number]


def transaction(pieces: Pieces, number: int) -> slice:
    """The events of a transaction, by its number in the log."""
    starts = [i for i, piece in enumerate(pieces) if piece.type == "GTID_LOG_EVENT"]
    return slice(starts[number], starts[number + 1])


def rows_transaction(pieces: Pieces, skip: int = 0) -> slice:
    """A transaction of BEGIN, TABLE_MAP, one rows event and XID."""
    starts = [i for i, piece in enumerate(pieces) if piece.type == "GTID_LOG_EVENT"]
    for start, end in pairwise(starts):
        kinds = [piece.type for piece in pieces[start:end]]
        if kinds[1:3] == ["QUERY_EVENT", "TABLE_MAP_EVENT"] and len(kinds) == 5:
            if not skip:
                return slice(start, end)
            skip -= 1
    raise AssertionError("no such transaction")


def without(part: int) -> Callable[[Pieces], None]:
    """Take the event with that number out of a transaction of rows."""

    def edit(pieces: Pieces) -> None:
        del pieces[rows_transaction(pieces, 2).start + part]

    return edit


def lost_transaction(pieces: Pieces) -> None:
    del pieces[transaction(pieces, 20)]


def doubled_transaction(pieces: Pieces) -> None:
    where = transaction(pieces, 20)
    pieces[where.stop : where.stop] = pieces[where]


def swapped_transactions(pieces: Pieces) -> None:
    first, second = transaction(pieces, 20), transaction(pieces, 21)
    pieces[first.start : second.stop] = pieces[second] + pieces[first]


def depends_on_itself(pieces: Pieces) -> None:
    data = pieces[transaction(pieces, 20).start].data
    at = 19 + 1 + 16 + 8 + 1  # header, flags, sid, gno, lt_type
    data[at : at + 8] = data[at + 8 : at + 16]


def open_statement(pieces: Pieces) -> None:
    where = rows_transaction(pieces, 2)
    pieces[where.start + 3].data[19 + 6] &= ~1 & 0xFF


def another_table(pieces: Pieces) -> None:
    """Its second map of the same id names a table one letter away."""
    where = rows_transaction(pieces, 2)
    again = type(pieces[0])(bytearray(pieces[where.start + 2].data), "TABLE_MAP_EVENT")
    again.data[19 + 8 + 1] ^= 1
    pieces.insert(where.start + 3, again)


def incident(pieces: Pieces) -> None:
    header = struct.pack("<IBIIIH", 1715695200, 26, 80, 0, 0, 0)
    body = struct.pack("<H", 1) + b"\x07reasons"
    pieces.insert(transaction(pieces, 20).start, type(pieces[0])(bytearray(header + body), "x"))


def unknown_rows(pieces: Pieces) -> None:
    """As a later version may write what this one cannot read."""
    pieces[rows_transaction(pieces, 2).start + 3].data[4] = 120


def compressed_by_mariadb(pieces: Pieces) -> None:
    pieces[rows_transaction(pieces, 2).start + 3].data[4] = 169


def second_format(pieces: Pieces) -> None:
    pieces.insert(transaction(pieces, 20).start, pieces[0])


def behind_the_end(pieces: Pieces) -> None:
    pieces.append(pieces[transaction(pieces, 20).start])
    pieces.append(pieces[transaction(pieces, 20).start + 1])


def beginning_lost(pieces: Pieces) -> None:
    del pieces[0]


EDITS: list[tuple[Callable[[Pieces], None], list[str]]] = [
    (without(0), ["no_gtid", "sequence_gap"]),
    (without(1), ["no_begin", "length_mismatch"]),
    (without(2), ["rows_without_map", "length_mismatch"]),
    (without(3), ["length_mismatch"]),
    (without(4), ["unfinished_transaction"]),
    (lost_transaction, ["sequence_gap"]),
    (doubled_transaction, ["gtid_repeated", "sequence_back"]),
    (swapped_transactions, ["sequence_gap", "sequence_back", "sequence_gap"]),
    (depends_on_itself, ["last_committed"]),
    (open_statement, ["statement_not_ended"]),
    (another_table, ["map_changed", "length_mismatch"]),
    (incident, ["incident"]),
    (unknown_rows, ["unread_event"]),
    (compressed_by_mariadb, ["unread_event", "unfinished_transaction"]),
    (second_format, ["format_repeated"]),
    (
        behind_the_end,
        ["events_after_end", "gtid_repeated", "sequence_back", "unfinished_transaction"],
    ),
    (beginning_lost, ["no_format_description"]),
]


@pytest.mark.parametrize(("edit", "expected"), EDITS, ids=lambda x: getattr(x, "__qualname__", ""))
def test_what_is_wrong_is_found(
    edit: Callable[[Pieces], None], expected: list[str], pieces: Any, join: Any, codes: Codes
) -> None:
    log = pieces(LOG)
    edit(log)
    found = bk.verify(join(log))
    assert codes(found) == expected
    assert not found.well


def test_a_log_put_together_as_it_was_is_well(pieces: Any, join: Any, codes: Codes) -> None:
    for name in (LOG, OLDER, "5.6-row-full/keys/binlog.000001"):
        assert codes(bk.verify(join(pieces(name)))) == []


def test_findings_tell_their_place(pieces: Any, join: Any) -> None:
    log = pieces(LOG)
    where = rows_transaction(log, 2)
    del log[where.start + 2]
    data = join(log)
    events = [e for e in bk.open(data).event_records() if e["inner"] is None]
    found = bk.verify(data).findings
    rows = next(f for f in found if f.code == "rows_without_map").place
    hit = events[where.start + 2]
    assert (rows.pos, rows.end_pos, rows.type) == (hit["pos"], hit["end_pos"], hit["type"])
    assert (rows.event, rows.gtid) == (where.start + 2, hit["gtid"])


def test_observations_are_notes(pieces: Any, join: Any) -> None:
    """In use, no end, an unknown type, a type of MariaDB's: nothing is wrong with the data."""
    log = pieces(LOG)
    log[0].data[17] |= 1
    del log[find(log, "ROTATE_EVENT")]
    unknown = struct.pack("<IBIIIH", 1715695200, 120, 80, 0, 0, 0x80) + b"new"
    log.append(type(log[0])(bytearray(unknown), "UNKNOWN"))
    found = bk.verify(join(log))
    assert found.well
    assert {f.code for f in found.findings} >= {"in_use", "not_closed", "unknown_event"}


def test_positions_that_disagree_are_told_once(pieces: Any, join: Any, codes: Codes) -> None:
    """As a copy has them from which a piece in the middle was cut out between two transactions."""
    data = join(pieces(LOG))
    events = list(bk.open(data).event_records())
    starts = [e for e in events if e["type"] == "GTID_LOG_EVENT"]
    first, second = int(starts[20]["pos"]), int(starts[21]["pos"])
    found = bk.verify(data[:first] + data[second:])
    assert codes(found) == ["position_mismatch", "sequence_gap"]
    assert f"{first - second:+} bytes off" in found.findings[0].found


def test_positions_past_four_gigabytes_wrap(pieces: Any, join: Any) -> None:
    """``log_pos`` has 32 bits; the distance to it is counted modulo 2**32."""
    from binlogkit.sources.plausible import shift_of
    from binlogkit.sources.raw import EventHeader

    for end in (1 << 32, (1 << 32) + 5, (3 << 32) + 100):
        header = EventHeader(0, 16, 1, 31, end & 0xFFFFFFFF, 0)
        assert shift_of(header, end - 31, 4) == (None if header.log_pos == 0 else 0)


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        (bytes(5), ["zeros_at_end", "missing_events"]),
        (bytes(100_000), ["zeros_at_end", "missing_events"]),
        (b"\xff" * 300, ["garbage_at_end", "missing_events"]),
        (b"\x01\x02", ["cut_event", "missing_events"]),
    ],
    ids=["few zeros", "zeros", "garbage", "two bytes"],
)
def test_bytes_behind_the_last_event(
    tail: bytes, expected: list[str], pieces: Any, join: Any, codes: Codes
) -> None:
    data = join(pieces(LOG))
    found = bk.verify(data + tail)
    assert codes(found) == expected
    place = next(f for f in found.findings if f.code == expected[0]).place
    assert (place.pos, place.end_pos) == (len(data), len(data) + len(tail))


def test_damage_tells_which_transactions_are_missing(pieces: Any, join: Any) -> None:
    """Three whole transactions and parts of two are overwritten."""
    data = join(pieces(LOG))
    records = list(bk.open(data).transaction_records())
    first, last = records[60], records[64]
    start, end = int(first["pos"]) + 100, int(last["end_pos"]) - 10
    found = bk.verify(data[:start] + b"\xff" * (end - start) + data[end:])
    assert [f.code for f in found.findings if f.grade != "note"] == [
        "broken_framing",
        "missing_events",
    ]
    lost = next(f.found for f in found.findings if f.code == "missing_events")
    source, number = str(first["gtid"]).rsplit(":", 1)
    assert f"transaction {first['gtid']}" in lost
    assert f"the start of 4 transactions, {source}:{int(number) + 1}-{int(number) + 4}" in lost
    assert "tables may have been altered" in lost


def test_a_lost_table_map_names_what_is_lost(pieces: Any, join: Any, codes: Codes) -> None:
    log = pieces(LOG)
    where = rows_transaction(log, 2)
    data = bytearray(join(log))
    events = list(bk.open(bytes(data)).event_records())
    table_map = events[where.start + 2]
    data[int(table_map["pos"]) + 30] ^= 0xFF
    found = bk.verify(bytes(data))
    assert codes(found) == ["bad_checksum", "rows_without_map", "missing_events"]


def test_damage_that_stops_is_told_too(pieces: Any, join: Any) -> None:
    data = bytearray(join(pieces(LOG)))
    data[3000] ^= 1
    stopped = bk.verify(bytes(data), on_damage="stop")
    assert [f.code for f in stopped.findings][:1] == ["bad_checksum"] and not stopped.well
    assert stopped.files[0].events < bk.verify(bytes(data)).files[0].events


def test_rows_that_no_checksum_vouches_for_are_decoded() -> None:
    """A row image that is cut short is found in a log without checksums."""
    data = Path(__file__).parents[2] / "_data" / "8.0-row-no-checksum" / "keys" / "binlog.000001"
    log = bytearray(data.read_bytes())
    rows = next(e for e in bk.open(bytes(log)).event_records() if e["type"] == "WRITE_ROWS_EVENT")
    bitmap = int(rows["pos"]) + 19 + 10
    log[bitmap] = 250  # columns
    found = bk.verify(bytes(log))
    assert "malformed_event" in [f.code for f in found.findings]


def test_a_log_without_events_is_not_well() -> None:
    (found,) = bk.verify(b"\xfebin").findings
    assert (str(found.grade), found.code) == ("warning", "no_events")


def test_findings_of_one_kind_are_bounded(pieces: Any, join: Any) -> None:
    """What an adversary repeats a thousand times more is counted."""
    log = pieces(LOG)
    where = rows_transaction(log, 2)
    many = log[:2] + [log[where.start + 4]] * (MAX_OF_A_CODE + 7)
    found = bk.verify(join(many))
    told = [f for f in found.findings if f.code == "no_begin"]
    assert len(told) == MAX_OF_A_CODE
    assert [f.found for f in found.findings if f.code == "more"] == ["7 more findings no_begin"]


def test_every_code_says_what_it_means() -> None:
    for name, code in CODES.items():
        assert name.replace("_", "").islower() and code.meaning.endswith(".")
        assert code.grade in Grade


def test_verification_as_frames(pieces: Any, join: Any) -> None:
    log = pieces(LOG)
    lost_transaction(log)
    found = bk.verify(join(log))
    frame = found.frame()
    assert list(frame["code"]) == [f.code for f in found.findings]
    assert found.table().num_rows == len(frame)
    assert "sequence_gap" in found._repr_html_()
