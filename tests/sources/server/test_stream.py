"""What a server may send: made-up events, heartbeats, packets of any size, errors, nonsense.

The fake server says what no real one would; what real ones say is in test_capture.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import pytest

from binlogkit.constants import EventType
from binlogkit.errors import (
    LimitError,
    LostConnectionError,
    ReplicationError,
    ServerError,
)
from binlogkit.sources.server.client import ClientIdentity, ReplicationClient
from binlogkit.sources.server.stream import EventStream, FileStart, Idle, StreamEvent
from tests.sources.server.fake_server import (
    END,
    FakeServer,
    error,
    event,
    format_description,
    log,
    rotate,
)

INTVAR = b"\x02" + bytes(8)
FDE = format_description()


def items(packets: Iterable[bytes], *, gtid: bool = False, largest: int | None = None) -> list[Any]:
    """What the client makes of a dump's packets."""
    with FakeServer(lambda _: packets).running() as server:
        client = ReplicationClient(server.settings, ClientIdentity())
        try:
            found = client.dump_gtid(b"", wait=False) if gtid else client.dump("b.1", 4, wait=False)
            if largest is not None:
                assert isinstance(found, object)
                found = iter(EventStream(client._connection, client.server, largest=largest))
            return list(found)
        finally:
            client.close()


def places(found: Iterable[Any]) -> list[tuple[str, int, int]]:
    return [(i.file, i.pos, len(i.data)) for i in found if isinstance(i, StreamEvent)]


def test_places_are_counted_from_the_logs_name_on() -> None:
    found = items([*log("a.000001", INTVAR, INTVAR), *log("a.000002", INTVAR), END])
    size = len(FDE)
    assert places(found) == [
        ("a.000001", 4, size), ("a.000001", 4 + size, 32), ("a.000001", 36 + size, 32),
        ("a.000002", 4, size), ("a.000002", 4 + size, 32),
    ]  # fmt: skip
    assert [i for i in found if isinstance(i, FileStart)] == [
        FileStart("a.000001", 4), FileStart("a.000002", 4),
    ]  # fmt: skip
    assert {i.checksum for i in found if isinstance(i, StreamEvent)} == {"ok"}


def test_a_format_description_in_the_middle_stands_for_itself() -> None:
    made_up = b"\0" + format_description(log_pos=0)
    later = b"\0" + event(EventType.INTVAR_EVENT, INTVAR, start=900)
    found = items([b"\0" + rotate("a.000001", 900), made_up, later, END])
    assert [(i.pos, i.made_up, i.end_pos) for i in found if isinstance(i, StreamEvent)] == [
        (900, True, 900), (900, False, 932),
    ]  # fmt: skip


def test_positions_behind_4_gib_are_not_wrapped() -> None:
    start = (1 << 32) - 16
    head = [b"\0" + rotate("a.000001", start), b"\0" + format_description(log_pos=0)]
    one = event(EventType.INTVAR_EVENT, INTVAR, start=start)
    two = event(EventType.INTVAR_EVENT, INTVAR, start=start + 32)
    found = items([*head, b"\0" + one, b"\0" + two, END])
    assert [i.pos for i in found if isinstance(i, StreamEvent)][1:] == [start, start + 32]


@pytest.mark.parametrize("version", [1, 2])
def test_a_dump_by_gtid_leaves_transactions_out(version: int) -> None:
    """A heartbeat tells how far the server skipped, or the next event's own position does."""
    beat = event(EventType.HEARTBEAT_LOG_EVENT, b"a.000001", log_pos=7000)
    if version == 2:
        far = (5 << 32) + 7000
        packed = b"\xfe" + struct.pack("<Q", far)
        fields = b"\x01\x08a.000001" + b"\x02\x09" + packed + b"\x00"
        beat = event(EventType.HEARTBEAT_LOG_EVENT_V2, fields, log_pos=7000)
    later = event(EventType.INTVAR_EVENT, INTVAR, start=9000)
    found = items([*log("a.000001", INTVAR), b"\0" + beat, b"\0" + later, END], gtid=True)
    assert isinstance(found[-2], Idle)
    assert found[-2].position == (7000 if version == 1 else (5 << 32) + 7000)
    if version == 1:
        assert found[-1].pos == 9000


