"""Values of the contract's records as JSON text and as text for people.

The forms are those of docs/records.md: 64-bit integers exact, floats by their
shortest digits, bytes as ``0x…`` in upper case, DECIMAL and dates as text. JSON here is UTF-8 on
one line and holds no NaN, no lone surrogate, and no raw control or bidirectional character: what
JSON does not escape by itself is escaped as ``\\uXXXX``, which every reader reads as the same
character.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from binlogkit._kernel.value_text import hex_text, not_finite, time_text
from binlogkit.errors import printable

# Raw in JSON though not safe on a terminal or to a reader that splits at Unicode line ends: DEL,
# C1 controls (0x9B starts an escape sequence), line and paragraph separators, format characters.
_UNSAFE = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MICROSECONDS = 1_000_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def iso_time(value: object, unit: str) -> object:
    """A time since 1970 as ISO 8601 in UTC, ``2026-01-02T03:04:05Z``; other values stay as they
    are.

    ``unit``: ``s`` or ``us``, which shows six more digits; ``value``: a number, or pandas' time.
    """
    micro = unit == "us"
    try:
        if isinstance(value, int):
            value = _EPOCH + dt.timedelta(microseconds=value if micro else value * _MICROSECONDS)
    except OverflowError:
        return value
    if not isinstance(value, dt.datetime):
        return value
    shown = value.astimezone(dt.UTC).replace(tzinfo=None)
    return f"{shown.isoformat(timespec='microseconds' if micro else 'seconds')}Z"


def moment(seconds: int) -> str:
    """Seconds since 1970 for people: ``2024-05-14 14:03:07 UTC``."""
    return str(iso_time(seconds, "s")).replace("T", " ").replace("Z", " UTC")


def plain(value: object) -> Any:
    """``value`` of any type that a record may hold, as the contract's JSON types.

    TypeError: a type that no record holds.
    """
    if isinstance(value, str):
        return _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", str(value))
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else not_finite(value)
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return _scalar(value)


def _scalar(value: object) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return hex_text(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date | dt.time | UUID):
        return str(value)
    if isinstance(value, dt.timedelta):
        us = value // dt.timedelta(microseconds=1)
        return time_text(us, 6 if us % _MICROSECONDS else 0)
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        # A float32's own digits, not those of the double that it widens to.
        return plain(float(str(value)) if type(value).__name__ == "float32" else value.item())
    raise TypeError(f"no form for a value of type {type(value).__name__} in a record")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    check_circular=False,
    separators=(",", ":"),
    default=_scalar,
)


def json_text(value: object) -> str:
    """``value`` as JSON on one line that can always be encoded as UTF-8."""
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError):  # a NaN, or a key that is no string
        text = _ENCODER.encode(plain(value))
    if text.isprintable():
        return text
    if _SURROGATE.search(text):
        text = _ENCODER.encode(plain(value))
    return _UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def cell_text(value: object) -> str:
    """``value`` as the text of one cell, exact: None is empty, nested values are JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return str(plain(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and math.isfinite(value):
        return repr(float(value))
    value = plain(value)
    return value if isinstance(value, str) else json_text(value)


def printable_cell(value: object) -> str:
    """``value`` as text on one line that is safe on a terminal; an empty string is shown as
    ``''``."""
    text = "''" if value == "" else cell_text(value)
    return printable(text)
