"""Where reading a server's logs begins, when its dump is killed or behind its list of logs."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

import pytest

from binlogkit.constants import EventType
from binlogkit.sources.server.client import ClientIdentity, ReplicationClient
from binlogkit.sources.server.resume import Stop
from binlogkit.sources.server.tail import first_place, tail_of
from tests.sources.server.fake_server import (
    END,
    UUID,
    Dump,
    FakeServer,
    event,
    format_description,
    log,
    rotate,
)

FDE = format_description()
HEAD = 4 + len(FDE)
GTID = event(
    EventType.GTID_LOG_EVENT, b"\1" + uuid.UUID(UUID).bytes + (1).to_bytes(8, "little") + bytes(17),
    start=HEAD,
)  # fmt: skip
HEARTBEAT = event(EventType.HEARTBEAT_LOG_EVENT, b"a.000001", log_pos=900)


def place_of(server: FakeServer) -> tuple[str, int]:
    connect = partial(ReplicationClient, server.settings, ClientIdentity())
    return first_place(connect, b"", Stop(), patience=5.0, lost=None)


@pytest.mark.parametrize("cut", range(5))
def test_the_first_transaction_is_found_over_a_lost_connection(cut: int) -> None:
    def script(dump: Dump) -> Iterable[bytes]:
        packets = [*log("a.000001"), b"\0" + GTID]
        return packets[:cut] if len(server.dumps) == 1 and cut < 4 else packets

    with FakeServer(script, [("a.000001", 900)]).running() as server:
        assert place_of(server) == ("a.000001", HEAD)


@pytest.mark.parametrize(
    ("told", "listed", "expected"),
    [
        (True, 900, 900),  # the dump has left out everything up to the listed end
        (True, 950, 4),  # what is listed is not committed yet: it is none of what was left out
        (True, 850, 4),  # written since: the place may lie inside a transaction
        (False, 900, 4),  # killed, as the server ends a dump then
    ],
)
def test_where_nothing_comes_yet(told: bool, listed: int, expected: int) -> None:
    """The end of the log only where the dump and the list say the same, else its beginning."""

    def script(dump: Dump) -> Iterable[bytes]:
        return [*log("a.000001"), *([b"\0" + HEARTBEAT] if told else []), END]

    with FakeServer(script, [("a.000001", listed)]).running() as server:
        assert place_of(server) == ("a.000001", expected)


@contextmanager
def behind_the_head(server: FakeServer) -> Iterator[BinaryIO]:
    """The log that a tail gives from right behind its head."""
    connect = partial(ReplicationClient, server.settings, ClientIdentity())
    tail = tail_of(connect, ("a.000001", HEAD), Stop(), wait=False, patience=5.0, lost=None)
    carrier = tail.next_log()
    assert carrier is not None
    with carrier.open() as file:
        yield file
    tail.close()


def test_a_head_is_asked_for_again() -> None:
    """Behind position 4 a log's own format description is needed: a killed dump has none."""

    def script(dump: Dump) -> Iterable[bytes]:
        first = [b"\0" + rotate("a.000001", dump.position), END]
        if len(server.dumps) == 1 or dump.position > 4:
            return first
        return [*log("a.000001", bytes(9)), END]

    fake = FakeServer(script, [("a.000001", HEAD + 32)])
    with fake.running() as server, behind_the_head(server) as file:
        assert file.read(HEAD)[4:] == FDE


def test_what_follows_right_behind_a_head() -> None:
    """Whoever has read the head need not go to the place: it stands there."""

    def script(dump: Dump) -> Iterable[bytes]:
        if dump.position == 4:
            return [*log("a.000001"), END]
        return [b"\0" + rotate("a.000001", dump.position), b"\0" + GTID, END]

    fake = FakeServer(script, [("a.000001", HEAD + len(GTID))])
    with fake.running() as server, behind_the_head(server) as file:
        assert file.read(HEAD)[4:] == FDE
        assert file.read(1 << 10) == GTID
        assert file.read(1 << 10) == b""
