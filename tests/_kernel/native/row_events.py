"""Rows events made from column specs, sound and damaged, for the kernel and its reference."""

from __future__ import annotations

import random
import struct

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.metadata import resolve
from binlogkit.constants import ColumnType as T
from binlogkit.rows.schema import Column, TableSchema

WRITE, UPDATE, DELETE, PARTIAL = 30, 31, 32, 39
CODES = (23, 24, 25, 30, 31, 32, 39)
LABELS = ("a", "b", "c")
CHARSETS = (None, "binary", "utf8mb4", "utf8", "latin1", "ascii", "cp1251", "swe7", "sjis", "utf16")

SPECS = (
    *(CellSpec(t, unsigned=u) for t in (T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG)
      for u in (True, False)),
    *(CellSpec(t) for t in (T.YEAR, T.FLOAT, T.DOUBLE, T.DATE, T.NEWDATE)),
    *(CellSpec(t) for t in (T.TIME, T.DATETIME, T.TIMESTAMP)),
    *(CellSpec(t, scale=f) for t in (T.TIME2, T.DATETIME2, T.TIMESTAMP2) for f in range(7)),
    *(CellSpec(T.NEWDECIMAL, precision=p, scale=s)
      for p, s in ((1, 0), (1, 1), (10, 9), (18, 9), (38, 10), (39, 0), (65, 30), (64, 1))),
    *(CellSpec(T.BIT, length=n) for n in (1, 8, 9, 63, 64)),
    *(CellSpec(T.ENUM, length=n, labels=x)
      for n in (1, 2) for x in (None, LABELS, ("x", "x", ""))),
    *(CellSpec(T.SET, length=n, labels=x) for n in (1, 2, 3, 4, 8) for x in (None, LABELS)),
    *(CellSpec(T.VARCHAR, length=n, charset=c) for n in (20, 300) for c in CHARSETS),
    *(CellSpec(T.STRING, length=n, charset=c) for n in (0, 7, 300) for c in ("binary", "utf8mb4")),
    CellSpec(T.VAR_STRING, length=9, charset="latin1"),
    *(CellSpec(t, length=n, charset="utf8mb4") for t, n in (
        (T.TINY_BLOB, 1), (T.BLOB, 2), (T.MEDIUM_BLOB, 3), (T.LONG_BLOB, 4))),
    *(CellSpec(t, length=n) for t in (T.JSON, T.GEOMETRY, T.VECTOR) for n in (1, 4)),
    CellSpec(T.JSON, length=4, as_5_7=True),
    *(CellSpec(T.VARCHAR, length=40, charset=c)
      for c in ("gbk", "gb18030", "ucs2", "utf16le", "utf32", "ujis", "big5", "latin7", "hebrew")),
    CellSpec(T.TYPED_ARRAY, length=4),
)  # fmt: skip

# What no table can have: the metadata of a log claims it.
IMPOSSIBLE = (
    CellSpec(T.TYPED_ARRAY, length=5),
    CellSpec(T.DECIMAL),
    CellSpec(T.VARCHAR, length=5, charset="klingon"),
    *(CellSpec(t, length=n)
      for t in (T.JSON, T.BLOB, T.GEOMETRY, T.VECTOR) for n in (0, 5, 8, 255)),
    *(CellSpec(T.BIT, length=n) for n in (0, 65, 2047)),
    *(CellSpec(t, length=n) for t in (T.ENUM, T.SET) for n in (0, 5, 9, 255)),
    *(CellSpec(t, scale=f) for t in (T.TIME2, T.DATETIME2, T.TIMESTAMP2) for f in (7, 255)),
    *(CellSpec(T.NEWDECIMAL, precision=p, scale=s)
      for p, s in ((5, 6), (66, 0), (40, 31))),
)  # fmt: skip

