"""Small compressed transactions among the events around them, for one scan over all of them
(``_kernel/native/splice.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from zstandard import ZstdDecompressor, ZstdError, frame_content_size

from binlogkit._kernel.native.splice import spliced
from binlogkit.constants import HEADER_LENGTH
from binlogkit.events.packing import SPOTS
from binlogkit.limits import limit
from binlogkit.sources.chunks import Chunks
from binlogkit.sources.raw import EventHeader, parse_header


@dataclass(frozen=True, slots=True)
class Splice:
    """Events of a log and of its payloads.

    ``data``: they lie end to end, without checksums; ``spots``: where each stood; ``seals``: the
    checksum of each, of those inside a payload four zeros; ``after``: the place in the chunk
    after the last; ``last``: the header of the last outside of payloads, which begins at ``pos``.
    """

    data: memoryview
    spots: np.ndarray[Any, Any]
    seals: memoryview
    after: int
    last: EventHeader
    pos: int


def splice(chunks: Chunks) -> Splice | None:
    """The events that a chunk begins with, as far as they are GTIDs and small payloads that are
    intact; None where no payload is among them. The log's events have checksums."""
    found = spliced(
        chunks.buffer, chunks.start, chunks.end, chunks.origin,
        limit("PAYLOAD"), limit("INNER_EVENTS"), partial(_plain, ZstdDecompressor()),
    )  # fmt: skip
    if found is None:
        return None
    data, spots, seals, after, last = found
    header = parse_header(bytes(chunks.buffer[last : last + HEADER_LENGTH]), HEADER_LENGTH)
    places = np.frombuffer(spots, SPOTS)
    return Splice(data, places, seals, after, header, chunks.origin + last)


def _plain(zstd: ZstdDecompressor, stored: bytes, claimed: int) -> bytes:
    """What a payload expands to; nothing where that is more than it claims, or it is damaged."""
    try:
        if frame_content_size(stored) > claimed:
            return b""
        return zstd.decompress(stored, claimed, allow_extra_data=False)
    except ZstdError:
        return b""
