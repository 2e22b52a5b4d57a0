"""The bytes that a scan reads, and which of their events are at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from binlogkit.constants import HEADER_LENGTH
from binlogkit.events.packing import Pack
from binlogkit.rows.splice import Splice
from binlogkit.sources.chunks import Chunks
from binlogkit.sources.plausible import sane_header
from binlogkit.sources.raw import EventHeader, RawEvent, parse_header

#: Bytes up to which an event's size is believed that nothing else supports.
REACH = 16 << 20
#: Events in which a format description without checksums can be wrong.
DOUBTED = 4
_MODULUS = 1 << 32


@dataclass(slots=True)
class Block:
    """Bytes that the scan goes through: ``chunks`` of the file, or of a payload, or a ``pack``."""

    chunks: Chunks | None = None
    pack: Pack | Splice | None = None
    spots: np.ndarray[Any, Any] | None = None
    start: int = 0
    given: int = 0  # events of the pack, or payload, that were handed over
    after: int = 0  # the offset in the payload after those
    outer: RawEvent | None = None

    @property
    def data(self) -> Any:
        return self.chunks.buffer if self.chunks is not None else pack_of(self).data

    @property
    def end(self) -> int:
        return self.chunks.end if self.chunks is not None else len(pack_of(self).data)

    @property
    def origin(self) -> int:
        return self.chunks.origin if self.chunks is not None and self.outer is None else 0


def pack_of(block: Block) -> Pack | Splice:
    assert block.pack is not None
    return block.pack


def chunks_of(block: Block) -> Chunks:
    assert block.chunks is not None
    return block.chunks


def claims(chunks: Chunks) -> int:
    head = _head(chunks)
    return head.size if head else 0


def _head(chunks: Chunks) -> EventHeader | None:
    """Of the event that is not there to its end, as far as it is known."""
    head = bytes(chunks.buffer[chunks.start : min(chunks.end, chunks.start + HEADER_LENGTH)])
    return parse_header(head, HEADER_LENGTH) if len(head) == HEADER_LENGTH else None


def absurd(chunks: Chunks) -> bool:
    """Whether an event claims more than is worth reading ahead to see whether it is there."""
    head = _head(chunks)
    if head is None or head.size <= REACH:
        return False
    end = chunks.origin + chunks.start + head.size
    return end % _MODULUS != head.log_pos or not sane_header(head)


def following(chunks: Chunks, ahead: int) -> Iterator[tuple[EventHeader, bytes]]:
    """The first events after the one of ``ahead`` bytes that comes."""
    at = chunks.start + ahead
    for _ in range(DOUBTED):
        head = bytes(chunks.buffer[at : min(chunks.end, at + HEADER_LENGTH)])
        if len(head) < HEADER_LENGTH:
            return
        header = parse_header(head, HEADER_LENGTH)
        if header.size < HEADER_LENGTH or at + header.size > chunks.end:
            return
        yield header, bytes(chunks.buffer[at : at + header.size])
        at += header.size