@pytest.mark.parametrize(
    "size", [(1 << 24) - 3, (1 << 24) - 2, (1 << 24) - 1, 1 << 24, (2 << 24) - 2, 40_000_000]
)
def test_an_event_spans_packets(size: int) -> None:
    """A packet of exactly 16 MiB - 1 is followed by an empty one."""
    body = b"\x07" * (size - 23)
    found = items([*log("a.000001", body), END])
    assert len(found[-1].data) == size
    assert found[-1].checksum == "ok"


def test_what_a_server_claims_is_limited() -> None:
    with pytest.raises(LimitError, match=r"over 1000 bytes .*largest"):
        items([*log("a.000001", b"x" * 2000), END], largest=1000)


@pytest.mark.parametrize(
    ("packets", "words"),
    [
        ([b""], "an empty packet"),
        ([b"\x01\x02"], "a packet that begins 0x01"),
        ([b"\xfe" + bytes(20)], "a packet that begins 0xfe"),
        ([b"\0abc"], "an event of 3 bytes"),
        ([b"\0" + rotate("a.000001")[:-1]], "an event of 39 bytes in 38"),
        ([b"\0" + FDE], "an event before a log is named"),
        ([b"\0" + rotate("a.000001"), b"\0" + event(15, b"\x04\x00abc")], "too short"),
        ([b"\0" + event(4, b"\x04\x00", log_pos=0)], "position"),
        ([b"\0" + event(41, b"\x02\xff", log_pos=0)], "packed"),
    ],
)
def test_nonsense_is_told(packets: list[bytes], words: str) -> None:
    with pytest.raises(ReplicationError, match=words) as caught:
        items(packets)
    assert "does not speak the replication protocol" in str(caught.value)


def test_errors_keep_the_servers_words_and_the_place() -> None:
    packets = [*log("a.000001", INTVAR), error(1236, "binlog truncated in the middle\x1b[2J")]
    with pytest.raises(ReplicationError, match="error 1236: binlog truncated") as caught:
        items(packets)
    place = 4 + len(FDE) + 32
    assert (caught.value.code, caught.value.file, caught.value.position) == (
        1236, "a.000001", place,
    )  # fmt: skip
    assert "\x1b" not in str(caught.value)
    with pytest.raises(ReplicationError, match=r"\(b\.1 at 4\)"):
        items([error(1236, "Could not find first log file name in binary log index file")])
    with pytest.raises(LostConnectionError, match="shutdown"):
        items([error(1053, "Server shutdown in progress")])


def test_a_connection_that_ends_is_lost() -> None:
    with pytest.raises(LostConnectionError, match="Lost connection"):
        items(log("a.000001", INTVAR))


@pytest.mark.parametrize(
    "greeting", [b"", b"\x0a", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 60, bytes(80)]
)
def test_another_protocol_is_told(greeting: bytes) -> None:
    fake = FakeServer(lambda _: (), greeting=greeting or b"\x00")
    with fake.running() as server, pytest.raises(ServerError) as caught:
        ReplicationClient(server.settings, ClientIdentity())
    assert "secret-word" not in str(caught.value)


def test_mariadb_is_refused() -> None:
    with (
        FakeServer(lambda _: (), version="5.5.5-10.11.2-MariaDB").running() as server,
        pytest.raises(ServerError, match="MariaDB's logs"),
    ):
        ReplicationClient(server.settings, ClientIdentity())


def test_what_a_session_says() -> None:
    """Checksums and heartbeats are asked for, semi-synchronous replication is not claimed."""
    who = ClientIdentity(3_000_000_000, "99999999-2222-3333-4444-555555555555")
    with FakeServer(lambda _: [END]).running() as server:
        client = ReplicationClient(server.settings, who, heartbeat=2.5)
        assert list(client.dump("a.000001", 4, wait=True)) == []
        client.close()
    said = b"\n".join(server.received).decode("latin1")
    assert "@master_heartbeat_period = 2500000000" in said
    assert "@source_binlog_checksum = 'CRC32'" in said
    assert f"@replica_uuid = '{who.uuid}'" in said and f"@slave_uuid = '{who.uuid}'" in said
    assert "semi_sync" not in said
    assert "secret-word" not in said
    (dump,) = server.dumps
    assert (dump.server_id, dump.flags) == (who.server_id, 2)
