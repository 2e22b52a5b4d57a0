"""Small compressed transactions among the events around them, laid end to end for one scan.

Each transaction that was compressed is one event of its log with a few inside. A window for each
would cost a hundred times what its events do. So events that follow each other are copied as they
lie but for their checksums, those inside a payload after it.
"""

import cython
from cython.cimports.binlogkit._kernel.native.index import SPOT_SPLICED, Spot, crc32, spot_p
from cython.cimports.binlogkit._kernel.native.layout import little, octets
from cython.cimports.binlogkit._kernel.native.rows_head import more_of_packed
from cython.cimports.binlogkit._kernel.native.values import Block, View, new_block
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memset

#: Bytes of an event that is spliced, and that a payload expands to, at most; a larger one is worth
#: a window.
SMALL = 1 << 16
_SMALL = cython.declare(uint32_t, 1 << 16)
_MOST_BYTES = cython.declare(cython.int, 4 << 20)
_MOST_EVENTS = cython.declare(cython.int, 1 << 15)
_HEADER = cython.declare(cython.int, 19)
_CHECKSUM = cython.declare(cython.int, 4)
_SIZE_AT = cython.declare(cython.int, 9)  # where an event's header has the event's size
# Type codes.
_FORMAT = cython.declare(cython.int, 15)
_GTID = cython.declare(cython.int, 33)
_ANONYMOUS = cython.declare(cython.int, 34)
_PAYLOAD = cython.declare(cython.int, 40)
_TAGGED = cython.declare(cython.int, 42)
# Fields of a payload, and its compressions (``events/payload.py``).
_END_OF_FIELDS = cython.declare(cython.int, 0)
_PAYLOAD_SIZE = cython.declare(cython.int, 1)
_UNCOMPRESSED_SIZE = cython.declare(cython.int, 3)
_ZSTD = cython.declare(cython.int, 0)
_NONE = cython.declare(cython.int, 255)

_Fields = cython.struct(size=uint64_t, compression=uint64_t, plain=uint64_t)


