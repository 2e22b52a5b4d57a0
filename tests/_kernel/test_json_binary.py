"""Binary JSON: texts of known documents, and documents made to harm."""

from __future__ import annotations

import json
import struct
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.json_binary import MAX_DEPTH, InvalidJson, double_text, quote, to_text
from binlogkit._kernel.json_tree import parse, tree_text

INTEGERS = st.integers(-(2**63), 2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=20,
)


@given(document=DOCUMENTS)
def test_round_trip(json_documents: ModuleType, document: object) -> None:
    """Manual, "The JSON Data Type": "JSON values that are not explicitly inserted [...] as text are
    converted to an internal format that permits quick read access to document elements"."""
    text = to_text(json_documents.write(document))
    assert json.loads(text) == document
    assert tree_text(parse(text)) == text


@given(FLOATS)
def test_double_reads_back(value: float) -> None:
    text = double_text(value)
    assert struct.pack("<d", float(text)) == struct.pack("<d", value)
    assert any(c in text for c in ".e")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e14, "100000000000000.0"),
        (1e15, "1e15"),
        (1234567890123456.8, "1234567890123456.8"),
        (12345678901234567000.0, "1.2345678901234567e19"),
        (1e-15, "0.000000000000001"),
        (1e-16, "1e-16"),
        (-1.25e-300, "-1.25e-300"),
        (1.7976931348623157e308, "1.7976931348623157e308"),
    ],
)
def test_double_as_8_0_31_prints(value: float, text: str) -> None:
    assert double_text(value) == text


def test_quote_as_8_0_31_prints() -> None:
    assert quote('\b\t\n\f\r"\\/\x01\x1f\x7fé😀') == r'"\b\t\n\f\r\"\\/\u0001\u001f' + '\x7fé😀"'


def test_containers_at_the_limit_of_small(json_documents: ModuleType) -> None:
    for count in (21000, 21840, 21845, 22000):  # 3 bytes an entry: 65,535 is passed in between
        document = [1] * count
        assert to_text(json_documents.write(document)) == json.dumps(document)


def test_opaque(json_documents: ModuleType) -> None:
    assert to_text(json_documents.write((252, b"abc"))) == '"base64:type252:YWJj"'
    long = to_text(json_documents.write((15, b"x" * 60)))
    assert long == '"base64:type15:' + "eHh4" * 19 + r"\n" + 'eHh4"'


def nested(depth: int) -> bytes:
    """``depth`` arrays in each other, as small arrays do up to 64 KB."""
    data = b"\x00\x00\x04\x00"
    for _ in range(depth - 1):
        data = b"\x01\x00" + (len(data) + 7).to_bytes(2, "little") + b"\x02\x07\x00" + data
    return b"\x02" + data


def test_depth_is_the_servers() -> None:
    assert to_text(nested(MAX_DEPTH)) == "[" * 100 + "]" * 100
    with pytest.raises(InvalidJson, match="deeper than 100"):
        to_text(nested(MAX_DEPTH + 1))


def shared(levels: int) -> bytes:
    """Arrays of two entries that are both the next array: 2**levels values, 10 bytes each level."""
    data = b"\x00\x00\x04\x00"
    for _ in range(levels):
        entry = b"\x02\x0a\x00"
        data = b"\x02\x00" + (len(data) + 10).to_bytes(2, "little") + entry * 2 + data
    return b"\x02" + data


def test_shared_offsets_do_not_blow_up() -> None:
    assert to_text(shared(3)).count("[]") == 8
    with pytest.raises(InvalidJson, match="out of all proportion"):
        to_text(shared(90))


def test_largest_expansion_of_a_servers_document(json_documents: ModuleType) -> None:
    for document in (
        "\x01" * 5000,
        {"\x01" * 200: "\x02" * 5000},
        [(15, b"")] * 500,
        [False] * 3000,
    ):
        to_text(json_documents.write(document))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "without bytes"),
        ("0d", "value type 0x0d"),
        ("04", "literal"),
        ("0403", "literal"),
        ("05ff", "number is cut"),
        ("0b00000000000000", "double is cut"),
        ("0b000000000000f07f", "no JSON number"),
        ("0b000000000000f8ff", "no JSON number"),
        ("0c05616263", "5 bytes where 3"),
        ("0c8080808080", "more than 5 bytes"),
        ("0c80", "length is cut"),
        ("0cffffffff7f", "bytes where 0"),
        ("0c01ff", "no UTF-8"),
        ("0c03eda080", "no UTF-8"),
        ("0f", "without type"),
        ("0ff600", "without precision"),
        ("0ff6020a0b", "fraction"),
        ("0ff6025200", "82 digits"),
        ("0ff603020164", "cut"),
        ("0ff6030200e4", "group of 2"),
        ("0f0a0401020304", "date or time of 4 bytes"),
        ("0f0c08ffffffffffffffff", "negative date"),
        ("0f0b080000000000000040", "hour"),
        ("0201", "inside its header"),
        ("0200000500", "container of 5 bytes"),
        ("0201000400", "1 entries"),
        ("0201000700020000", "value lies outside"),
        ("02010008000c0700", "container of 8 bytes where 7"),
        ("02010007000c0700", "value lies outside"),
        ("0001000b00000001000400", "container of 11"),
        ("0001000b000a0001000400ff", "key lies outside"),
        ("0001000b000b0002000400ff", "key lies outside"),
    ],
)
def test_malformed(data: str, reason: str) -> None:
    with pytest.raises(InvalidJson, match=reason):
        to_text(bytes.fromhex(data))


@given(document=DOCUMENTS, where=st.integers(0, 10**6), what=st.integers(0, 255))
def test_changed_byte_is_text_or_refused(
    json_documents: ModuleType, document: object, where: int, what: int
) -> None:
    data = bytearray(json_documents.write(document))
    data[where % len(data)] = what
    try:
        text = to_text(bytes(data))
    except InvalidJson:
        return
    assert len(text) <= 8 * len(data) + 64
    json.loads(text)
