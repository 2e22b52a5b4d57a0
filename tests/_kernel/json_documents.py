"""A writer of binary JSON for tests, made from the description at the top of ``json_binary.h``.

It takes plain Python values and writes each the way the server does, small containers first.
"""

from __future__ import annotations

import struct

SMALL_LIMIT = 0xFFFF


def packed_length(length: int) -> bytes:
    out = bytearray()
    while True:
        out.append(length & 0x7F | (0x80 if length > 0x7F else 0))
        length >>= 7
        if not length:
            return bytes(out)


def write(value: object) -> bytes:
    """A whole document: the type byte and the value."""
    kind, data = encode(value)
    return bytes([kind]) + data


def encode(value: object) -> tuple[int, bytes]:
    if value is None or isinstance(value, bool):
        return 0x04, bytes([{None: 0, True: 1, False: 2}[value]])
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return 0x0B, struct.pack("<d", value)
    if isinstance(value, str):
        raw = value.encode("utf-8")
        return 0x0C, packed_length(len(raw)) + raw
    if isinstance(value, tuple):  # (field type, content): opaque
        return 0x0F, bytes([value[0]]) + packed_length(len(value[1])) + value[1]
    if isinstance(value, list):
        return container([], value, keyed=False)
    assert isinstance(value, dict)
    names = sorted((k.encode() for k in value), key=lambda k: (len(k), k))
    return container(names, [value[n.decode()] for n in names], keyed=True)


def _integer(value: int) -> tuple[int, bytes]:
    for kind, form, low, high in (
        (0x05, "<h", -(2**15), 2**15 - 1),
        (0x06, "<H", 0, 2**16 - 1),
        (0x07, "<i", -(2**31), 2**31 - 1),
        (0x08, "<I", 0, 2**32 - 1),
        (0x09, "<q", -(2**63), 2**63 - 1),
        (0x0A, "<Q", 0, 2**64 - 1),
    ):
        if low <= value <= high:
            return kind, struct.pack(form, value)
    raise AssertionError(value)


def container(names: list[bytes], values: list[object], *, keyed: bool) -> tuple[int, bytes]:
    for width in (2, 4):
        data = _container(names, values, width)
        if width == 4 or len(data) <= SMALL_LIMIT:
            kind = (0x00 if keyed else 0x02) + (width == 4)
            return kind, data
    raise AssertionError


def _container(names: list[bytes], values: list[object], width: int) -> bytes:
    def number(n: int) -> bytes:
        return (n & (1 << 8 * width) - 1).to_bytes(width, "little")

    p = 2 * width + len(names) * (width + 2) + len(values) * (width + 1)
    keys, entries, tail = b"", b"", b"".join(names)
    for name in names:
        keys += number(p) + len(name).to_bytes(2, "little")
        p += len(name)
    for value in values:
        kind, data = encode(value)
        if kind in (0x04, 0x05, 0x06) or (width == 4 and kind in (0x07, 0x08)):
            entries += bytes([kind]) + data.ljust(width, b"\0")
        else:
            entries += bytes([kind]) + number(p)
            tail += data
            p += len(data)
    return number(len(values)) + number(p) + keys + entries + tail
