"""Cells that hold dates and times, in the forms from 5.6.4 on and in those before.

The new forms are big-endian bit fields with 0 to 3 bytes of fraction after them (manual, "Data
Type Storage Requirements"; server's ``my_time_packed_to_binary``). The old ones are
little-endian: DATE a bit field, TIME ``hhmmss`` and DATETIME ``YYYYMMDDhhmmss`` as decimal digits,
TIMESTAMP seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from binlogkit._kernel.cells import CellSpec, Layout, NoArrowValue, Reader, Undecodable, fixed
from binlogkit._kernel.metadata import check_fsp
from binlogkit._kernel.value_text import (
    DAY_MICROS,
    MICROS,
    UNIX_EPOCH_ORDINAL,
    datetime_text,
    fraction,
)
from binlogkit.constants import ColumnType as T

MAX_YEAR = 9999
MAX_HOUR = 838
_FRACTION_UNIT = {0: 0, 1: 10_000, 2: 100, 3: 1}  # microseconds by bytes of fraction
_TIME_OFFSET = 0x800000
_DATETIME_OFFSET = 0x8000000000


def civil_days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01, or None for a date that is zero, incomplete or impossible."""
    try:
        return date(year, month, day).toordinal() - UNIX_EPOCH_ORDINAL
    except ValueError:
        return None


def date_error(year: int, month: int, day: int) -> str | None:
    """Why the server can't hold this date in any sql_mode, or None."""
    if year > MAX_YEAR or month > 12 or day > 31:
        return f"year {year}, month {month}, day {day}"
    return None


def clock_error(hour: int, minute: int, second: int, micros: int) -> str | None:
    """Why this is no time of a day, or None."""
    if hour > 23 or minute > 59 or second > 59 or not 0 <= micros < MICROS:
        return f"hour {hour}, minute {minute}, second {second}, {micros} microseconds"
    return None


def new_date(_spec: CellSpec) -> tuple[Layout, Reader]:
    """DATE: days since 1970-01-01. Bits: year 15, month 4, day 5."""

    def read(raw: bytes) -> object:
        packed = int.from_bytes(raw, "little")
        year, month, day = packed >> 9, packed >> 5 & 15, packed & 31
        if error := date_error(year, month, day):
            return Undecodable(raw, error)
        days = civil_days(year, month, day)
        if days is None:
            return NoArrowValue(f"{year:04d}-{month:02d}-{day:02d}", raw)
        return days

    return fixed(3), read


def datetime2(spec: CellSpec) -> tuple[Layout, Reader]:
    """DATETIME: microseconds since 1970-01-01 00:00:00.

    Bits: sign 1 (always set), year * 13 + month 17, day 5, hour 5, minute 6, second 6.
    """
    width = _fraction_width(spec)

    def read(raw: bytes) -> object:
        packed = int.from_bytes(raw[:5], "big") - _DATETIME_OFFSET
        if packed < 0:
            return Undecodable(raw, "a negative DATETIME")
        micros = int.from_bytes(raw[5:], "big") * _FRACTION_UNIT[width]
        ymd = (*divmod(packed >> 22, 13), packed >> 17 & 31)
        hms = (packed >> 12 & 31, packed >> 6 & 63, packed & 63, micros)
        return _datetime(raw, spec.scale, ymd, hms)

    return fixed(5 + width), read


