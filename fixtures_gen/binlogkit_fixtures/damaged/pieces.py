"""A log cut into its events, by nothing but the sizes in their headers.

Apart from the reader under test on purpose: what must still be delivered is what was left alone
here, found out before any damage is done.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from binlogkit.errors import UsageError

__all__ = ["MAGIC", "Piece", "cut_into_pieces", "joined", "nth", "with_bytes", "with_checksum"]

MAGIC = b"\xfebin"
HEADER = 19
CRC = 4
_SIZE_AT = 9


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of a log; ``whole``: they are an event that any reader can frame and read."""

    data: bytes
    whole: bool = False

    @property
    def code(self) -> int:
        """The type code of an event."""
        return self.data[4]


def cut_into_pieces(log: bytes) -> list[Piece]:
    """The events of an intact log. UsageError: it is none."""
    if log[:4] != MAGIC:
        raise UsageError("not a binlog")
    found, at = [], len(MAGIC)
    while at < len(log):
        (size,) = struct.unpack_from("<I", log, at + _SIZE_AT)
        if size < HEADER or at + size > len(log):
            raise UsageError("not an intact binlog")
        found.append(Piece(log[at : at + size], True))
        at += size
    return found


def joined(pieces: Sequence[Piece]) -> bytes:
    """The bytes of pieces, end to end."""
    return b"".join(piece.data for piece in pieces)


def nth(pieces: Sequence[Piece], code: int, number: int = 0) -> int:
    """The index of the event that is ``number`` of its type, from 0. UsageError: no such event."""
    found = [i for i, piece in enumerate(pieces) if len(piece.data) > HEADER and piece.code == code]
    if number >= len(found):
        raise UsageError(f"there are {len(found)} events of type {code}")
    return found[number]


def with_bytes(pieces: Sequence[Piece], index: int, at: int, data: bytes) -> list[Piece]:
    """Other bytes at ``at`` in an event, counted from its end where negative; no new checksum."""
    old = pieces[index].data
    at += len(old) if at < 0 else 0
    changed = Piece(old[:at] + data + old[at + len(data) :])
    return [*pieces[:index], changed, *pieces[index + 1 :]]


def with_checksum(pieces: Sequence[Piece], index: int) -> list[Piece]:
    """An event with the CRC32 that its bytes have."""
    body = pieces[index].data[:-CRC]
    changed = replace(pieces[index], data=body + struct.pack("<I", zlib.crc32(body)))
    return [*pieces[:index], changed, *pieces[index + 1 :]]


def rewritten(
    pieces: Sequence[Piece], index: int, change: Callable[[bytes], bytes], *, checksum: bool = True
) -> list[Piece]:
    """An event with another body, its size and its checksum right again."""
    old = pieces[index].data
    end = len(old) - CRC if checksum else len(old)
    body = change(old[HEADER:end])
    size = struct.pack("<I", HEADER + len(body) + (CRC if checksum else 0))
    data = old[:_SIZE_AT] + size + old[_SIZE_AT + 4 : HEADER] + body
    changed = Piece(data + b"\0" * CRC if checksum else data)
    found = [*pieces[:index], changed, *pieces[index + 1 :]]
    return with_checksum(found, index) if checksum else found
