"""Binary logs taken apart and put together: sizes, positions and checksums made right.

A reader of its own, which takes everything as it comes, so that what it builds does not depend on
the code under test. Layout: v4's common header, ``timestamp:4 type:1 server_id:4 size:4 log_pos:4
flags:2``, and the CRC32 behind the body where the format description's last five bytes say so.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

__all__ = ["MAGIC", "Part", "Pieces", "format_description", "join", "log_of", "split"]

MAGIC = b"\xfebin"
HEADER = 19
FORMAT_DESCRIPTION = 15
START_V3 = 1
CRC = 4
IN_USE = 1
# By type from 1 on, as 8.0.31 and 9.7.4 write them.
POST_HEADERS = bytes.fromhex(
    "000d0008000000000400040000006200041a08000000080808020000000a0a0a2a2a001234000a2800"
)


@dataclass(frozen=True)
class Part:
    """One event: its header's fields that matter, and its body without checksum."""

    timestamp: int
    code: int
    server_id: int
    flags: int
    body: bytes


@dataclass(frozen=True)
class Pieces:
    """A log; ``header``: bytes of a common header; ``checksums``: whether events end in a CRC32."""

    parts: list[Part]
    header: int = HEADER
    checksums: bool = True


def split(data: bytes) -> Pieces:
    """The events of a log, up to where its sizes stop making sense."""
    header, checksums = HEADER, False
    if len(data) > 17 and data[8] == START_V3 and data[13] == 13 + 56:
        header = 13
    parts: list[Part] = []
    p = len(MAGIC)
    while p + header <= len(data):
        code = data[p + 4]
        size = int.from_bytes(data[p + 9 : p + 13], "little")
        if size < header or p + size > len(data):
            break
        if code == FORMAT_DESCRIPTION and size > HEADER + 57 + CRC:
            checksums = data[p + size - CRC - 1] == 1
        known = code == FORMAT_DESCRIPTION and data[p + size - CRC - 1] in (0, 1)
        end = p + size - (CRC if checksums or known else 0)
        parts.append(
            Part(
                int.from_bytes(data[p : p + 4], "little"),
                code,
                int.from_bytes(data[p + 5 : p + 9], "little"),
                int.from_bytes(data[p + 17 : p + 19], "little") if header == HEADER else 0,
                data[p + header : max(p + header, end)],
            )
        )
        p += size
    return Pieces(parts, header, checksums)


def places(data: bytes) -> list[int]:
    """The offsets of a log's events, by their sizes alone."""
    found, at = [], len(MAGIC)
    while at < len(data):
        found.append(at)
        at += int.from_bytes(data[at + 9 : at + 13], "little")
    return found


def join(pieces: Pieces) -> bytes:
    """The log of these events, with sizes, positions and checksums as a server writes them."""
    out = bytearray(MAGIC)
    for part in pieces.parts:
        crc = pieces.checksums or (part.code == FORMAT_DESCRIPTION and part.body[-1:] in (b"\0",))
        size = pieces.header + len(part.body) + CRC * crc
        event = (
            (part.timestamp & 0xFFFFFFFF).to_bytes(4, "little")
            + bytes([part.code & 0xFF])
            + (part.server_id & 0xFFFFFFFF).to_bytes(4, "little")
            + (size & 0xFFFFFFFF).to_bytes(4, "little")
        )
        if pieces.header >= HEADER:
            event += ((len(out) + size) & 0xFFFFFFFF).to_bytes(4, "little")
            event += (part.flags & 0xFFFF).to_bytes(2, "little")
        event += part.body
        if crc:
            event += _crc(event, part.code).to_bytes(CRC, "little")
        out += event
    return bytes(out)


def _crc(event: bytes, code: int) -> int:
    """Of a format description without its IN_USE flag, which the server sets and takes back."""
    if code == FORMAT_DESCRIPTION:
        event = event[:17] + bytes([event[17] & ~IN_USE & 0xFF]) + event[18:]
    return zlib.crc32(event)


def format_description(
    version: str = "8.0.31", *, checksums: bool = True, post_header: bytes | None = None
) -> Part:
    """A format description event as ``version`` writes it; with CRC32 or its algorithm off."""
    lengths = POST_HEADERS if post_header is None else post_header
    body = (4).to_bytes(2, "little") + version.encode().ljust(50, b"\0")[:50] + bytes(4)
    return Part(0, FORMAT_DESCRIPTION, 1, 0, body + bytes([HEADER]) + lengths + bytes([checksums]))


def log_of(
    events: Sequence[tuple[int, bytes]], *, version: str = "8.0.31", checksums: bool = True
) -> bytes:
    """A log of a format description and events given as (type code, body)."""
    parts = [format_description(version, checksums=checksums)]
    parts += [replace(parts[0], code=code, body=body) for code, body in events]
    return join(Pieces(parts, HEADER, checksums))