# Documents in binary JSON: true, 1, -1.5, "ab", {}, [1, "a"], {"k": null}, a DECIMAL.
DOCUMENTS = (
    b"\x04\x01",
    b"\x05\x01\x00",
    b"\x0b" + struct.pack("<d", -1.5),
    b"\x0c\x02ab",
    b"\x00\x00\x00\x04\x00",
    b"\x02\x02\x00\x0c\x00\x05\x01\x00\x0c\x0a\x00\x01a",
    b"\x00\x01\x00\x0c\x00\x0b\x00\x01\x00\x04\x00\x00k",
    b"\x0f\xf6\x04\x03\x02\x81\x17",
)
# How a document changes: $ replaced, $.k inserted, $.k and $[0] removed, two at a time.
DIFFS = (
    b"\x00\x01$\x02\x04\x01",
    b"\x01\x03$.k\x03\x05\x01\x00",
    b"\x02\x03$.k",
    b"\x02\x04$[0]",
    b"\x00\x03$.k\x02\x04\x01\x02\x04$[0]",
    b"",
)
_FIXED = {
    T.TINY: 1, T.SHORT: 2, T.INT24: 3, T.LONG: 4, T.LONGLONG: 8, T.YEAR: 1, T.FLOAT: 4,
    T.DOUBLE: 8, T.DATE: 3, T.NEWDATE: 3, T.TIME: 3, T.DATETIME: 8, T.TIMESTAMP: 4,
}  # fmt: skip
_TEMPORAL = {T.TIME2: 3, T.DATETIME2: 5, T.TIMESTAMP2: 4}
TEXTS = ("", "a", "plain words", "ünïcödé", "漢字", "😀", "x" * 40)


def schema_of(specs: list[CellSpec]) -> TableSchema:
    """A table with these columns."""
    columns = tuple(
        Column(
            i, f"c{i}", s.type, s.meta, "", unsigned=s.unsigned, length=s.length,
            precision=s.precision, scale=s.scale, charset=s.charset, labels=s.labels,
        )
        for i, s in enumerate(specs)
    )  # fmt: skip
    return TableSchema("db", "t", 0, columns)


