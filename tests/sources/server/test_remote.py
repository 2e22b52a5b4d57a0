"""A server's log as a file: its bytes as a capture would write them, up to its end."""

from __future__ import annotations

import io

import binlogkit as bk
from binlogkit.constants import BINLOG_MAGIC
from binlogkit.sources.carriers import resolve
from tests.sources.server.fake_server import END, FakeServer, log

BODIES = [bytes([1]) + number.to_bytes(8, "little") for number in range(20)]


def test_a_log_is_read_to_where_the_next_one_begins() -> None:
    stored = BINLOG_MAGIC + b"".join(packet[1:] for packet in list(log("a.000001", *BODIES))[1:])
    packets = [*log("a.000001", *BODIES), *log("a.000002", BODIES[0]), END]
    logs = [("a.000001", len(stored)), ("a.000002", 4)]
    with FakeServer(lambda _: packets, logs).running() as server:
        url = f"mysql://fake@127.0.0.1:{server.port}/a.000001?ssl-mode=disabled"
        [carrier] = resolve(url)
        with carrier.open() as file:
            assert file.read() == stored
        with carrier.open() as file:
            read = io.BytesIO()
            while part := file.read(7):
                read.write(part)
            assert read.getvalue() == stored
        with carrier.open() as file:  # and let go before its end
            assert file.read(4) == BINLOG_MAGIC
        events = list(bk.open(url).event_records())
    assert [e["type"] for e in events[1:]] == ["INTVAR_EVENT"] * 20
