"""Values of single columns: text, JSON and numbers, kernel against codec, cell by cell."""

from __future__ import annotations

import math
import struct
from types import ModuleType

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binlogkit._kernel.cells import CellSpec, NoArrowValue, Undecodable
from binlogkit._kernel.charsets import CHARSETS, SINGLE_BYTE
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.columns import TablePlan
from binlogkit.constants import ColumnType as T
from tests._kernel.native.row_passes import filled, rows_event

HEAD = (7).to_bytes(6, "little") + b"\1\0\2\0\1\1"


def through_kernel(spec: CellSpec, cells: list[bytes]) -> list[object]:
    """What the kernel stores of cells of a column of variable length, None where nothing."""
    builder = TablePlan([spec], ["c"]).builder(1 << 20, 1 << 30)
    data = HEAD + b"".join(b"\0" + cell for cell in cells)
    filled(builder, data, 30)
    rows, _, images, *_ = builder.take()
    assert rows == len(cells)
    taken = images[1][0]
    if taken is None:
        return [None] * rows
    nulls, *blocks = taken
    buffers = [b and pa.foreign_buffer(b.address, b.size, b) for b in blocks]
    kind = pa.binary() if spec.charset == "binary" else pa.string()
    array = pa.Array.from_buffers(kind, rows, buffers, null_count=nulls)
    array.validate(full=True)
    return list(array.to_pylist())


def through_codec(spec: CellSpec, cells: list[bytes]) -> list[object]:
    decode = decoder_for(spec)
    values = [decode(cell, 0, len(cell))[0] for cell in cells]
    return [None if isinstance(v, (Undecodable, NoArrowValue)) else v for v in values]


def check(spec: CellSpec, values: list[bytes]) -> None:
    width = spec.length if spec.type in (T.BLOB, T.JSON) else 1 if spec.length < 256 else 2
    cells = [len(v).to_bytes(width, "little") + v for v in values]
    assert through_kernel(spec, cells) == through_codec(spec, cells)


@pytest.mark.slow
@pytest.mark.parametrize("charset", ["utf8mb4", "utf8mb3", "utf8"])
def test_every_pair_of_bytes(charset: str) -> None:
    """All starts of a character, alone, in the middle and with more behind them."""
    pairs = [bytes([a, b]) for a in range(256) for b in range(256)]
    spec = CellSpec(T.VARCHAR, length=99, charset=charset)
    check(spec, pairs)
    check(spec, [b"12345678" + pair for pair in pairs])
    check(spec, [pair + b"\x80" for pair in pairs])
    check(spec, [pair + b"\x80\x80" for pair in pairs])
    check(spec, [pair + b"\xbf\xbf" for pair in pairs])


@settings(deadline=None)
@given(st.lists(st.one_of(st.text().map(str.encode), st.binary()), max_size=20))
def test_utf8(values: list[bytes]) -> None:
    for charset in (None, "utf8mb4", "utf8mb3"):
        check(CellSpec(T.BLOB, length=2, charset=charset), values)


@pytest.mark.parametrize("charset", sorted(SINGLE_BYTE))
def test_every_byte_of_a_single_byte_set(charset: str) -> None:
    spec = CellSpec(T.VARCHAR, length=99, charset=charset)
    check(spec, [bytes([a]) for a in range(256)])
    check(spec, [b"12345678" + bytes([a]) + b"abcdefgh" for a in range(256)])


@pytest.mark.parametrize("charset", CHARSETS)
def test_every_charset_through_a_batch(
    twins: ModuleType, row_events: ModuleType, charset: str
) -> None:
    """Those that the kernel leaves to the codecs come out the same as well."""
    specs = [CellSpec(T.VARCHAR, length=99, charset=charset)]
    cells = [bytes([a]) * n for a in (0, 0x20, 0x41, 0x81, 0xA1, 0xD8, 0xFF) for n in (0, 1, 2, 4)]
    data = HEAD + b"".join(b"\0" + bytes([len(c)]) + c for c in cells)
    schema = row_events.schema_of(specs)
    events = [rows_event(data, 30)]
    twins.same(
        twins.by_reference(schema, "8.0.31", events), twins.by_kernel(schema, "8.0.31", events)
    )


@pytest.mark.parametrize(("length", "size"), [(3, 0), (3, 2), (3, 3), (300, 299)])
def test_binary_is_padded(length: int, size: int) -> None:
    check(CellSpec(T.STRING, length=length, charset="binary"), [b"x" * size, b""])


# ---- JSON -----------------------------------------------------------------------------------


def packed(length: int) -> bytes:
    """A length in groups of 7 bits."""
    out = b""
    while length > 0x7F:
        out += bytes([length & 0x7F | 0x80])
        length >>= 7
    return out + bytes([length])


def opaque(kind: int, content: bytes) -> tuple[int, bytes]:
    return 0x0F, bytes([kind]) + packed(len(content)) + content


