"""Events to be spliced, right and wrong, and what a plain reading makes of them."""

from __future__ import annotations

import random
import struct
import zlib
from typing import Any

import zstandard

HEADER = struct.Struct("<IBIIIH")
SMALL, PAYLOAD, FORMAT = 1 << 16, 40, 15
TAKEN = (33, 34, 42, PAYLOAD)
Spliced = tuple[list[tuple[int, ...]], bytes, bytes, int, int]


def packed(value: int) -> bytes:
    for first, width in ((252, 2), (253, 3), (254, 8)):
        if value < 1 << 8 * width:
            return (
                bytes([value]) if value < 251 else bytes([first]) + value.to_bytes(width, "little")
            )
    raise ValueError(value)


def event(source: random.Random, code: int, body: bytes) -> bytes:
    size = HEADER.size + len(body)
    data = HEADER.pack(1714723200, code, 80, size, source.randrange(1 << 32), 0)
    return data + body


def sealed(data: bytes) -> bytes:
    """An event with a checksum, which its size counts."""
    data = data[:9] + (len(data) + 4).to_bytes(4, "little") + data[13:]
    return data + zlib.crc32(data).to_bytes(4, "little")


def payload(source: random.Random) -> bytes:
    """A payload's body; one in five is not as servers write it."""
    codes = [2, 19, 30, 16, source.choice((2, 16, PAYLOAD, FORMAT))]
    inside = [event(source, code, source.randbytes(source.randrange(60))) for code in codes]
    plain = b"".join(inside[: source.choice((1, 2, 3, *[4] * 9, 5))])
    odds = ("cut", "claim", "twice", "kind", "width", "size", "zstd", "none")
    odd = source.choice((*[""] * 30, *odds))
    plain = b"" if odd == "none" else plain
    plain = plain[:-1] if odd == "cut" else plain
    zstd = source.random() < 0.7
    stored = zstandard.compress(plain) if zstd else plain
    stored = stored[:-1] + b"\0" if odd == "zstd" and stored else stored
    values = {
        2: packed(0 if zstd else 255),
        3: packed(len(plain) + (odd == "claim")),
        1: packed(len(stored) - (odd == "size" and bool(stored))),
    }
    parts = [bytes([kind, len(value)]) + value for kind, value in values.items()]
    if odd == "twice":
        parts.append(parts[0])
    elif odd == "kind":
        parts.insert(1, b"\x09\x01\x00")
    elif odd == "width":
        parts[1] = b"\x03\x02" + values[3]
    source.shuffle(parts)
    return b"".join(parts) + b"\0" + stored


def made(source: random.Random, count: int = 12) -> bytes:
    """Events of a log that has checksums."""
    out = []
    for _ in range(count):
        code = source.choice((33, PAYLOAD, 34, 42, PAYLOAD, PAYLOAD, source.choice((2, 16))))
        body = payload(source) if code == PAYLOAD else source.randbytes(source.randrange(60))
        out.append(sealed(event(source, code, body)))
    data = b"".join(out)
    if source.random() < 0.3:
        at = source.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :]
    return data[: source.randrange(len(data))] if source.random() < 0.2 else data


def unpack(stored: bytes, claimed: int) -> bytes:
    try:
        return zstandard.decompress(stored, claimed)
    except zstandard.ZstdError:
        return b""


def _number(data: bytes, at: int) -> tuple[int, int]:
    width = {252: 2, 253: 3, 254: 8}.get(data[at], 0)
    if data[at] in (251, 255):
        raise ValueError
    value = int.from_bytes(data[at + 1 : at + 1 + width], "little") if width else data[at]
    return value, at + 1 + width


def _plain(body: bytes, most: int) -> bytes | None:
    at, fields = 0, dict[int, int]()
    try:
        while body[at]:
            kind, size = body[at], body[at + 1]
            value, end = _number(body, at + 2)
            if kind > 3 or kind in fields or end != at + 2 + size or end > len(body):
                return None
            fields[kind], at = value, end
    except (IndexError, ValueError):
        return None
    stored = body[at + 1 :]
    if sorted(fields) != [1, 2, 3] or fields[1] != len(stored) or fields[3] > most:
        return None
    plain = unpack(stored, fields[3]) if fields[2] == 0 else stored
    return plain if fields[2] in (0, 255) and len(plain) == fields[3] else None


def by_python(data: bytes, origin: int, most: int, inside: int) -> Spliced | None:
    """What :func:`binlogkit._kernel.native.splice.spliced` gives, its places as tuples."""
    at, last, met, out, seals = 0, -1, False, b"", b""
    spots: list[tuple[int, ...]] = []
    while len(data) - at >= 23:
        size = int.from_bytes(data[at + 9 : at + 13], "little")
        whole = data[at : at + size]
        if data[at + 4] not in TAKEN or not 23 <= size <= min(SMALL, len(data) - at):
            break
        if zlib.crc32(whole[:-4]).to_bytes(4, "little") != whole[-4:]:
            break
        own: list[tuple[int, ...]] = [(origin + at, origin + at + size, -1, size, 4)]
        plain: bytes | None = b""
        if whole[4] == PAYLOAD:
            plain = _plain(whole[19:-4], most)
            sizes = _sizes(plain)
            if not plain or not 0 < len(sizes) <= inside:
                break
            own += [(*own[0][:2], n, inner, 0) for n, inner in enumerate(sizes)]
            met = True
        spots += own
        out += whole[:9] + (size - 4).to_bytes(4, "little") + whole[13:-4] + (plain or b"")
        seals += whole[-4:] + bytes(4 * (len(own) - 1))
        last, at = at, at + size
    return (spots, out, seals, at, last) if met else None


def _sizes(plain: bytes | None) -> list[int]:
    sizes, at = list[int](), 0
    while plain and at < len(plain):
        size = int.from_bytes(plain[at + 9 : at + 13], "little")
        if at + 19 > len(plain) or not 19 <= size <= len(plain) - at:
            return []
        if plain[at + 4] in (PAYLOAD, FORMAT):
            return []
        sizes.append(size)
        at += size
    return sizes


def same(found: Any) -> Spliced | None:
    """What the kernel gave, as :func:`by_python` gives it."""
    if found is None:
        return None
    data, spots, seals, behind, last = found
    places = list(struct.iter_unpack("<qqqII", bytes(spots)))
    return places, bytes(data), bytes(seals), behind, last
