"""A server that speaks the protocol and says what it is told to: what no real server would send.

It answers the handshake, every query, COM_REGISTER_SLAVE, and hands each dump command to a script.
"""

from __future__ import annotations

import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from binlogkit.constants import HEADER_LENGTH, EventFlag, EventType
from binlogkit.sources.connection import ServerSettings
from tests.sources.server.commands import BinlogDump, BinlogDumpGtid, read_command

UUID = "11111111-2222-3333-4444-555555555555"
FULL = (1 << 24) - 1
END = b"\xfe\x00\x00\x02\x00"
OK = b"\x00\x00\x00\x02\x00\x00\x00"
_CAPABILITIES = 0x0008A20D  # long password, with db, 4.1, transactions, secure, plugin auth

Dump = BinlogDump | BinlogDumpGtid
Script = Callable[[Dump], Iterable[bytes]]


def event(
    kind: int, body: bytes, *, start: int = 0, log_pos: int | None = None, flags: int = 0
) -> bytes:
    """An event with its checksum; ``log_pos`` follows from its ``start`` unless given."""
    size = HEADER_LENGTH + len(body) + 4
    pos = (start + size) % (1 << 32) if log_pos is None else log_pos
    data = struct.pack("<IBIIIH", 1_700_000_000, kind, 1, size, pos, flags) + body
    return data + struct.pack("<I", zlib.crc32(data))


def rotate(name: str | bytes, position: int = 4) -> bytes:
    """The event that names a log, as a server makes it up."""
    text = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
    body = struct.pack("<Q", position) + text
    return event(EventType.ROTATE_EVENT, body, log_pos=0, flags=EventFlag.ARTIFICIAL)


def format_description(*, log_pos: int | None = None) -> bytes:
    """8.0.31's, with CRC32."""
    lengths = bytes([0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 98, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8,
                     2, 0, 0, 0, 10, 10, 10, 42, 42, 0, 18, 52, 0, 10, 40, 0])  # fmt: skip
    body = struct.pack("<H50sIB", 4, b"8.0.31", 0, HEADER_LENGTH) + lengths + b"\x01"
    return event(EventType.FORMAT_DESCRIPTION_EVENT, body, start=4, log_pos=log_pos)


def log(name: str, *bodies: bytes, start: int = 4) -> Iterator[bytes]:
    """The packets of one log: its name, its format description and INTVAR events of ``bodies``."""
    yield b"\0" + rotate(name)
    first = format_description()
    yield b"\0" + first
    pos = start + len(first)
    for body in bodies:
        data = event(EventType.INTVAR_EVENT, body, start=pos)
        pos += len(data)
        yield b"\0" + data


def error(code: int, text: str) -> bytes:
    """An error packet."""
    return b"\xff" + struct.pack("<H", code) + b"#HY000" + text.encode()


@dataclass
class FakeServer:
    """One that runs. ``dumps``: the dump commands that came; ``denied``: SHOW BINARY LOGS fails."""

    script: Script
    logs: Sequence[tuple[str, int]] = ()
    uuid: str = UUID
    version: str = "8.0.31"
    denied: bool = False
    greeting: bytes | None = None
    switch: bytes | None = None
    dumps: list[Dump] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)
    port: int = 0

    @property
    def settings(self) -> ServerSettings:
        """How to reach it."""
        return ServerSettings("127.0.0.1", self.port, "fake", "secret-word", ssl_mode="disabled")

    @contextmanager
    def running(self) -> Iterator[FakeServer]:
        """Listen while the block runs."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            yield self
            listener.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                line, _ = listener.accept()
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError, EOFError):
            _Session(self, line).run()


class _Session:
    def __init__(self, server: FakeServer, line: socket.socket) -> None:
        self._server, self._line, self._number = server, line, 0

    def run(self) -> None:
        server = self._server
        greeting = b"\x0a" + server.version.encode() + b"\0" + struct.pack("<I", 7) + b"12345678\0"
        greeting += struct.pack("<HBHHB", _CAPABILITIES & 0xFFFF, 33, 2, _CAPABILITIES >> 16, 21)
        greeting += bytes(10) + b"123456789012\0" + b"mysql_native_password\0"
        self._send(server.greeting or greeting)
        server.received.append(self._receive())
        if server.switch is not None:
            self._send(server.switch)
            server.received.append(self._receive())
        self._send(OK)
        while self._command():
            pass

    def _command(self) -> bool:
        self._number = 0
        packet = self._receive()
        self._server.received.append(packet)
        if packet[0] == 1:
            return False
        if packet[0] == 3:
            self._query(packet[1:].decode())
            return True
        command = read_command(packet)
        if not isinstance(command, Dump):
            self._send(OK)
            return True
        self._server.dumps.append(command)
        for answer in self._server.script(command):
            self._send(answer)
        return False

    def _query(self, sql: str) -> None:
        server = self._server
        if sql.startswith("SHOW GLOBAL VARIABLES"):
            self._rows([("server_uuid", server.uuid)])
        elif sql.startswith("SHOW BINARY LOGS") and server.denied:
            self._send(error(1227, "Access denied"))
        elif sql.startswith("SHOW BINARY LOGS"):
            self._rows([(name, str(size)) for name, size in server.logs], 2)
        else:
            self._send(OK)

    def _rows(self, rows: Sequence[tuple[str, ...]], width: int = 2) -> None:
        self._send(bytes([width]))
        for _ in range(width):
            names = b"".join(_text(t) for t in ("def", "", "", "", "c", "c"))
            self._send(names + b"\x0c" + struct.pack("<HIBHB", 33, 255, 253, 0, 0) + b"\0\0")
        self._send(END)
        for row in rows:
            self._send(b"".join(map(_text, row)))
        self._send(END)

    def _send(self, payload: bytes) -> None:
        while True:
            part, payload = payload[:FULL], payload[FULL:]
            head = struct.pack("<I", len(part))[:3] + bytes([self._number % 256])
            self._line.sendall(head + part)
            self._number += 1
            if len(part) < FULL:
                return

    def _receive(self) -> bytes:
        head = self._exactly(4)
        self._number = head[3] + 1
        return self._exactly(int.from_bytes(head[:3], "little"))

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self._line.recv(length - len(data))
            if not more:
                raise EOFError
            data += more
        return data


def _text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogateescape")
    return bytes([len(data)]) + data