def spliced(data, start, end, origin, most_plain, most_inside, unpack):
    """The events that ``data[start:end]`` begins with, as far as they are GTIDs and small payloads
    that are intact: (their bytes without checksums, where each stood as ``SPOT`` says, the checksum
    of each, of those inside a payload zeros, the place after the last, that of the last).

    None where no payload is among them. ``origin``: the log's offset of the buffer's first byte;
    ``most_plain``, ``most_inside``: bytes and events that a payload may expand to; ``unpack``: what
    bytes that zstd compressed expand to, given how many those are to be; nothing where it cannot.
    """
    view: View = View(data)
    at: int64_t = start
    last: int64_t = -1
    behind: int64_t = end
    base: int64_t = origin
    used: int64_t = 0
    count: int64_t = 0
    inside: int64_t
    payloads: int64_t = 0
    size: uint32_t
    body: uint32_t
    most: uint64_t = min(most_plain, SMALL)
    most_events: int64_t = min(most_inside, SMALL // 19)
    p: octets
    out: cython.pointer(uint8_t)
    spot: cython.pointer(Spot)
    if not 0 <= at <= behind <= view.size:
        raise ValueError("the events lie outside their buffer")
    if not _size(view.at + at, behind - at):
        return None
    room: int64_t = _MOST_EVENTS + SMALL // 19 + 1
    events: Block = new_block(_MOST_BYTES + 2 * _SMALL)
    spots: Block = new_block(room * cython.sizeof(Spot))
    seals: Block = new_block(room * _CHECKSUM)
    while used < _MOST_BYTES and count < _MOST_EVENTS:
        p = view.at + at
        size = _size(p, behind - at)
        if not size:
            break
        body = size - _CHECKSUM
        plain: View = None
        inside = 0
        if p[4] == _PAYLOAD:
            plain = _plain(p + _HEADER, body - _HEADER, most, unpack)
            inside = 0 if plain is None else _events_in(plain.at, plain.size)
            if not 0 < inside <= most_events:
                break
            payloads += 1
        out = events.memory + used
        memcpy(out, p, body)
        memcpy(out + _SIZE_AT, cython.address(body), 4)
        memcpy(seals.memory + count * _CHECKSUM, p + body, _CHECKSUM)
        spot = cython.cast(cython.pointer(Spot), spots.memory) + count
        spot.pos, spot.end_pos, spot.inner, spot.size = base + at, base + at + size, -1, size
        spot.flags = SPOT_SPLICED
        used += body
        count += 1
        if inside:
            memcpy(out + body, plain.at, plain.size)
            memset(seals.memory + count * _CHECKSUM, 0, inside * _CHECKSUM)
            _put_spots(spot, plain.at, plain.size)
            used += plain.size
            count += inside
        last = at
        at += size
    if not payloads:
        return None
    events.size, spots.size = used, count * cython.sizeof(Spot)
    seals.size = count * _CHECKSUM
    return memoryview(events), memoryview(spots), memoryview(seals), at, last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _size(p: octets, left: int64_t) -> uint32_t:
    """Bytes of a GTID or payload that is intact; 0: none stands there."""
    size: uint32_t
    if left < _HEADER + _CHECKSUM:
        return 0
    if p[4] != _GTID and p[4] != _ANONYMOUS and p[4] != _PAYLOAD and p[4] != _TAGGED:
        return 0
    size = cython.cast(uint32_t, little(p + _SIZE_AT, 4))
    if size < cython.cast(uint32_t, _HEADER + _CHECKSUM) or size > left or size > _SMALL:
        return 0
    return size if crc32(0, p, size - _CHECKSUM) == little(p + size - _CHECKSUM, 4) else 0


@cython.cfunc
def _plain(p: octets, left: int64_t, most: uint64_t, unpack) -> View:
    """What a payload expands to; None where that is not what it claims, or not as servers write
    it. ``p``: after the header, ``left`` bytes."""
    fields: _Fields
    at: int64_t = _fields(p, left, cython.address(fields))
    if at < 0 or fields.plain > most:
        return None
    stored: bytes = p[at:left]
    if fields.compression == cython.cast(uint64_t, _ZSTD):
        stored = unpack(stored, fields.plain)
    found: View = View(stored)
    return found if cython.cast(uint64_t, found.size) == fields.plain else None


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fields(p: octets, left: int64_t, fields: cython.pointer(_Fields)) -> int64_t:
    """Where the payload begins after its fields; -1: they are not as servers write them, each of
    the three once."""
    at: int64_t = 0
    fields.size = fields.compression = fields.plain = 0
    kind: cython.int
    width: cython.int
    met: cython.int = 0
    value: uint64_t
    while at < left:
        kind = p[at]
        at += 1
        if kind == _END_OF_FIELDS:
            if met != 14 or fields.size != cython.cast(uint64_t, left - at):
                return -1
            if fields.compression != cython.cast(uint64_t, _ZSTD):
                if fields.compression != cython.cast(uint64_t, _NONE):
                    return -1
            return at
        if kind > _UNCOMPRESSED_SIZE or met >> kind & 1 or left - at < 2:
            return -1
        met |= 1 << kind
        width = more_of_packed(p[at + 1])
        if width < 0 or p[at] != 1 + width or left - at < 2 + width:
            return -1
        value = little(p + at + 2, width) if width else p[at + 1]
        at += 2 + width
        if kind == _PAYLOAD_SIZE:
            fields.size = value
        elif kind == _UNCOMPRESSED_SIZE:
            fields.plain = value
        else:
            fields.compression = value
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _events_in(p: octets, left: int64_t) -> int64_t:
    """How many events lie end to end; -1: they do not, or one of them is none that a payload
    has."""
    count: int64_t = 0
    size: int64_t
    while left >= _HEADER:
        size = cython.cast(int64_t, little(p + _SIZE_AT, 4))
        if size < _HEADER or size > left or p[4] == _PAYLOAD or p[4] == _FORMAT:
            return -1
        p += size
        left -= size
        count += 1
    return -1 if left else count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_spots(outer: spot_p, p: octets, left: int64_t) -> cython.void:
    """Where the events inside a payload stood, after its own."""
    spot: cython.pointer(Spot) = cython.cast(cython.pointer(Spot), outer)
    inner: int64_t = 0
    while left > 0:
        spot += 1
        spot.pos, spot.end_pos, spot.inner, spot.flags = outer.pos, outer.end_pos, inner, 0
        spot.size = cython.cast(uint32_t, little(p + _SIZE_AT, 4))
        p += spot.size
        left -= spot.size
        inner += 1
