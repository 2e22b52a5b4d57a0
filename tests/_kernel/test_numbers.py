"""Numbers: what packs comes back, and what was never packed is reported."""

from __future__ import annotations

import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.cells import CellSpec, Undecodable
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.numbers import decimal_size, read_decimal
from binlogkit._kernel.value_text import decimal_text
from binlogkit.constants import ColumnType as T

SHAPES = st.integers(1, 65).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, min(p, 30))))


def packed(digits: str, scale: int, negative: bool) -> bytes:
    """A DECIMAL as ``decimal2bin`` packs it, written from the manual's description alone."""
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    sizes = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    first = len(whole) % 9
    groups = [whole[:first]] if first else []
    groups += [whole[i : i + 9] for i in range(first, len(whole), 9)]
    groups += [fraction[i : i + 9] for i in range(0, scale, 9)]
    raw = bytearray(b"".join(int(g).to_bytes(sizes[len(g)], "big") for g in groups))
    raw[0] ^= 0x80
    return bytes(b ^ 0xFF for b in raw) if negative else bytes(raw)


@given(SHAPES, st.data())
def test_decimal_round_trip(shape: tuple[int, int], data: st.DataObject) -> None:
    """Manual, "Data Type Storage Requirements": "Values for DECIMAL columns are represented using a
    binary format that packs nine decimal (base 10) digits into four bytes. [...] Each multiple of
    nine digits requires four bytes, and the "leftover" digits require some fraction of four bytes."
    """
    precision, scale = shape
    digits = data.draw(st.text("0123456789", min_size=precision, max_size=precision))
    negative = data.draw(st.booleans()) and int(digits) != 0
    raw = packed(digits, scale, negative)
    assert len(raw) == decimal_size(precision, scale)
    value = read_decimal(raw, precision, scale)
    assert value.as_tuple().exponent == -scale
    assert (value < 0) == negative
    whole = digits[: precision - scale].lstrip("0") or "0"
    fraction = f".{digits[precision - scale :]}" if scale else ""
    assert decimal_text(value) == f"{'-' * negative}{whole}{fraction}"


def test_decimal_of_the_manual() -> None:
    """The example at ``decimal2bin`` in the server's ``decimal.c``."""
    assert read_decimal(bytes.fromhex("810dfb38d204d2"), 14, 4) == Decimal("1234567890.1234")
    assert read_decimal(bytes.fromhex("7ef204c72dfb2d"), 14, 4) == Decimal("-1234567890.1234")


def test_decimal_group_that_is_too_big() -> None:
    spec = CellSpec(T.NEWDECIMAL, precision=2, scale=0)
    value, p = decoder_for(spec)(bytes([0x80 | 100]), 0, 1)
    assert value == Undecodable(b"\xe4", "100 in a group of 2 decimal digits")
    assert p == 1


def test_decimal_ignores_the_context_of_the_process() -> None:
    raw = packed("9" * 65, 30, True)
    assert decimal_text(read_decimal(raw, 65, 30)) == f"-{'9' * 35}.{'9' * 30}"


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800000, 0xFF800000, 0xFFFFFFFF])
def test_float_that_is_no_number(bits: int) -> None:
    raw = struct.pack("<I", bits)
    value, p = decoder_for(CellSpec(T.FLOAT, length=4))(raw, 0, 4)
    assert isinstance(value, Undecodable)
    assert (value.raw, p) == (raw, 4)


def test_bit_beyond_its_width() -> None:
    value, _ = decoder_for(CellSpec(T.BIT, length=9))(b"\x02\x00", 0, 2)
    assert isinstance(value, Undecodable)


def test_year() -> None:
    """Manual, "The YEAR Type": "displays YEAR values in YYYY format, with a range of 1901 to 2155,
    and 0000"."""
    read = decoder_for(CellSpec(T.YEAR))
    assert [read(bytes([b]), 0, 1)[0] for b in (0, 1, 255)] == [0, 1901, 2155]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"   1.50", Decimal("1.50")),
        (b"-00001.50", Decimal("-1.50")),
        (b"0000000001", Decimal(1)),
    ],
)
def test_old_decimal_with_a_known_length(raw: bytes, value: Decimal) -> None:
    found, p = decoder_for(CellSpec(T.DECIMAL, length=len(raw)))(raw, 0, len(raw))
    assert (found, p) == (value, len(raw))


@pytest.mark.parametrize("raw", [b"1_0", b"NaN", b"   ", b"\xff\xff\xff", b"1e5"])
def test_old_decimal_that_is_no_number(raw: bytes) -> None:
    found, _ = decoder_for(CellSpec(T.DECIMAL, length=len(raw)))(raw, 0, len(raw))
    assert isinstance(found, Undecodable)


@given(
    st.sampled_from([(T.TINY, 1), (T.SHORT, 2), (T.INT24, 3), (T.LONG, 4), (T.LONGLONG, 8)]),
    st.booleans(),
    st.data(),
)
def test_integer_round_trip(kind: tuple[T, int], unsigned: bool, data: st.DataObject) -> None:
    """Manual, "Integer Types": TINYINT 1, SMALLINT 2, MEDIUMINT 3, INT 4, BIGINT 8 bytes."""
    code, width = kind
    raw = data.draw(st.binary(min_size=width, max_size=width))
    value, p = decoder_for(CellSpec(code, unsigned=unsigned))(memoryview(raw), 0, width)
    assert isinstance(value, int)
    assert (value.to_bytes(width, "little", signed=not unsigned), p) == (raw, width)
