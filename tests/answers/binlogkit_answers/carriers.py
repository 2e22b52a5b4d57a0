"""Logs in other carriers, made so that no compressor's version changes a byte."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator

from tests.answers.binlogkit_answers.places import heads

__all__ = ["CARRIERS"]

_GZIP_BLOCK, _ZSTD_BLOCK = 0xFFFF, 1 << 17
_ROWS = (23, 24, 25, 30, 31, 32, 39)
_FORMAT, _TABLE_MAP, _STATEMENT_END = 15, 19, 1


def gzipped(data: bytes) -> bytes:
    """RFC 1952 with stored blocks (RFC 1951, 3.2.4): ``last:1 size:2 ~size:2 bytes``."""
    out = bytes.fromhex("1f8b08000000000000ff")
    for last, block in _blocks(data, _GZIP_BLOCK):
        size = len(block).to_bytes(2, "little")
        out += bytes([last]) + size + bytes(b ^ 0xFF for b in size) + block
    return out + zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


def zstandard(data: bytes) -> bytes:
    """RFC 8878 with raw blocks: a frame of one segment, its size in 4 bytes, no checksum."""
    out = bytes.fromhex("28b52ffda0") + len(data).to_bytes(4, "little")
    for last, block in _blocks(data, _ZSTD_BLOCK):
        out += (last | len(block) << 3).to_bytes(3, "little") + block
    return out


def _blocks(data: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    for at in range(0, max(1, len(data)), size):
        yield int(at + size >= len(data)), data[at : at + size]


def hexadecimal(data: bytes) -> bytes:
    """As ``xxd -p`` prints it."""
    digits = data.hex()
    return "\n".join([*(digits[i : i + 60] for i in range(0, len(digits), 60)), ""]).encode()


def statements(data: bytes) -> bytes:
    """As mysqlbinlog prints row events: the format description, then a BINLOG for each statement.

    mysqlbinlog prints the rest as SQL, which holds no events.
    """
    lines, group = ["DELIMITER /*!*/;"], b""
    for head in heads(data):
        event = data[head.pos : head.end]
        if head.code == _FORMAT:
            lines += [f"# at {head.pos}", *_binlog(event)]
        elif head.code == _TABLE_MAP or head.code in _ROWS:
            group += event
            ends = head.code in _ROWS and head.body[6] & _STATEMENT_END
            if ends:
                lines += [f"# at {head.pos}", *_binlog(group)]
                group = b""
    return "\n".join([*lines, "DELIMITER ;", ""]).encode()


def _binlog(events: bytes) -> list[str]:
    text = base64.b64encode(events).decode()
    return ["BINLOG '", *(text[i : i + 76] for i in range(0, len(text), 76)), "'/*!*/;"]


CARRIERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzipped,
    "zst": zstandard,
    "xxd-p": hexadecimal,
    "binlog-statements": statements,
}
