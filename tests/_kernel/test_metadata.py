"""What the metadata of a table map says of each type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.metadata import Resolved, metadata_length, resolve
from binlogkit.constants import ColumnType as T


@pytest.mark.parametrize("length", [0, 1, 255, 256, 511, 512, 767, 768, 1020])
def test_char_hides_bits_8_and_9_of_its_length_in_the_type(length: int) -> None:
    """``field.cc``: "real_type ^ ((field_length & 0x300) >> 4)", then the low byte."""
    meta = bytes([T.STRING ^ (length & 0x300) >> 4, length & 0xFF])
    assert resolve(T.STRING, meta) == (T.STRING, length, 0, 0)


def test_enum_and_set_are_strings_with_a_real_type() -> None:
    assert resolve(T.STRING, bytes([T.ENUM, 2])) == Resolved(T.ENUM, 2, 0, 0)
    assert resolve(T.STRING, bytes([T.SET, 8])) == Resolved(T.SET, 8, 0, 0)
    assert resolve(T.ENUM, bytes([T.ENUM, 1])) == Resolved(T.ENUM, 1, 0, 0)


def test_string_of_logs_without_real_type() -> None:
    assert resolve(T.STRING, b"\x00\x20") == Resolved(T.STRING, 32, 0, 0)


@pytest.mark.parametrize(
    ("code", "meta", "expected"),
    [
        (T.VARCHAR, "ff00", (T.VARCHAR, 255, 0, 0)),
        (T.VARCHAR, "0001", (T.VARCHAR, 256, 0, 0)),
        (T.BIT, "0001", (T.BIT, 8, 0, 0)),
        (T.BIT, "0701", (T.BIT, 15, 0, 0)),
        (T.BIT, "0008", (T.BIT, 64, 0, 0)),
        (T.NEWDECIMAL, "411e", (T.NEWDECIMAL, 0, 65, 30)),
        (T.TIME2, "06", (T.TIME2, 0, 0, 6)),
        (T.BLOB, "03", (T.BLOB, 3, 0, 0)),
        (T.TINY_BLOB, "00", (T.TINY_BLOB, 1, 0, 0)),
        (T.JSON, "04", (T.JSON, 4, 0, 0)),
        (T.VECTOR, "04", (T.VECTOR, 4, 0, 0)),
        (T.LONG, "", (T.LONG, 0, 0, 0)),
        (T.VAR_STRING, "fe14", (T.VAR_STRING, 20, 0, 0)),
        (T.VAR_STRING, "ee2c", (T.VAR_STRING, 300, 0, 0)),
        (T.VAR_STRING, "8001", (T.VAR_STRING, 384, 0, 0)),
        (T.TYPED_ARRAY, "03", (T.TYPED_ARRAY, 4, 0, 0)),
        (T.TYPED_ARRAY, "0f000100", (T.TYPED_ARRAY, 4, 0, 0)),
    ],
)
def test_metadata(code: T, meta: str, expected: tuple[T, int, int, int]) -> None:
    assert resolve(code, bytes.fromhex(meta)) == expected


@pytest.mark.parametrize(
    ("code", "meta", "reason"),
    [
        (T.BLOB, "05", "5 length bytes"),
        (T.BLOB, "00", "0 length bytes"),
        (T.JSON, "00", "0 length bytes"),
        (T.BIT, "0800", "BIT of 0 bytes and 8 bits"),
        (T.BIT, "0108", "BIT of 8 bytes and 1 bits"),
        (T.BIT, "0000", "BIT"),
        (T.NEWDECIMAL, "4200", "does not exist"),
        (T.NEWDECIMAL, "411f", "does not exist"),
        (T.NEWDECIMAL, "0000", "does not exist"),
        (T.NEWDECIMAL, "0506", "more fraction digits"),
        (T.TIMESTAMP2, "07", "7 fraction digits"),
        (T.STRING, "f703", "ENUM of 3 bytes"),
        (T.STRING, "f700", "ENUM of 0 bytes"),
        (T.STRING, "f805", "SET of 5 bytes"),
        (T.STRING, "0f05", "real type"),
        (T.FLOAT, "08", "FLOAT of 8 bytes"),
        (T.DOUBLE, "04", "DOUBLE of 4 bytes"),
        (T.VARCHAR, "ff", "2 bytes of metadata, not 1"),
        (T.LONG, "00", "0 bytes of metadata, not 1"),
        (T.INVALID, "", "never stands"),
        (T.TYPED_ARRAY, "", "element type"),
        (T.TYPED_ARRAY, "14", "cannot hold"),
        (T.TYPED_ARRAY, "c8", "unknown"),
    ],
)
def test_metadata_that_no_server_writes(code: T, meta: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        resolve(code, bytes.fromhex(meta))


def test_unknown_types() -> None:
    for call in (metadata_length, lambda code: resolve(code, b"")):
        with pytest.raises(ValueError, match="column type 200 is unknown"):
            call(200)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (CellSpec(T.NEWDECIMAL, precision=66), "does not exist"),
        (CellSpec(T.DATETIME2, scale=7), "7 fraction digits"),
        (CellSpec(T.ENUM, length=4), "ENUM of 4 bytes"),
        (CellSpec(T.SET, length=0), "SET of 0 bytes"),
        (CellSpec(T.BIT, length=65), "BIT of 65 bits"),
        (CellSpec(T.BLOB, length=9), "9 length bytes"),
        (CellSpec(T.DECIMAL), "before MySQL 5.0"),
        (CellSpec(T.NULL), "no row image"),
        (CellSpec(T.VARCHAR, length=9, charset="klingon"), "charset 'klingon' is unknown"),
    ],
)
def test_a_decoder_refuses_what_its_type_cannot_be(spec: CellSpec, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decoder_for(spec)


@given(st.integers(0, 255), st.binary(max_size=5))
def test_any_metadata_resolves_or_is_refused(code: int, meta: bytes) -> None:
    """A type that resolves has a decoder, except where the log does not tell enough."""
    try:
        real = resolve(code, meta)
    except ValueError:
        return
    spec = CellSpec(real.type, meta, False, real.length, real.precision, real.scale)
    if real.type in (T.NULL, T.DECIMAL):
        with pytest.raises(ValueError, match=r"column|length"):
            decoder_for(spec)
    else:
        decoder_for(spec)
