"""A user's value -> an Arrow scalar to compare a column with, by the column's type."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.frames.arrow_types import DECIMAL256_DIGITS, decimal_type

#: A column, cast where that is needed, and a scalar of its type.
Pair: TypeAlias = "tuple[pa.Array, pa.Scalar]"

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_TIME = re.compile(r"(-?)(\d{1,3}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?", re.ASCII)
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?)?", re.ASCII)
_HEX = re.compile(r"0[xX]((?:[0-9a-fA-F]{2})*)")
_INTEGER_DIGITS = 20  # of 64 bits
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Misfit(Exception):
    """The value is none of the column's type; the text says what it is not."""


def pair_of(array: pa.Array, kind: str, value: Any) -> Pair:
    """The column and the value as one type. ``kind``: one of frames.schema.KINDS, ``seconds`` or
    ``microseconds``."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kind == "decimal" and pa.types.is_string(array.type):  # as Spark carries long ones
        return _by_distinct(_digits)(array, value)
    number = pa.types.is_integer(array.type) and kind in ("enum", "set")
    return _numeric(array, value) if number else _BY_KIND[kind](array, value)


def as_written(value: Any) -> str | None:
    """A date that no calendar has (``0000-00-00``), as the server writes it; None for others."""
    if not isinstance(value, str) or not _WRITTEN.fullmatch(value):
        return None
    day, _, clock = value.replace("T", " ").partition(" ")
    whole, _, fraction = clock.partition(".")
    fraction = fraction.rstrip("0")
    clock = whole + (f".{fraction}" if fraction else "")
    return day if clock in ("", "00:00:00") else f"{day} {clock}"


# ---- numbers -------------------------------------------------------------------------------


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal) and value.is_finite():
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return Decimal(repr(value))
    try:
        return Decimal(operator.index(value))
    except TypeError:
        raise Misfit("a number") from None


def _numeric(array: pa.Array, value: Any) -> Pair:
    number, kind = _decimal(value), array.type
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale, whole = max(0, -exponent), max(0, len(digits) + exponent)
    if pa.types.is_integer(kind):
        with suppress(pa.ArrowInvalid, OverflowError):
            if number == int(number):
                return array, pa.scalar(int(number), kind)
        own_digits, own_scale = _INTEGER_DIGITS, 0
    else:
        own_digits, own_scale = kind.precision, kind.scale
        if scale <= own_scale and whole <= own_digits - own_scale:
            return array, pa.scalar(number, kind)
    scale = max(scale, own_scale)
    precision = max(whole, own_digits - own_scale) + scale
    if precision > DECIMAL256_DIGITS:
        raise Misfit(f"a number of up to {DECIMAL256_DIGITS} digits")
    common = decimal_type(precision, scale)
    return array.cast(common), pa.scalar(number, common)


def _digits(value: Any) -> str:
    """A number in one way of writing."""
    number = _decimal(value)
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if number else "0"


# ---- times ---------------------------------------------------------------------------------


def _moment(value: Any, what: str) -> datetime:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise Misfit(what) from None
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise Misfit(what)


def _date(array: pa.Array, value: Any) -> Pair:
    moment = _local(value, "a date")
    if moment.time() == time():
        return array, pa.scalar(moment.date(), array.type)
    return array.cast(pa.timestamp("us")), pa.scalar(moment, pa.timestamp("us"))


def _local(value: Any, what: str) -> datetime:
    moment = _moment(value, what)
    if moment.tzinfo is not None:
        raise Misfit(f"{what} without a time zone, as the column has none")
    return moment


def _utc(value: Any) -> datetime:
    moment = _moment(value, "a date and time")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _since(unit: int) -> Callable[[pa.Array, Any], Pair]:
    """A time that is an integer in the column, ``unit`` microseconds each: a number is compared as
    it is."""

    def pair(array: pa.Array, value: Any) -> Pair:
        if not isinstance(value, (str, date)):
            return _numeric(array, value)
        scaled = array if unit == 1 else pc.multiply(array, unit)
        return scaled, pa.scalar((_utc(value) - _EPOCH) // timedelta(microseconds=1), pa.int64())

    return pair


def _duration(array: pa.Array, value: Any) -> Pair:
    if isinstance(value, time):
        value = value.isoformat()
    if isinstance(value, str) and (match := _TIME.fullmatch(value)):
        sign, hours, minutes, seconds, fraction = match.groups()
        value = timedelta(
            hours=int(hours), minutes=int(minutes), seconds=int(seconds or 0),
            microseconds=int((fraction or "").ljust(6, "0")),
        )  # fmt: skip
        value = -value if sign else value
    if not isinstance(value, timedelta):
        raise Misfit("a time of day or an interval, HH:MM:SS")
    return array, pa.scalar(value // timedelta(microseconds=1), pa.duration("us"))


# ---- texts and bytes -----------------------------------------------------------------------


def _text(array: pa.Array, value: Any) -> Pair:
    if not isinstance(value, str):
        raise Misfit("a text")
    return array, pa.scalar(value, array.type)


def _bytes(array: pa.Array, value: Any) -> Pair:
    if isinstance(value, str) and (match := _HEX.fullmatch(value)):
        value = bytes.fromhex(match[1])
    if not isinstance(value, (bytes, bytearray)):
        raise Misfit("bytes, written as 0x…")
    return array, pa.scalar(bytes(value), array.type)


def _by_distinct(make: Callable[[Any], str]) -> Callable[[pa.Array, Any], Pair]:
    """Texts that are the same though written otherwise: each becomes its canonical one."""

    def pair(array: pa.Array, value: Any) -> Pair:
        encoded = array.dictionary_encode()
        words = [_made(make, text) for text in encoded.dictionary.to_pylist()]
        cells = pa.array(words, pa.string()).take(encoded.indices)
        return cells, pa.scalar(make(value), pa.string())

    return pair


def _made(make: Callable[[Any], str], text: str) -> str:
    try:
        return make(text)
    except Misfit:
        return text


def members(value: Any) -> str:
    """A SET's labels in an order of their own."""
    if not isinstance(value, str):
        raise Misfit("labels joined by commas")
    return ",".join(sorted(set(value.split(","))))


def _json(value: Any) -> str:
    """A JSON document in one way of writing."""
    import json

    try:
        document = json.loads(value) if isinstance(value, str) else value
        return json.dumps(document, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        raise Misfit("a JSON document") from None


_BY_KIND: dict[str, Callable[[Any, Any], Pair]] = {
    **dict.fromkeys(("integer", "year", "bit", "decimal"), _numeric),
    **dict.fromkeys(
        ("float", "double"),
        lambda array, v: (array, pa.scalar(float(_decimal(v))).cast(array.type, safe=False)),
    ),
    **dict.fromkeys(("text", "enum"), _text),
    **dict.fromkeys(("binary", "geometry", "vector"), _bytes),
    "date": _date,
    "datetime": lambda array, v: (array, pa.scalar(_local(v, "a date and time"), array.type)),
    "timestamp": lambda array, v: (array, pa.scalar(_utc(v), array.type)),
    "time": _duration,
    "seconds": _since(1_000_000),
    "microseconds": _since(1),
    "set": _by_distinct(members),
    "json": _by_distinct(_json),
}
