"""The server's own text of values that the kernel keeps as numbers.

Forms as of 5.7.22 and 8.0.31 (SELECT of each type): ``YYYY-MM-DD``, ``YYYY-MM-DD hh:mm:ss[.f…]``,
``[-]hh:mm:ss[.f…]`` with two or three digits of hours; the fraction has the declared digits.
"""

from __future__ import annotations

import struct
from datetime import date
from decimal import Decimal

UNIX_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
MICROS = 1_000_000
DAY_MICROS = 86_400 * MICROS


def date_text(days: int) -> str:
    """The text of a DATE. ``days``: since 1970-01-01."""
    return date.fromordinal(days + UNIX_EPOCH_ORDINAL).isoformat()


def datetime_text(us: int, fsp: int) -> str:
    """The text of a DATETIME or, in UTC, of a TIMESTAMP. ``us``: since 1970-01-01 00:00:00."""
    days, rest = divmod(us, DAY_MICROS)
    return f"{date_text(days)} {_clock(rest, fsp)}"


def time_text(us: int, fsp: int) -> str:
    """The text of a TIME. ``us``: signed; the sign covers the fraction."""
    return f"-{_clock(-us, fsp)}" if us < 0 else _clock(us, fsp)


def not_finite(value: float) -> dict[str, str]:
    """A float that neither SQL nor JSON has: only a crafted log holds it, so show its bytes."""
    stored = struct.pack("<d", value).hex().upper()
    return {"undecodable": f"0x{stored}", "reason": "not a finite number"}


def hex_text(data: bytes | bytearray | memoryview) -> str:
    """Bytes as records have them."""
    return "0x" + data.hex().upper()


def decimal_text(value: Decimal) -> str:
    """The text of a DECIMAL, with all digits of its scale and never an exponent."""
    return format(value, "f")


def _clock(us: int, fsp: int) -> str:
    seconds, micros = divmod(us, MICROS)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}{fraction(micros, fsp)}"


def fraction(micros: int, fsp: int) -> str:
    """``.`` and the first ``fsp`` digits of ``micros``; nothing for 0 digits."""
    return f".{micros:06d}"[: fsp + 1] if fsp else ""
