"""Cells that hold numbers: integers, BIT, YEAR, FLOAT, DOUBLE and DECIMAL.

Integers are little-endian, BIT and DECIMAL big-endian. A DECIMAL is stored in groups of 9 digits,
4 bytes each, what is left over in as few bytes as hold it; the first bit is inverted, and all bits
are for a negative number (server's ``strings/decimal.c``, ``decimal2bin``).
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from functools import cache

from binlogkit._kernel.cells import CellSpec, Layout, Reader, Undecodable, fixed
from binlogkit._kernel.metadata import MAX_BIT_WIDTH, check_decimal
from binlogkit.constants import ColumnType as T

#: Bytes of the integers.
INTEGER_WIDTHS = {T.TINY: 1, T.SHORT: 2, T.INT24: 3, T.LONG: 4, T.LONGLONG: 8}
_GROUP_DIGITS = 9
# Bytes of a group of 0, 1, … 9 digits.
_GROUP_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_YEAR_BASE = 1900
_OLD_DECIMAL = re.compile(rb" *(-?[0-9]+(?:\.[0-9]+)?)")


def integer(spec: CellSpec) -> tuple[Layout, Reader]:
    """TINYINT … BIGINT: int."""
    signed = not spec.unsigned

    def read(raw: bytes) -> int:
        return int.from_bytes(raw, "little", signed=signed)

    return fixed(INTEGER_WIDTHS[spec.type]), read


def year(_spec: CellSpec) -> tuple[Layout, Reader]:
    """YEAR: int, 0 or 1901-2155 (manual, "The YEAR Type")."""

    def read(raw: bytes) -> int:
        return raw[0] + _YEAR_BASE if raw[0] else 0

    return fixed(1), read


def bit(spec: CellSpec) -> tuple[Layout, Reader]:
    """BIT(n): int. ``spec.length``: n."""
    width = spec.length
    if not 1 <= width <= MAX_BIT_WIDTH:
        raise ValueError(f"a BIT of {width} bits")

    def read(raw: bytes) -> object:
        value = int.from_bytes(raw, "big")
        if value >> width:
            return Undecodable(raw, f"a bit beyond the {width} of its BIT is set")
        return value

    return fixed((width + 7) // 8), read


def floating(spec: CellSpec) -> tuple[Layout, Reader]:
    """FLOAT and DOUBLE: float; NaN and infinities are none of theirs."""
    form = struct.Struct("<f" if spec.type is T.FLOAT else "<d")

    def read(raw: bytes) -> object:
        (value,) = form.unpack(raw)
        if not math.isfinite(value):
            return Undecodable(raw, f"{value} is no value of {spec.type.name}")
        return value

    return fixed(form.size), read


def decimal(spec: CellSpec) -> tuple[Layout, Reader]:
    """DECIMAL: Decimal with exactly the declared scale."""
    precision, scale = spec.precision, spec.scale
    check_decimal(precision, scale)

    def read(raw: bytes) -> object:
        try:
            return read_decimal(raw, precision, scale)
        except ValueError as exc:
            return Undecodable(raw, str(exc))

    return fixed(decimal_size(precision, scale)), read


def old_decimal(spec: CellSpec) -> tuple[Layout, Reader]:
    """DECIMAL of tables made before 5.0: decimal digits as text, padded on the left.

    The log does not hold its length (its metadata is empty), so without ``spec.length`` nothing
    after it can be read.
    """
    if spec.length < 1:
        raise ValueError("the log does not record the length of a DECIMAL created before MySQL 5.0")

    def read(raw: bytes) -> object:
        match = _OLD_DECIMAL.fullmatch(raw)
        if match is None:
            return Undecodable(raw, "no decimal digits")
        return Decimal(match[1].decode("ascii"))

    return fixed(spec.length), read


def decimal_size(precision: int, scale: int) -> int:
    """The bytes of a DECIMAL(precision, scale)."""
    return sum(size for _, size in groups(precision, scale))


def read_decimal(raw: bytes, precision: int, scale: int) -> Decimal:
    """A packed DECIMAL of ``decimal_size(precision, scale)`` bytes.

    ValueError: a group holds more digits than it has.
    """
    negative = not raw[0] & 0x80
    flip = 0xFF if negative else 0
    plain = bytes([raw[0] ^ 0x80 ^ flip, *(b ^ flip for b in raw[1:])])
    number = 0
    p = 0
    for digits, size in groups(precision, scale):
        group = int.from_bytes(plain[p : p + size], "big")
        if group >= 10**digits:
            raise ValueError(f"{group} in a group of {digits} decimal digits")
        number = number * 10**digits + group
        p += size
    # From text: exact whatever the context of the process says.
    return Decimal(f"{'-' * negative}{number}e-{scale}")


@cache
def groups(precision: int, scale: int) -> tuple[tuple[int, int], ...]:
    """(digits, bytes) of each group of a DECIMAL, first to last."""
    whole, rest = divmod(precision - scale, _GROUP_DIGITS)
    fraction, tail = divmod(scale, _GROUP_DIGITS)
    digits = [rest] * (rest > 0) + [_GROUP_DIGITS] * (whole + fraction) + [tail] * (tail > 0)
    return tuple((n, _GROUP_BYTES[n]) for n in digits)


readers = {
    **dict.fromkeys(INTEGER_WIDTHS, integer),
    T.YEAR: year,
    T.BIT: bit,
    **dict.fromkeys((T.FLOAT, T.DOUBLE), floating),
    T.NEWDECIMAL: decimal,
    T.DECIMAL: old_decimal,
}
