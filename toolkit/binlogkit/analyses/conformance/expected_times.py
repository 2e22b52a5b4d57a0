"""Dates, times and moments that are not the expected ones: rules by value and bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime

from binlogkit.analyses.conformance.cell import is_integer, is_number
from binlogkit.analyses.conformance.expected_cell import ANY_DECODER, ExpectedCell, text_of
from binlogkit.analyses.conformance.rule import Kind, Rules

TIMES = Rules(ANY_DECODER)
_add = TIMES.add
_OURS = Kind.OURS
_CLOCK = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_TIMEDELTA = re.compile(r"(?:(-?\d+) days?, )?(\d+):(\d\d):(\d\d)(?:\.(\d{6}))?")
_PERIOD = re.compile(r"(-?)PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:Z|\+00:00)?")
_UNITS = (1, 1_000, 1_000_000)  # of microseconds, milliseconds, seconds
_TIMES = ("DATE", "DATETIME", "TIMESTAMP")


def _fraction(digits: str | None) -> int:
    return int((digits or "").ljust(6, "0")[:6])


def _clock(text: str) -> int:
    """The server's text of a TIME in microseconds."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError(text)
    sign, hours, minutes, seconds, digits = found.groups()
    whole = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 1_000_000
    return (whole + _fraction(digits)) * (-1 if sign else 1)


def _durations(ours: str) -> set[int]:
    """What a text can say of a duration, in microseconds."""
    found = set()
    if match := _CLOCK.fullmatch(ours):
        found.add(_clock(match[0]))
    if match := _TIMEDELTA.fullmatch(ours):
        days, hours, minutes, seconds, digits = match.groups()
        whole = ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
        found.add(whole * 1_000_000 + _fraction(digits))
    if (match := _PERIOD.fullmatch(ours)) and len(ours.lstrip("-")) > 2:
        sign, hours, minutes, seconds, digits = match.groups()
        whole = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
        found.add((whole * 1_000_000 + _fraction(digits)) * (-1 if sign else 1))
    return found


@_add(
    "time-otherwise",
    "the same TIME as a duration (838:59:59 as 34 days, 22:59:59; PT838H59M59S; seconds, "
    "milliseconds or microseconds), or with another number of fraction digits",
    "TIME",
)
def _time(cell: ExpectedCell) -> bool:
    expected = _clock(cell.expected)
    if isinstance(cell.ours, str):
        return expected in _durations(cell.ours)
    return is_number(cell.ours) and any(cell.ours * unit == expected for unit in _UNITS)


@_add(
    "negative-time-fraction",
    "the fraction of a negative TIME is stored as what is missing to the next second; ours adds it "
    "to the next one",
    "TIME",
    kind=_OURS,
)
def _negative_fraction(cell: ExpectedCell) -> bool:
    expected = _clock(cell.expected)
    fraction = -expected % 1_000_000
    wrong = expected - 1_000_000 + 2 * fraction
    return expected < 0 < fraction and wrong in _durations(text_of(cell.ours))


@_add(
    "moment-otherwise",
    "the same date or moment with T, Z or other fraction digits, or as a number: days since 1970, "
    "or seconds, milliseconds or microseconds",
    *_TIMES,
)
def _moment(cell: ExpectedCell) -> bool:
    if isinstance(cell.ours, str):
        mine = _MOMENT.fullmatch(cell.ours)
        theirs = _MOMENT.fullmatch(cell.expected)
        if mine is None:
            return False
        if theirs is None:  # a DATE
            return mine[1] == cell.expected and mine[2] == "00:00:00" and not _fraction(mine[3])
        return (
            mine[1] == theirs[1]
            and mine[2] == theirs[2]
            and _fraction(mine[3]) == _fraction(theirs[3])
        )
    if not is_number(cell.ours):
        return False
    moment = datetime.fromisoformat(cell.expected).replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    whole = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if any(cell.ours * unit == whole for unit in _UNITS):
        return True
    days = (date.fromisoformat(cell.expected[:10]) - date(1970, 1, 1)).days
    return cell.column.family == "DATE" and cell.ours == days


@_add("zero-date-as-null", "a zero date is a value, not NULL", *_TIMES, kind=_OURS)
def _zero_date(cell: ExpectedCell) -> bool:
    return cell.ours is None and str(cell.expected).startswith("0000-00-00")


@_add("zero-date-as-1970", "a zero date is no moment of 1970", *_TIMES, kind=_OURS)
def _zero_as_1970(cell: ExpectedCell) -> bool:
    if not cell.expected.startswith("0000-00-00"):
        return False
    return (is_integer(cell.ours) and cell.ours == 0) or str(cell.ours).startswith("1970-01-01")


@_add(
    "year-below-100-moved",
    "a year below 100 is that year; ours takes it for one of 1970 to 2069",
    "DATE", "DATETIME",
    kind=_OURS,
)  # fmt: skip
def _moved(cell: ExpectedCell) -> bool:
    year = int(cell.expected[:4])
    if not 0 < year < 100:
        return False
    moved = f"{year + (2000 if year < 70 else 1900)}{cell.expected[4:]}"
    return cell.ours == moved or _moment(replace(cell, expected=moved))


@_add("year-zero", "YEAR stores 0 for the year 0000, else the year less 1900", "YEAR", kind=_OURS)
def _year_zero(cell: ExpectedCell) -> bool:
    return is_integer(cell.ours) and cell.expected == 0 and cell.ours == 1900


@_add(
    "timestamp-zone",
    "TIMESTAMP is off by whole quarters of an hour: shown in a time zone other than UTC",
    "TIMESTAMP",
    kind=_OURS,
)
def _zone(cell: ExpectedCell) -> bool:
    off = datetime.fromisoformat(cell.ours) - datetime.fromisoformat(cell.expected)
    seconds = abs(off.total_seconds())
    return 0 < seconds <= 14 * 3600 and seconds % 900 == 0