def scalar(value: object) -> tuple[int, bytes]:
    """(type, bytes) of a scalar."""
    if isinstance(value, str):
        raw = value.encode()
        return 0x0C, packed(len(raw)) + raw
    if isinstance(value, bytes):
        return opaque(value[0] if value else 15, value[1:])
    if isinstance(value, float):
        return 0x0B, struct.pack("<d", value)
    if value is None or isinstance(value, bool):
        return 0x04, bytes([0 if value is None else 2 - value])
    assert isinstance(value, int)
    for code, form in ((5, "<h"), (6, "<H"), (7, "<i"), (8, "<I"), (9, "<q"), (10, "<Q")):
        try:
            return code, struct.pack(form, value)
        except struct.error:
            continue
    return 0x0B, struct.pack("<d", float(value))


def encoded(value: object, large: bool) -> tuple[int, bytes]:
    """(type, bytes) of a document, all containers small or all large."""
    if not isinstance(value, (list, dict)):
        return scalar(value)
    width = 4 if large else 2
    keys = [k.encode() for k in value] if isinstance(value, dict) else []
    members = list(value.values()) if isinstance(value, dict) else value
    header = 2 * width + len(keys) * (width + 2) + len(members) * (1 + width)
    body, entries = b"".join(keys), b""
    offset = header
    for key in keys:
        entries += offset.to_bytes(width, "little") + len(key).to_bytes(2, "little")
        offset += len(key)
    for member in members:
        code, data = encoded(member, large)
        if code in ((4, 5, 6, 7, 8) if large else (4, 5, 6)):
            entries += bytes([code]) + data.ljust(width, b"\0")
        else:
            entries += bytes([code]) + (header + len(body)).to_bytes(width, "little")
            body += data
    size = header + len(body)
    front = len(members).to_bytes(width, "little") + size.to_bytes(width, "little")
    return (1 if large else 0) + (2 if isinstance(value, list) else 0), front + entries + body


TEMPORAL = st.sampled_from((7, 10, 11, 12)).flatmap(
    lambda kind: st.integers(-(2**63), 2**63 - 1).map(
        lambda v: bytes([kind]) + struct.pack("<q", v)
    )
)
DECIMALS = st.tuples(st.integers(0, 90), st.integers(0, 90), st.binary(max_size=50)).map(
    lambda t: bytes([246, t[0], t[1]]) + t[2]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.text(max_size=30),
    st.floats(allow_nan=True), st.binary(min_size=1, max_size=120), TEMPORAL, DECIMALS,
)  # fmt: skip
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=12,
)


def check_documents(documents: list[bytes]) -> None:
    for as_5_7 in (False, True):
        check(CellSpec(T.JSON, length=4, as_5_7=as_5_7), documents)


@settings(max_examples=300, deadline=None)
@given(st.lists(DOCUMENTS, max_size=5), st.booleans())
@example([{"a": [1, {"b": None}], "": '\x00"\\é'}], True)
@example([bytes([15]) + bytes(200)], False)
def test_documents(values: list[object], large: bool) -> None:
    documents = []
    for value in values:
        code, data = encoded(value, large)
        documents.append(bytes([code]) + data)
    check_documents([*documents, b""])


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS, st.booleans(), st.integers(0, 400), st.binary(max_size=3))
def test_damaged_documents(value: object, large: bool, at: int, other: bytes) -> None:
    code, data = encoded(value, large)
    whole = bytes([code]) + data
    check_documents([whole[:at], whole[:at] + other + whole[at + len(other) :]])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_doubles(values: list[float]) -> None:
    check_documents([b"\x0b" + struct.pack("<d", v) for v in values])


def test_doubles_where_digits_are_scarce() -> None:
    """Every power of two and its neighbours, every power of ten, and the human numbers."""
    values = [math.ldexp(1.0, e) for e in range(-1074, 1024)]
    values += [math.nextafter(v, d) for v in values for d in (0.0, math.inf)]
    values += [float(f"{m}e{e}") for m in (1, 2, 5, 9.5, 123456789012345) for e in range(-320, 294)]
    values += [n / 100 for n in range(-3000, 3000)] + [0.0, -0.0, 1e15, 1e16, 1e-15, 1e-16]
    check_documents([b"\x0b" + struct.pack("<d", v) for v in values if math.isfinite(v)])


@pytest.mark.parametrize("depth", [99, 100, 101, 3000])
def test_documents_in_documents(depth: int) -> None:
    value: object = []
    for _ in range(depth - 1):
        value = [value]
    data = b"\x02" + _nested(depth)
    check_documents([data])


def _nested(depth: int) -> bytes:
    data = b"\0\0\x04\0"
    for _ in range(depth - 1):
        size = 7 + len(data)
        data = b"\x01\0" + size.to_bytes(2, "little") + b"\x02\x07\0" + data
    return data
