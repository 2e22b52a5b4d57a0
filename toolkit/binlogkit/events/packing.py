"""Events that were framed one by one, packed as the kernel's scan takes them.

Packed events lie end to end, each after a header of 19 bytes and without a checksum. Where an
event stood, its size there and its number in a payload are kept beside them. Bodies of rows events
and table maps are laid out as servers since 5.1.18 write them: a table id of 6 bytes, and nothing
more in the post-header than they know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from binlogkit._kernel.native.index import SPOT
from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.errors import DamageError, InputError, LimitError
from binlogkit.events.base import ParseContext
from binlogkit.events.reader import with_final_code
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import RawEvent

SPOTS = np.dtype(list(SPOT))
_BAD, _LOOK = 1, 2  # of a spot's flags
_MOST_EVENTS, _MOST_BYTES = 4096, 4 << 20  # of a pack, which one event may exceed
_HEADER = struct.Struct("<IBIIIH")
_ID_WIDTH, _EARLY_ID_WIDTH = 6, 4

# Bytes of post-header that the scan knows; of these the table id is the first.
_MAPPED: dict[int, tuple[int, ...]] = {
    EventType.TABLE_MAP_EVENT: (8,),
    **dict.fromkeys(range(23, 26), (8, 0)),  # 0: a server that writes none (9.7)
    **dict.fromkeys(range(30, 33), (10,)),
    EventType.PARTIAL_UPDATE_ROWS_EVENT: (10,),
}
_OTHERS: dict[int, tuple[int, ...]] = {
    EventType.QUERY_EVENT: (13,),
    EventType.XID_EVENT: (0,),
    EventType.GTID_LOG_EVENT: (25, 42),
    EventType.ANONYMOUS_GTID_LOG_EVENT: (25, 42),
    EventType.ROWS_QUERY_LOG_EVENT: (0,),
}


def usual_layout(context: ParseContext) -> bool:
    """Whether the scan can take a log's events as they lie: post-headers as since 5.1.18."""
    lengths = context.post_header_lengths
    known = {**_MAPPED, **_OTHERS}
    usual = all(lengths.get(int(code), sizes[0]) in sizes for code, sizes in known.items())
    return usual and not context.final_codes


@dataclass(slots=True)
class Pack:
    """Packed events.

    ``raws``: as they were read; ``damages``: what was met before the first of them.
    """

    data: bytearray = field(default_factory=bytearray)
    raws: list[RawEvent] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    damages: list[DamageError] = field(default_factory=list)

    def add(self, raw: RawEvent, context: ParseContext) -> None:
        """Append one event."""
        body, look = raw.body, raw.version < 4
        code = raw.header.type_code
        if not look and code in _MAPPED:
            length = context.post_header_lengths.get(code)
            short = length is not None and len(body) < length
            look = short and code != EventType.TABLE_MAP_EVENT  # of which the id counts
            body = _usual_body(body, length, _MAPPED[code])
        elif code in _OTHERS:
            sizes = _OTHERS[code]
            look = look or context.post_header_lengths.get(code, sizes[0]) not in sizes
        header = raw.header
        self.data += _HEADER.pack(
            header.timestamp, code, header.server_id, HEADER_LENGTH + len(body), header.log_pos,
            header.flags,
        )  # fmt: skip
        self.data += body
        self.raws.append(raw)
        self.flags.append((_BAD if raw.checksum == "bad" else 0) | (_LOOK if look else 0))

    @property
    def full(self) -> bool:
        """Whether the next event goes to another pack."""
        return len(self.raws) >= _MOST_EVENTS or len(self.data) >= _MOST_BYTES

    def spots(self) -> np.ndarray[Any, Any]:
        """Where the events stood, as the kernel's SPOT."""
        spots = np.zeros(len(self.raws), SPOTS)
        for i, raw in enumerate(self.raws):
            inner = -1 if raw.inner is None else raw.inner
            spots[i] = (raw.pos, raw.end_pos, inner, raw.header.size, self.flags[i])
        return spots


def _usual_body(body: bytes, length: int | None, sizes: tuple[int, ...]) -> bytes:
    """A body with the post-header that the scan knows; as it is, where that is its own."""
    if length is None or length in sizes or len(body) < length:
        return body
    if length == _ID_WIDTH:  # 5.1.4 and before
        wide = body[:_EARLY_ID_WIDTH] + bytes(_ID_WIDTH - _EARLY_ID_WIDTH)
        return wide + body[_EARLY_ID_WIDTH:]
    return body[: sizes[0]] + body[length:] if length > sizes[0] else body


def packs(
    read: Callable[[Callable[[DamageError], None]], LogReader],
    context: ParseContext,
    enough: Callable[[LogReader, RawEvent, int], bool],
) -> Iterator[Pack]:
    """What is left of a log in packs, up to its end or to an event after which it is ``enough``.

    ``read``: the reader, given what takes damage; ``context``: kept up to date by who
    parses the format descriptions, which end a pack; ``enough``: is given the reader, an event and
    how many came after the last damage. What was read before an error comes before it is raised.
    """
    pack, met, since = Pack(), list[DamageError](), 0
    reader = read(met.append)
    try:
        for stored in reader:
            if met:
                if pack.raws:
                    yield pack
                pack, since = Pack(damages=[*met]), 0
                met.clear()
            raw = with_final_code(stored, context)
            since += 1
            pack.add(raw, context)
            ends = enough(reader, raw, since)
            if ends or pack.full or raw.header.type_code == EventType.FORMAT_DESCRIPTION_EVENT:
                yield pack
                pack = Pack()
            if ends:
                return
    except (DamageError, InputError, LimitError):
        yield from _left(pack, met)
        raise
    yield from _left(pack, met)


def _left(pack: Pack, met: list[DamageError]) -> Iterator[Pack]:
    if pack.raws:
        yield pack
    if met:
        yield Pack(damages=met)