def cell(source: random.Random, spec: CellSpec) -> bytes:
    """A cell of a column, mostly one that a server could have written."""
    kind = spec.type
    if spec in IMPOSSIBLE:
        return source.randbytes(5)
    if kind in _FIXED:
        return _number(source, _FIXED[kind])
    if kind in _TEMPORAL:
        return _temporal(source, _TEMPORAL[kind], (spec.scale + 1) // 2, kind)
    if kind is T.NEWDECIMAL:
        whole, rest = divmod(spec.precision - spec.scale, 9)
        part, tail = divmod(spec.scale, 9)
        sizes = (
            [(rest + 1) // 2] * (rest > 0) + [4] * (whole + part) + [(tail + 1) // 2] * (tail > 0)
        )
        data = b"".join(bytes([source.randrange(4)]) + source.randbytes(n)[1:] for n in sizes)
        data = data[: sum(sizes)]
        return (
            bytes([data[0] | 0x80]) + data[1:]
            if source.random() < 0.5
            else bytes(255 - b for b in bytes([data[0] | 0x80]) + data[1:])
        )
    if kind is T.BIT:
        return _number(source, (spec.length + 7) // 8)
    if kind in (T.ENUM, T.SET):
        return source.randrange(6).to_bytes(spec.length, "little")
    width = (
        spec.length
        if kind not in (T.VARCHAR, T.VAR_STRING, T.STRING)
        else (1 if spec.length <= 255 else 2)
    )
    value = _content(source, spec)[: (1 << 8 * max(width, 1)) - 1]
    return len(value).to_bytes(max(width, 1), "little") + value


def _content(source: random.Random, spec: CellSpec) -> bytes:
    if spec.type in (T.JSON, T.TYPED_ARRAY):
        return _json(source)
    if source.random() < 0.1:
        return source.randbytes(source.randrange(60))
    return source.choice(TEXTS).encode()[:250]


def _json(source: random.Random) -> bytes:
    chance = source.random()
    if chance < 0.3:
        return source.choice(DOCUMENTS)
    if chance < 0.35:
        return source.randbytes(3)
    kind, value = document(source, source.choice((0, 1, 3)))
    data = bytes([kind]) + value
    return mutated(source, data) if chance > 0.7 else data


def document(source: random.Random, depth: int) -> tuple[int, bytes]:
    """A value in binary JSON: its type and its bytes, objects and arrays with what they hold."""
    chance = source.random()
    if depth and chance < 0.6:
        return _container(source, depth)
    if chance < 0.75:
        return 11, source.choice(
            (source.randbytes(8), struct.pack("<d", source.randrange(10**6) / 100),
             struct.pack("<d", source.random() * 10.0 ** source.randrange(-320, 300)),
             struct.pack("<d", 2.0 ** source.randrange(-1074, 1023)))
        )  # fmt: skip
    if chance < 0.85:
        text = source.choice((*TEXTS, '"', "a\n\x01\\", "x" * 200)).encode()
        return 12, _counted(text)
    if chance < 0.95:
        return 15, bytes([source.choice((7, 10, 11, 12, 246, 252, 16))]) + _opaque(source)
    kind = source.choice((4, 5, 6, 7, 8, 9, 10))
    return kind, source.randbytes(8) if kind > 4 else bytes([source.randrange(4)])


def _opaque(source: random.Random) -> bytes:
    return _counted(
        source.choice((
            source.randbytes(8), source.randbytes(source.randrange(80)), b"\x04\x02\x81\x17",
            bytes([source.randrange(90), source.randrange(40)]) + b"\x80" + bytes(45),
            source.randbytes(3) + bytes((0, 0, source.randrange(2), 0, 0)),
            ((26_349 << 22 | 21 << 17 | 14 << 12 | 59 << 6 | 7) << 24).to_bytes(8, "little"),
        ))
    )  # fmt: skip


def _counted(data: bytes) -> bytes:
    size = len(data)
    head = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
    return head + data


def _container(source: random.Random, depth: int) -> tuple[int, bytes]:
    wide, keyed = source.random() < 0.3, source.random() < 0.5
    width = 4 if wide else 2
    count = source.choice((0, 1, 2, 5))
    keys = [source.choice(TEXTS).encode() for _ in range(count)] if keyed else []
    values = [document(source, depth - 1) for _ in range(count)]
    header = 2 * width + len(keys) * (width + 2) + count * (1 + width)
    key_entries, value_entries, tail = b"", b"", b""
    for key in keys:
        at = header + len(tail)
        key_entries += at.to_bytes(width, "little") + len(key).to_bytes(2, "little")
        tail += key
    for kind, data in values:
        inlined = 4 <= kind <= (8 if wide else 6)
        entry = data[:width].ljust(width, b"\0")
        if not inlined:
            entry = (header + len(tail)).to_bytes(width, "little")
        value_entries += bytes([kind]) + entry
        tail += b"" if inlined else data
    size = header + len(tail)
    head = count.to_bytes(width, "little") + size.to_bytes(4, "little")[:width]
    return (0 if keyed else 2) + wide, head + key_entries + value_entries + tail


def _number(source: random.Random, width: int) -> bytes:
    if source.random() < 0.4:
        return source.choice((b"\0", b"\xff", b"\x7f", b"\x01")) * width
    return source.randbytes(width)


def _temporal(source: random.Random, width: int, fraction: int, kind: T) -> bytes:
    part = source.randrange(100**fraction).to_bytes(3, "big")[3 - fraction :] if fraction else b""
    if source.random() < 0.2:
        return _number(source, width + fraction)
    if kind is T.DATETIME2:
        months = source.randrange(10_000) * 13 + source.randrange(13)
        day = months << 5 | source.randrange(32)
        clock = source.randrange(24) << 12 | source.randrange(60) << 6 | source.randrange(60)
        return ((1 << 39) | day << 17 | clock).to_bytes(5, "big") + part
    if kind is T.TIME2:
        clock = source.randrange(839) << 12 | source.randrange(60) << 6 | source.randrange(60)
        sign = source.choice((1, -1))
        packed = (0x800000 << 8 * fraction) + sign * (clock << 8 * fraction | int.from_bytes(part))
        return packed.to_bytes(3 + fraction, "big")
    return source.randbytes(4) + part


# Extra data: none, a partition, NDB's, both, one that is too short, one that is not known, twice.
EXTRAS = (
    b"\x02\0",
    b"\x02\0",
    b"\x05\0\x01\x07\0",
    b"\x07\0\x01\x07\0\x08\0",
    b"\x06\0\0\x03\x01\x09",
    b"\x09\0\0\x03\x01\x09\x01\x07\0",
    b"\x04\0\0\x01",
    b"\x05\0\x09ab",
    b"\x08\0\x01\x07\0\x01\x07\0",
)


def body(source: random.Random, specs: list[CellSpec], code: int, rows: int) -> bytes:
    """A rows event behind its header, without checksum."""
    count = len(specs)
    size = (count + 7) // 8
    full = (1 << count) - 1
    columns = [
        full if source.random() < 0.6 else source.getrandbits(count or 1) & full
        for _ in range(2 if code in (24, 31, 39) else 1)
    ]
    data = (77).to_bytes(6, "little") + b"\x01\0"
    if code >= 30:
        data += source.choice(EXTRAS)
    data += bytes([count]) if count <= 250 else b"\xfc" + count.to_bytes(2, "little")
    data += b"".join(c.to_bytes(size, "little") for c in columns)
    for _ in range(rows):
        for image, present in enumerate(columns):
            diffs: frozenset[int] = frozenset()
            if code == PARTIAL and image == 1:
                options, diffs = _options(source, specs)
                data += options
            data += _image(source, specs, present, diffs)
    return data


def _options(source: random.Random, specs: list[CellSpec]) -> tuple[bytes, frozenset[int]]:
    """A partial image's first bytes, and the columns whose cells are diffs."""
    columns = [i for i, s in enumerate(specs) if s.type is T.JSON]
    if source.random() < 0.3:
        return b"\0", frozenset()
    bits = source.getrandbits(len(columns) or 1) & (1 << len(columns)) - 1
    diffs = frozenset(c for k, c in enumerate(columns) if bits >> k & 1)
    return b"\x01" + bits.to_bytes((len(columns) + 7) // 8, "little"), diffs


def _image(
    source: random.Random, specs: list[CellSpec], present: int, diffs: frozenset[int]
) -> bytes:
    there = [(i in diffs, s) for i, s in enumerate(specs) if present >> i & 1]
    nulls = 0 if source.random() < 0.5 else source.getrandbits(len(there) or 1)
    nulls &= (1 << len(there)) - 1
    cells = b"".join(
        _diff(source) if diff else cell(source, s)
        for i, (diff, s) in enumerate(there)
        if not nulls >> i & 1
    )
    return nulls.to_bytes((len(there) + 7) // 8, "little") + cells


def _diff(source: random.Random) -> bytes:
    data = source.choice(DIFFS) if source.random() < 0.8 else mutated(source, source.choice(DIFFS))
    return len(data).to_bytes(4, "little") + data


def mutated(source: random.Random, data: bytes) -> bytes:
    """The bytes with some of them changed, left out or added."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 4, 9))):
        what = source.random()
        at = source.randrange(len(changed)) if changed else 0
        if what < 0.5 and changed:
            changed[at] = source.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF, source.randrange(256)))
        elif what < 0.7 and changed:
            changed[at] ^= 1 << source.randrange(8)
        elif what < 0.85:
            del changed[at : at + source.choice((1, 2, len(changed)))]
        else:
            changed[at:at] = source.randbytes(source.choice((1, 2, 8)))
    return bytes(changed)


def choose(source: random.Random) -> list[CellSpec]:
    """Columns of a table."""
    return [
        source.choice(SPECS if source.random() < 0.98 else IMPOSSIBLE)
        for _ in range(source.choice((0, 1, 1, 2, 3, 5, 9, 17)))
    ]


def resolved(code: int, meta: bytes) -> CellSpec:
    """The spec of a column as a table map has it."""
    real = resolve(code, meta)
    return CellSpec(real.type, meta, False, real.length, real.precision, real.scale)
