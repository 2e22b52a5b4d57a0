"""Targets for what carries a log: texts, compression, encryption, packets; and explain, verify."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, cast

import binlogkit as bk
from binlogkit.errors import BinlogKitError, DamageError
from binlogkit.sources.carriers import resolve
from binlogkit.sources.carriers.carrier import unpacked
from binlogkit.sources.encryption import read_header
from binlogkit.sources.framing import Framer, Framing
from binlogkit.sources.keyring import read_key, read_keyring
from binlogkit.sources.layers import Lookahead
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.server.stream import EventStream
from tests.fuzz.binlogkit_fuzz import seeds
from tests.fuzz.binlogkit_fuzz.framing import MAGIC
from tests.fuzz.binlogkit_fuzz.invariants import check_record, documented, is_safe
from tests.sources.server.commands import read_command

__all__ = ["DOOR_TARGETS"]

_SMALL = 700
_LARGE = 1 << 16
_ENCRYPTED = b"\xfdbin"


def _logs() -> Iterator[bytes]:
    yield from seeds.small_logs(_SMALL)


def _events(data: bytes) -> Iterator[bytes]:
    """Each event of a log with its header and checksum."""
    p = len(MAGIC)
    while p + 19 <= len(data):
        size = int.from_bytes(data[p + 9 : p + 13], "little")
        if size < 19:
            return
        yield data[p : p + size]
        p += size


def _carried(data: bytes) -> None:
    """Whatever the bytes are, as an input of its own: its raw events, and of some the records."""
    bits = zlib.crc32(data)
    mode = "report" if bits & 1 else "stop"

    def run() -> None:
        for carrier in resolve(data):
            with carrier.open() as file:
                for raw in LogReader(carrier.name, file, on_damage=mode, sink=_told):
                    assert raw.pos >= 0 and len(raw.body) <= raw.header.size
        if bits & 62 == 0:  # what follows is the same for every carrier, and many times as long
            for record in bk.open(data, on_damage=mode).event_records():
                check_record(record)

    documented(run)


def _packed(data: bytes) -> None:
    """A compressed carrier; of what expands without measure one in 16, which takes its time."""
    if zlib.crc32(data) & 15 == 0 or not _is_large(data):
        _carried(data)


def _is_large(data: bytes) -> bool:
    size = 0

    def run() -> None:
        nonlocal size
        file = unpacked(Lookahead(cast(BinaryIO, io.BytesIO(data))), "fuzz")
        while size < _LARGE and (piece := file.read(_LARGE)):
            size += len(piece)

    documented(run)
    return size >= _LARGE


def _told(error: DamageError) -> None:
    assert is_safe(str(error))


def _hexdump(data: bytes) -> bytes:
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        half = " ".join(f"{b:02x}" for b in row[:8]), " ".join(f"{b:02x}" for b in row[8:])
        lines.append(f"{at:08x}  {half[0]:23}  {half[1]:23}  |{text}|")
    return "\n".join([*lines, f"{len(data):08x}", ""]).encode()


def _xxd(data: bytes) -> bytes:
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16].hex()
        groups = " ".join(row[i : i + 4] for i in range(0, len(row), 4))
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in data[at : at + 16])
        lines.append(f"{at:08x}: {groups:39}  {text}")
    return "\n".join([*lines, ""]).encode()


def _statements(data: bytes) -> bytes:
    packed = base64.b64encode(b"".join(_events(data)))
    lines = [packed[i : i + 76] for i in range(0, len(packed), 76)]
    return b"# at 4\nBINLOG '\n" + b"\n".join(lines) + b"\n'/*!*/;\nCOMMIT/*!*/;\n"


def _packets(data: bytes) -> bytes:
    out = b""
    for number, event in enumerate(_events(data), 1):
        out += (len(event) + 1).to_bytes(3, "little") + bytes([number & 255, 0]) + event
    return out


def _text_seeds() -> Iterator[bytes]:
    for data in _logs():
        for form in (_hexdump, _xxd, _statements):
            yield form(data)
        yield base64.b64encode(next(_events(data)))
        yield data.hex().encode()
    yield (Path(__file__).parents[2] / "sources" / "text" / "_data" / "article.txt").read_bytes()


def _packed_seeds() -> Iterator[bytes]:
    import zstandard

    for data in _logs():
        yield gzip.compress(data, mtime=0)
        yield zstandard.ZstdCompressor().compress(data)
        yield bz2.compress(data)
        yield lzma.compress(data)
        yield gzip.compress(zstandard.ZstdCompressor().compress(data), mtime=0) * 2


def _packet_seeds() -> Iterator[bytes]:
    for data in _logs():
        yield _packets(data)
        yield b"".join(b"\0" + event for event in _events(data))
        yield b"".join(_events(data))


def _framer(data: bytes) -> None:
    """``how:1 cut:1 bytes``: fed in two pieces, or in many."""
    if len(data) < 2:
        return
    framing = (None, Framing.BARE, Framing.STATUS, Framing.PACKETS)[data[0] & 3]
    framer = Framer(framing)
    body, step = data[2:], max(1, data[1])
    total = 0
    for at in range(0, len(body), step):
        total += sum(map(len, framer.feed(body[at : at + step])))
    total += sum(map(len, framer.end()))
    assert total <= len(body)


def _framer_seeds() -> Iterator[bytes]:
    for i, seed in enumerate(_packet_seeds()):
        yield bytes([i % 4, 40]) + seed


class _Line:
    """A connection's other end that says what it was given, as PyMySQL's connection reads it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._next_seq_id = 1

    def _read_bytes(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise ConnectionResetError("the line is dead")
        self._at += count
        return self._data[self._at - count : self._at]


def _stream(data: bytes) -> None:
    """A server that sends anything instead of a dump."""

    def run() -> None:
        skips = bool(zlib.crc32(data) & 1)
        for item in EventStream(_Line(data), "server", skips=skips):
            assert item is not None

    documented(run)


def _stream_seeds() -> Iterator[bytes]:
    for data in _logs():
        events = list(_events(data))
        rotate = (4).to_bytes(8, "little") + b"binlog.000001"
        head = bytes(4) + b"\4" + b"\1\0\0\0" + (19 + len(rotate)).to_bytes(4, "little") + bytes(6)
        heartbeat = (
            bytes(4) + b"\x1b" + b"\1\0\0\0" + (32).to_bytes(4, "little") + b"\x7f" + bytes(5)
        )
        sent = [head + rotate, *events, heartbeat + b"binlog.000001"]
        out = b""
        for number, event in enumerate(sent, 1):
            out += (len(event) + 1).to_bytes(3, "little") + bytes([number & 255, 0]) + event
        yield out + b"\5\0\0" + bytes([(len(sent) + 1) & 255]) + b"\xfe\0\0\2\0"
    yield b"\x17\0\0\1\xff\xd4\x04#HY000could not find it"


def _command(data: bytes) -> None:
    command = documented(lambda: read_command(data))
    if not isinstance(command, BinlogKitError):
        documented(lambda: read_command(command.pack()))  # a name that is no text can be too long


def _command_seeds() -> Iterator[bytes]:
    yield b"\x12" + (4).to_bytes(4, "little") + bytes(2) + b"\1\0\0\0" + b"binlog.000001"
    name = b"\4\0\0\0a.01" + (4).to_bytes(8, "little")
    yield b"\x1e\0\0\1\0\0\0" + name + (8).to_bytes(4, "little") + bytes(8)
    yield b"\x13\1d\1t"
    yield b"\x15\1\0\0\0\1h\1u\1p\xea\x0c" + bytes(8)


def _encryption(data: bytes) -> None:
    """The header of an encrypted log, and the log behind it without a key."""
    documented(lambda: read_header("log", _ENCRYPTED + data))
    documented(lambda: list(bk.open(_ENCRYPTED + data).event_records()))


def _encryption_seeds() -> Iterator[bytes]:
    key = b"MySQLReplicationKey_00010203-0405-0607-0809-0a0b0c0d0e0f_1"
    fields = b"\1\1" + bytes([len(key)]) + key + b"\2" + bytes(32) + b"\3" + bytes(16)
    yield fields.ljust(512 - len(_ENCRYPTED), b"\0") + bytes(range(200))


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="binlogkit-fuzz-"))


