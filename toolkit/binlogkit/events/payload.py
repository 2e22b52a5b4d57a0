"""TRANSACTION_PAYLOAD_EVENT (8.0.20+): a transaction's events, compressed.

Fields as packed type, packed length, value; type 0 ends them and the payload follows. The events
inside have no checksums. They are unpacked as a stream, an event at a time: what it claims to
expand to is not believed, and it may expand no further than binlogkit.limits says.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, BinaryIO, cast

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.errors import MalformedEventError
from binlogkit.events.base import ParseContext, TypedFields, code_name, hidden, reads, whole_packed
from binlogkit.limits import limit, limit_error
from binlogkit.sources.layers import ByteStream, RoomLayer, read_into
from binlogkit.sources.raw import RawEvent, parse_header

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Compression(IntEnum):
    """``transaction::compression::type`` in the server's sources."""

    ZSTD = 0
    NONE = 255


@dataclass(frozen=True, slots=True)
class TransactionPayload:
    """``compression``: ZSTD, NONE or a number; sizes in bytes, as the event claims them.

    ``unknown``: fields of other types, and values that a later one of their type replaces;
    ``order``: the fields' types as stored, 0 the end.
    """

    payload_size: int
    compression: str
    uncompressed_size: int | None
    payload: bytes
    unknown: tuple[tuple[int, bytes], ...] = ()
    order: tuple[int, ...] = hidden()


_SIZE, _TYPE, _UNCOMPRESSED = 1, 2, 3
_TOO_WIDE = "too much memory"  # in what zstd says of a window over its limit
_BYTES_AN_EVENT = 100  # an event more for so many bytes more that a payload may expand to
_SKIPPED = 1 << 20


@reads(EventType.TRANSACTION_PAYLOAD_EVENT)
def _payload(cursor: Cursor, raw: RawEvent, context: ParseContext) -> TransactionPayload:
    stored = TypedFields.read(cursor)
    if not stored.ended:
        raise cursor.fail("field_type", "the end of the fields is missing")
    names = {_SIZE: "payload_size", _TYPE: "compression", _UNCOMPRESSED: "uncompressed_size"}
    values = {k: whole_packed(p, names[k]) for k, p in stored.last.items() if k in names}
    size = values.get(_SIZE, cursor.left)
    code = values.get(_TYPE, int(Compression.NONE))
    return TransactionPayload(
        size, code_name(Compression, code), values.get(_UNCOMPRESSED), cursor.read(size, "payload"),
        stored.others(*names), stored.order,
    )  # fmt: skip


def inner_events(
    outer: RawEvent, payload: TransactionPayload, begin: int = 0, offset: int = 0
) -> Iterator[RawEvent]:
    """The raw events of a payload, in order; ``pos`` and ``end_pos`` are the outer event's.

    ``begin``: how many are left out, which end ``offset`` bytes after the payload's start.
    Errors: :class:`MalformedEventError` at the outer event's offset, :class:`LimitError` for more
    events than :func:`most_events` or more bytes than :func:`most_bytes`.
    """
    import zstandard

    stream = ByteStream(plain_stream(outer, payload))
    most, count = most_bytes(payload), most_events(payload)
    inner = begin
    try:
        while stream.offset < offset:
            stream.skip(len(stream.peek(min(_SKIPPED, offset - stream.offset))))
        while head := stream.peek(HEADER_LENGTH):
            if len(head) < HEADER_LENGTH:
                raise _damage(outer, f"it ends {len(head)} bytes into the header of event {inner}")
            header = parse_header(head, HEADER_LENGTH)
            if inner >= count:
                what = f"at {outer.pos}: the payload holds more than {count} events"
                raise limit_error(outer.file, "INNER_EVENTS", what)
            if header.size > most:
                what = f"at {outer.pos}: event {inner} of the payload claims {header.size} bytes"
                raise limit_error(outer.file, "PAYLOAD", what)
            if header.type_code == EventType.TRANSACTION_PAYLOAD_EVENT:
                raise _damage(
                    outer, f"event {inner} of it is a payload again, which no server writes"
                )
            if header.size < HEADER_LENGTH or stream.available(header.size) < header.size:
                raise _damage(outer, f"event {inner} claims {header.size} bytes")
            data = stream.read(header.size)
            yield RawEvent(
                outer.file, outer.pos, header, data[HEADER_LENGTH:], "none", inner, outer.end_pos
            )
            inner += 1
        claimed = payload.uncompressed_size
        if claimed is not None and stream.offset != claimed:
            raise _damage(outer, f"it holds {stream.offset} bytes and claims {claimed}")
    except zstandard.ZstdError as exc:
        if _TOO_WIDE in str(exc):
            what = f"at {outer.pos}: the payload's compression wants more memory"
            raise limit_error(outer.file, "WINDOW", what) from exc
        raise _damage(outer, f"it does not decompress: {exc}") from exc


def most_bytes(payload: TransactionPayload) -> int:
    """How many bytes a payload may expand to."""
    return limit("PAYLOAD") + limit("EXPANSION") * len(payload.payload)


def most_events(payload: TransactionPayload) -> int:
    """How many events a payload may hold."""
    return limit("INNER_EVENTS") + limit("EXPANSION") * len(payload.payload) // _BYTES_AN_EVENT


def plain_stream(outer: RawEvent, payload: TransactionPayload) -> BinaryIO:
    """The bytes of a payload, unpacked as they are read (``zstandard.ZstdError``, LimitError)."""
    import zstandard

    if payload.compression == Compression.NONE.name:
        return io.BytesIO(payload.payload)
    if payload.compression != Compression.ZSTD.name:
        known = f"it is {payload.compression}, not ZSTD (0) or NONE (255)"
        raise _damage(outer, f"its compression is not known: {known}")
    unpacker = zstandard.ZstdDecompressor(max_window_size=limit("WINDOW"))
    reader = unpacker.stream_reader(payload.payload, read_across_frames=True)
    return cast(BinaryIO, _Bounded(cast(BinaryIO, reader), outer, most_bytes(payload)))


class _Bounded(RoomLayer):
    """What a payload expands to; LimitError where more is read than ``most`` bytes."""

    def __init__(self, file: BinaryIO, outer: RawEvent, most: int) -> None:
        super().__init__(file)
        self._outer, self._most, self._left = outer, most, most

    def readinto(self, room: Buffer) -> int:
        count = read_into(self._inner, memoryview(room)[: max(self._left, 1)])
        if count > self._left:
            what = f"at {self._outer.pos}: the payload expands to more than {self._most} bytes"
            raise limit_error(self._outer.file, "PAYLOAD", what)
        self._left -= count
        return count


def _damage(outer: RawEvent, reason: str) -> MalformedEventError:
    return MalformedEventError(outer.file, outer.pos, reason, "payload")
