"""Numbers, bits and labels that are not the expected ones: rules by value and bytes."""

from __future__ import annotations

import math
import re
import struct
from base64 import b64decode
from decimal import Decimal, InvalidOperation
from typing import Any

from binlogkit.analyses.conformance.cell import is_integer, is_number
from binlogkit.analyses.conformance.expected_cell import ANY_DECODER, ExpectedCell, text_of
from binlogkit.analyses.conformance.rule import Kind, Rules

NUMBERS = Rules(ANY_DECODER)
_add = NUMBERS.add
_OURS = Kind.OURS
_DOUBLE_EXACT = 1 << 53
_WHOLE = ("INT", "YEAR", "BIT", "ENUM", "SET")
_REAL = ("FLOAT", "DOUBLE")


@_add("negative-zero", "the log has -0, ours 0: the sign is lost", *_REAL, kind=_OURS)
def _negative_zero(cell: ExpectedCell) -> bool:
    return (
        is_number(cell.ours)
        and cell.ours == cell.expected == 0
        and math.copysign(1, cell.expected) < 0 < math.copysign(1, cell.ours)
    )


@_add("number-as-text", "the same number as text", *_WHOLE, *_REAL)
def _number_as_text(cell: ExpectedCell) -> bool:
    if not isinstance(cell.ours, str) or not is_number(cell.expected):
        return False
    if is_integer(cell.expected):
        return bool(Decimal(cell.ours) == cell.expected)
    return repr(float(cell.ours)) == repr(float(cell.expected)) or _single(cell, float(cell.ours))


@_add("double-written-out", "the same double as an integer: 1e+100 written out", *_REAL)
def _written_out(cell: ExpectedCell) -> bool:
    return is_integer(cell.ours) and repr(float(cell.ours)) == repr(float(cell.expected))


@_add(
    "float-widened", "the stored single-precision number with other or a double's digits", "FLOAT"
)
def _widened(cell: ExpectedCell) -> bool:
    return is_number(cell.ours) and _single(cell, float(cell.ours))


def _single(cell: ExpectedCell, number: float) -> bool:
    """Whether a number has the bytes of a FLOAT's cell."""
    try:
        return cell.column.family == "FLOAT" and struct.pack("<f", number) == cell.raw
    except OverflowError:
        return False


@_add("integer-as-double", "the same integer as a floating point number", *_WHOLE)
def _as_double(cell: ExpectedCell) -> bool:
    return (
        isinstance(cell.ours, float)
        and cell.ours == cell.expected
        and abs(cell.expected) <= _DOUBLE_EXACT
    )


@_add(
    "unsigned-shown-negative",
    "the value is unsigned, ours is the signed reading of its bytes: BIT(64) or SET as -1",
    "INT", "BIT", "SET", "ENUM",
    kind=_OURS,
)  # fmt: skip
def _signed(cell: ExpectedCell) -> bool:
    if cell.raw is None or not is_integer(cell.ours) or cell.ours >= 0:
        return False
    order: Any = "big" if cell.column.family == "BIT" else "little"
    return bool(int.from_bytes(cell.raw, order, signed=True) == cell.ours)


@_add("bits-as-text", "BIT as its bits, the highest first", "BIT")
def _bits(cell: ExpectedCell) -> bool:
    return isinstance(cell.ours, str) and int(cell.ours, 2) == cell.expected


@_add("number-as-boolean", "BIT(1), or 0 and 1 of a TINYINT(1), as true or false", "BIT", "INT")
def _boolean(cell: ExpectedCell) -> bool:
    return isinstance(cell.ours, bool) and cell.expected == int(cell.ours)


@_add(
    "boolean-of-number", "a TINYINT(1) holds more than 0 and 1; ours says true of it", "INT",
    kind=_OURS,
)  # fmt: skip
def _truth(cell: ExpectedCell) -> bool:
    return cell.ours is True and is_integer(cell.expected) and cell.expected not in (0, 1)


@_add("bits-low-byte-first", "BIT as bytes in Base64, the lowest first", "BIT")
def _low_first(cell: ExpectedCell) -> bool:
    return cell.raw is not None and b64decode(text_of(cell.ours), validate=True) == cell.raw[::-1]


@_add(
    "set-or-enum-as-number",
    "the bits of a SET, or the index of an ENUM, as a number or its digits",
    "SET",
    "ENUM",
)
def _labels(cell: ExpectedCell) -> bool:
    digits = isinstance(cell.ours, str) and cell.ours.isascii() and cell.ours.isdecimal()
    if cell.raw is None or not (is_integer(cell.ours) or digits):
        return False
    return int.from_bytes(cell.raw, "little") == int(cell.ours)


@_add(
    "label-escaped", "a label with backslashes before commas or quotes, which it does not have",
    "SET", "ENUM",
    kind=_OURS,
)  # fmt: skip
def _escaped(cell: ExpectedCell) -> bool:
    return text_of(cell.expected) == re.sub(r"\\([,\"'])", r"\1", text_of(cell.ours))


@_add("set-as-list", "a SET's labels as a list", "SET", "ENUM")
def _set_list(cell: ExpectedCell) -> bool:
    labels = cell.expected.split(",") if any(cell.raw or b"") else []  # "" may be a label
    return isinstance(cell.ours, list) and sorted(map(str, cell.ours)) == sorted(labels)


@_add("decimal-as-number", "a DECIMAL as a JSON number of the same value", "DECIMAL")
def _decimal_number(cell: ExpectedCell) -> bool:
    return is_number(cell.ours) and Decimal(repr(cell.ours)) == Decimal(cell.expected)


@_add(
    "decimal-as-unscaled-bytes",
    "a DECIMAL without its point, as the Base64 of a signed integer's bytes, the highest first",
    "DECIMAL",
)
def _decimal_bytes(cell: ExpectedCell) -> bool:
    stored = b64decode(text_of(cell.ours), validate=True)
    whole = int(cell.expected.replace(".", ""))
    return bool(stored) and int.from_bytes(stored, "big", signed=True) == whole


@_add("decimal-scale", "the same number without its declared scale", "DECIMAL", kind=_OURS)
def _decimal_scale(cell: ExpectedCell) -> bool:
    try:
        return isinstance(cell.ours, str) and Decimal(cell.ours) == Decimal(cell.expected)
    except InvalidOperation:
        return False
