"""What real servers answer on the wire, where documents are wrong (docs/document-errors.md).

Packets are made by hand: a replica's client is not what is tested here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pymysql
import pytest

from binlogkit_fixtures.servers import Server, ServerSpec, start

pytestmark = pytest.mark.server

COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID = 0x12, 0x1E
NON_BLOCK, THROUGH_GTID = 1, 4
ROTATE, FORMAT_DESCRIPTION, XID, HEARTBEAT, GTID = 4, 15, 16, 27, 33
ARTIFICIAL, IN_USE = 0x20, 0x01
MALFORMED_SET, MALFORMED_PACKET = 1773, 1835
HEADER = struct.Struct("<IBIIIH")
TRANSACTIONS = 3  # CREATE DATABASE, CREATE TABLE, INSERT


@pytest.fixture(scope="module", params=["5.7", "8.0"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    options = {"binlog-format": "ROW", "gtid-mode": "ON", "enforce-gtid-consistency": "ON"}
    with start(ServerSpec(request.param, options)) as running:
        running.query("RESET MASTER")
        running.query("CREATE DATABASE d")
        running.query("CREATE TABLE d.t (a INT PRIMARY KEY)")
        running.query("INSERT INTO d.t VALUES (1), (2)")
        yield running


@pytest.fixture
def session(server: Server) -> Iterator[Any]:
    """A connection that knows checksums and wants a heartbeat every half second."""
    connection = server.connect()
    with connection.cursor() as cursor:
        for name in ("master", "source"):
            cursor.execute(f"SET @{name}_binlog_checksum = 'CRC32'")
            cursor.execute(f"SET @{name}_heartbeat_period = 500000000")
    yield connection
    connection.close()


def answer(session: Any, command: int, packet: bytes, until: int = 0) -> list[tuple[Any, ...]]:
    """The events sent, (type, timestamp, log_pos, flags, body), up to type ``until`` or the end."""
    session._execute_command(command, packet)
    found: list[tuple[Any, ...]] = []
    while True:
        data = session._read_packet().get_all_data()
        if data[0] == 0xFE:
            return found
        assert data[0] == 0  # the OK byte in front of each event
        timestamp, kind, _, size, log_pos, flags = HEADER.unpack_from(data, 1)
        assert size == len(data) - 1
        found.append((kind, timestamp, log_pos, flags, data[1 + HEADER.size : -4]))
        if kind == until:
            return found


def dump(name: str = "", flags: int = NON_BLOCK) -> bytes:
    return struct.pack("<IHI", 4, flags, 4711) + name.encode()


def gtid_dump(flags: int, data: bytes | None) -> bytes:
    head = struct.pack("<HII", flags | NON_BLOCK, 4712, 0) + struct.pack("<Q", 4)
    return head if data is None else head + struct.pack("<I", len(data)) + data


def block(server: Server, last: int, width: str = "<Q") -> bytes:
    """A set with the one interval from 1 to ``last`` as stored."""
    uuid = UUID(str(server.query("SELECT @@server_uuid")[0][0])).bytes
    return struct.pack(width, 1) + uuid + struct.pack("<QQQ", 1, 1, last)


def test_an_empty_name_begins_with_the_first_log(session: Any) -> None:
    rotate, description, *_ = answer(session, COM_BINLOG_DUMP, dump())
    kind, timestamp, log_pos, flags, body = rotate
    assert (kind, timestamp, log_pos) == (ROTATE, 0, 0)
    assert flags == ARTIFICIAL  # made up by the source, in no file
    assert body == struct.pack("<Q", 4) + b"binlog.000001"
    assert description[0] == FORMAT_DESCRIPTION
    assert not description[3] & IN_USE  # though the file's own has it


def test_a_heartbeat_has_a_body(session: Any) -> None:
    *sent, heartbeat = answer(session, COM_BINLOG_DUMP, dump("binlog.000001", 0), HEARTBEAT)
    timestamp, log_pos, flags, body = heartbeat[1:]
    assert body == b"binlog.000001"
    assert (timestamp, flags) == (0, 0)
    assert log_pos == sent[-1][2]


@pytest.mark.gate
def test_a_gtid_sets_count_has_eight_bytes(server: Server, session: Any) -> None:
    packet = gtid_dump(THROUGH_GTID, block(server, TRANSACTIONS, "<I"))
    with pytest.raises(pymysql.Error) as raised:
        answer(session, COM_BINLOG_DUMP_GTID, packet)
    assert raised.value.args[0] == MALFORMED_SET


@pytest.mark.parametrize("flags", [THROUGH_GTID, 0])
def test_the_set_counts_with_or_without_the_flag(server: Server, session: Any, flags: int) -> None:
    """And an interval's end is exclusive: the last transaction is sent."""
    packet = gtid_dump(flags, block(server, TRANSACTIONS))
    sent = answer(session, COM_BINLOG_DUMP_GTID, packet)
    numbers = [struct.unpack_from("<q", body, 17)[0] for kind, *_, body in sent if kind == GTID]
    assert numbers == [TRANSACTIONS]
    assert sent[-1][0] == XID


def test_all_is_there_already(server: Server, session: Any) -> None:
    packet = gtid_dump(THROUGH_GTID, block(server, TRANSACTIONS + 1))
    assert GTID not in [kind for kind, *_ in answer(session, COM_BINLOG_DUMP_GTID, packet)]


def test_an_empty_set_is_eight_zero_bytes(session: Any) -> None:
    sent = answer(session, COM_BINLOG_DUMP_GTID, gtid_dump(0, bytes(8)))
    assert [kind for kind, *_ in sent].count(GTID) == TRANSACTIONS


@pytest.mark.parametrize(("data", "code"), [(None, MALFORMED_PACKET), (b"", MALFORMED_SET)])
@pytest.mark.gate(2)
def test_the_set_is_always_there(session: Any, data: bytes | None, code: int) -> None:
    with pytest.raises(pymysql.Error) as raised:
        answer(session, COM_BINLOG_DUMP_GTID, gtid_dump(0, data))
    assert raised.value.args[0] == code