def _keyring(data: bytes) -> None:
    path = _folder() / "keys"
    path.write_bytes(data)
    for read in (read_keyring, read_key):
        with suppress(BinlogKitError):
            read(str(path))


def _keyring_seeds() -> Iterator[bytes]:
    yield b'{"version":"1.0","elements":[{"data_id":"k","data_type":"AES","data":"00ff"}]}'
    yield b"a" * 64
    lengths = b"".join(n.to_bytes(8, "little") for n in (64, 1, 3, 0, 8))
    pod = lengths + b"kAES" + bytes(8)
    yield b"Keyring file version:2.0" + pod.ljust(64, b"\0") + b"EOF" + bytes(32)
    yield b"Keyring file version:1.0" + pod.ljust(64, b"\0") + b"EOF"


def explained(data: bytes) -> None:
    """Every event as a walk over its bytes, each byte once, as records; as text or as HTML."""

    def run() -> None:
        shown = bk.explain(data, on_damage="report")
        for record in shown.records():
            check_record(record)
        if zlib.crc32(data) & 1:
            text = shown.text(100)
            assert text.replace("\n", "").isprintable(), repr(text)
        else:
            html = shown.html()
            assert "\x1b" not in html and "<script>alert" not in html

    documented(run)


def verified(data: bytes) -> None:
    def run() -> None:
        found = bk.open(data).verify(rows=bool(zlib.crc32(data) & 1))
        for record in (*found.records(), *found.file_records()):
            check_record(record)

    documented(run)


Row = tuple[Callable[[bytes], None], Callable[[], Iterator[bytes]]]

#: By name: what runs, and the seeds.
DOOR_TARGETS: dict[str, Row] = {
    "texts": (_carried, _text_seeds),
    "compressed": (_packed, _packed_seeds),
    "packets": (_carried, _packet_seeds),
    "framer": (_framer, _framer_seeds),
    "server_stream": (_stream, _stream_seeds),
    "commands": (_command, _command_seeds),
    "encryption": (_encryption, _encryption_seeds),
    "keyring": (_keyring, _keyring_seeds),
}
