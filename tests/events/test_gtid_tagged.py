"""GTID_TAGGED_LOG_EVENT, from a log of 9.6.0."""

from __future__ import annotations

import pytest

from binlogkit._kernel.cursor import Cursor
from binlogkit.errors import MalformedEventError
from binlogkit.events.base import ParseContext, parser_of
from binlogkit.events.gtid import Gtid
from binlogkit.sources.raw import EventHeader, RawEvent

# The body at 245 of binlog_transaction_with_GTID_TAG.000001 (blackbeam/rust_mysql_common).
BODY = bytes.fromhex(
    "027800000002AAEE25020804650222C503C502E1029CC10311035502DEAD03040C060A6D7974616708000A040C"
    "7F1CF3B814244A0610A10412430F0B"
)


def parse(body: bytes) -> Gtid:
    raw = RawEvent("log", 245, EventHeader(0, 42, 1, 19 + len(body), 0, 0), body)
    parser = parser_of(42)
    assert parser is not None
    event = parser(Cursor(body, "log", 245), raw, ParseContext())
    assert isinstance(event, Gtid)
    return event


def test_every_field() -> None:
    event = parse(BODY)
    assert event.gtid == "55778904-0299-11f1-b1b8-4ef0c4956feb:mytag:3"
    assert (event.last_committed, event.sequence_number) == (0, 1)
    assert event.immediate_commit_timestamp == event.original_commit_timestamp == 1770368687207196
    assert (event.transaction_length, event.immediate_server_version) == (296, 90600)


def test_cut_anywhere_it_says_where() -> None:
    for cut in range(len(BODY)):
        try:
            event = parse(BODY[:cut])
        except MalformedEventError as error:
            assert error.field
        else:  # fields may be left out, from the end on
            assert event.sid == "55778904-0299-11f1-b1b8-4ef0c4956feb"


def test_fields_of_a_later_server_may_be_passed_over_if_it_says_so() -> None:
    assert parse(BODY + bytes([12 << 1, 0])) == parse(BODY)
    needed = BODY[:2] + bytes([12 << 1]) + BODY[3:]
    with pytest.raises(MalformedEventError, match="field 12 is not known"):
        parse(needed + bytes([12 << 1, 0]))