def old_datetime(_spec: CellSpec) -> tuple[Layout, Reader]:
    """DATETIME before 5.6.4: microseconds since 1970-01-01 00:00:00."""

    def read(raw: bytes) -> object:
        days, clock = divmod(int.from_bytes(raw, "little"), 1_000_000)
        ymd = (days // 10_000, days // 100 % 100, days % 100)
        return _datetime(raw, 0, ymd, (clock // 10_000, clock // 100 % 100, clock % 100, 0))

    return fixed(8), read


def _datetime(
    raw: bytes, fsp: int, ymd: tuple[int, int, int], hms: tuple[int, int, int, int]
) -> object:
    error = date_error(*ymd) or clock_error(*hms)
    if error:
        return Undecodable(raw, error)
    hour, minute, second, micros = hms
    days = civil_days(*ymd)
    if days is None:
        text = "{:04d}-{:02d}-{:02d} ".format(*ymd)
        return NoArrowValue(
            f"{text}{hour:02d}:{minute:02d}:{second:02d}{fraction(micros, fsp)}", raw
        )
    return days * DAY_MICROS + ((hour * 60 + minute) * 60 + second) * MICROS + micros


def timestamp2(spec: CellSpec) -> tuple[Layout, Reader]:
    """TIMESTAMP: microseconds since 1970-01-01 00:00:00 UTC; seconds of 0 are the zero date."""
    width = _fraction_width(spec)
    zero = _zero_datetime(spec.scale)

    def read(raw: bytes) -> object:
        seconds = int.from_bytes(raw[:4], "big")
        micros = int.from_bytes(raw[4:], "big") * _FRACTION_UNIT[width]
        if micros >= MICROS:
            return Undecodable(raw, f"{micros} microseconds")
        if not seconds:
            return NoArrowValue(zero, raw)
        return seconds * MICROS + micros

    return fixed(4 + width), read


def old_timestamp(_spec: CellSpec) -> tuple[Layout, Reader]:
    """TIMESTAMP before 5.6.4: microseconds since 1970-01-01 00:00:00 UTC."""
    zero = _zero_datetime(0)

    def read(raw: bytes) -> object:
        seconds = int.from_bytes(raw, "little")
        return seconds * MICROS if seconds else NoArrowValue(zero, raw)

    return fixed(4), read


def time2(spec: CellSpec) -> tuple[Layout, Reader]:
    """TIME: signed microseconds.

    Bits: sign 1 (set for positive), unused 1, hour 10, minute 6, second 6. A negative value is the
    two's complement over all bytes, so the sign covers the fraction; with 1 to 4 digits the
    server keeps whole and fraction apart, which comes to the same bits.
    """
    width = _fraction_width(spec)
    unit = _FRACTION_UNIT[width]

    def read(raw: bytes) -> object:
        packed = int.from_bytes(raw, "big") - (_TIME_OFFSET << 8 * width)
        whole, part = divmod(abs(packed), 1 << 8 * width)
        hour, minute, second, micros = whole >> 12, whole >> 6 & 63, whole & 63, part * unit
        if hour > MAX_HOUR or minute > 59 or second > 59 or micros >= MICROS:
            reason = f"hour {hour}, minute {minute}, second {second}, {micros} microseconds"
            return Undecodable(raw, reason)
        us = ((hour * 60 + minute) * 60 + second) * MICROS + micros
        return -us if packed < 0 else us

    return fixed(3 + width), read


def old_time(_spec: CellSpec) -> tuple[Layout, Reader]:
    """TIME before 5.6.4: signed microseconds."""

    def read(raw: bytes) -> object:
        packed = int.from_bytes(raw, "little", signed=True)
        size = abs(packed)
        hour, minute, second = size // 10_000, size // 100 % 100, size % 100
        if hour > MAX_HOUR or minute > 59 or second > 59:
            return Undecodable(raw, f"hour {hour}, minute {minute}, second {second}")
        us = ((hour * 60 + minute) * 60 + second) * MICROS
        return -us if packed < 0 else us

    return fixed(3), read


def _fraction_width(spec: CellSpec) -> int:
    check_fsp(spec.scale)
    return (spec.scale + 1) // 2


def _zero_datetime(fsp: int) -> str:
    return "0000-00-00" + datetime_text(0, fsp)[len("1970-01-01") :]


readers: dict[T, Callable[[CellSpec], tuple[Layout, Reader]]] = {
    T.DATE: new_date,
    T.NEWDATE: new_date,
    T.TIME: old_time,
    T.DATETIME: old_datetime,
    T.TIMESTAMP: old_timestamp,
    T.TIME2: time2,
    T.DATETIME2: datetime2,
    T.TIMESTAMP2: timestamp2,
}
