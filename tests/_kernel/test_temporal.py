"""Dates and times: what packs comes back, and what the server cannot hold is reported."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.cells import CellSpec, NoArrowValue, Undecodable
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.value_text import date_text, datetime_text, time_text
from binlogkit.constants import ColumnType as T

EPOCH = datetime(1970, 1, 1)
MICRO = timedelta(microseconds=1)
FSP = st.integers(0, 6)
YEARS = (datetime(1000, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))


def cut(micros: int, fsp: int) -> int:
    return micros - micros % int(10 ** (6 - fsp))


def packed_fraction(micros: int, fsp: int) -> tuple[int, int]:
    """The fraction as stored, and its bytes."""
    width = (fsp + 1) // 2
    return micros // {0: 10**6, 1: 10**4, 2: 100, 3: 1}[width], width


def one(kind: T, raw: bytes, fsp: int = 0) -> object:
    value, p = decoder_for(CellSpec(kind, scale=fsp))(b"\xff" + raw + b"\xff", 1, len(raw) + 2)
    assert p == len(raw) + 1
    return value


@given(st.dates(date(1, 1, 1)))
def test_date_round_trip(day: date) -> None:
    """Manual, "Data Type Storage Requirements": DATE "A three-byte integer packed as
    YYYY×16×32 + MM×32 + DD"."""
    raw = (day.year * 512 + day.month * 32 + day.day).to_bytes(3, "little")
    value = one(T.DATE, raw)
    assert value == (day - date(1970, 1, 1)).days
    assert date_text(value) == day.isoformat()


@given(st.datetimes(*YEARS), FSP)
def test_datetime_round_trip(moment: datetime, fsp: int) -> None:
    """Internals manual, "Date and Time Data Type Representation": "1 bit sign (1= non-negative, 0=
    negative)", "17 bits year*13+month (year 0-9999, month 0-12)", "5 bits day (0-31)", "5 bits hour
    (0-23)", "6 bits minute (0-59)", "6 bits second (0-59)", then the fraction."""
    moment = moment.replace(microsecond=cut(moment.microsecond, fsp))
    bits = 1
    for value, width in (
        (moment.year * 13 + moment.month, 17),
        (moment.day, 5),
        (moment.hour, 5),
        (moment.minute, 6),
        (moment.second, 6),
    ):
        bits = bits << width | value
    fraction, width = packed_fraction(moment.microsecond, fsp)
    us = one(T.DATETIME2, bits.to_bytes(5, "big") + fraction.to_bytes(width, "big"), fsp)
    assert us == (moment - EPOCH) // MICRO
    text = moment.isoformat(" ", "microseconds")[: 20 + fsp if fsp else 19]
    assert datetime_text(us, fsp) == text


@given(st.integers(1, 2**31 - 1), st.integers(0, 999_999), FSP)
def test_timestamp_round_trip(seconds: int, micros: int, fsp: int) -> None:
    """Manual, "The DATE, DATETIME, and TIMESTAMP Types": "TIMESTAMP has a range of '1970-01-01
    00:00:01' UTC to '2038-01-19 03:14:07' UTC"."""
    micros = cut(micros, fsp)
    fraction, width = packed_fraction(micros, fsp)
    raw = seconds.to_bytes(4, "big") + fraction.to_bytes(width, "big")
    assert one(T.TIMESTAMP2, raw, fsp) == seconds * 10**6 + micros
    assert one(T.TIMESTAMP, raw[3::-1]) == seconds * 10**6


@given(st.integers(-3_020_399 * 10**6, 3_020_399 * 10**6), FSP)
def test_time_round_trip(us: int, fsp: int) -> None:
    """Manual, "The TIME Type": "TIME values may range from '-838:59:59' to '838:59:59'"; internals
    manual, "Date and Time Data Type Representation": "1 bit sign (1= non-negative, 0= negative)",
    1 bit unused, "10 bits hour (0-838)", "6 bits minute (0-59)", "6 bits second (0-59)"; negative
    ones in two's complement."""
    sign = -1 if us < 0 else 1
    us = sign * cut(abs(us), fsp)
    seconds, micros = divmod(abs(us), 10**6)
    fraction, width = packed_fraction(micros, fsp)
    whole = seconds // 3600 << 12 | seconds // 60 % 60 << 6 | seconds % 60
    packed = sign * (whole << 8 * width | fraction) + (0x800000 << 8 * width)
    assert one(T.TIME2, packed.to_bytes(3 + width, "big"), fsp) == us
    text = time_text(us, fsp)
    assert text.startswith("-") == (us < 0)
    hours, minutes, rest = text.lstrip("-").split(":")
    assert len(hours) >= 2
    assert (int(hours) * 60 + int(minutes)) * 60 + int(rest[:2]) == seconds
    assert rest[2:] == (f".{micros:06d}"[: fsp + 1] if fsp else "")


@given(st.datetimes(*YEARS))
def test_old_datetime_round_trip(moment: datetime) -> None:
    """Manual, "Data Type Storage Requirements": DATETIME before 5.6.4 "Eight bytes: A four-byte
    integer for date packed as YYYY×10000 + MM×100 + DD and a four-byte integer for time packed as
    HH×10000 + MM×100 + SS"; in rows as one number of 14 digits."""
    raw = int(moment.strftime("%Y%m%d%H%M%S").zfill(14)).to_bytes(8, "little")
    assert one(T.DATETIME, raw) == (moment.replace(microsecond=0) - EPOCH) // MICRO


@given(st.integers(-838, 838), st.integers(0, 59), st.integers(0, 59))
def test_old_time_round_trip(hours: int, minutes: int, seconds: int) -> None:
    """Manual, "Data Type Storage Requirements": TIME before 5.6.4 "A three-byte integer packed as
    DD×24×3600 + HH×3600 + MM×60 + SS"; in rows as ``hhmmss``, signed."""
    sign = -1 if hours < 0 else 1
    number = sign * (abs(hours) * 10000 + minutes * 100 + seconds)
    us = sign * ((abs(hours) * 60 + minutes) * 60 + seconds) * 10**6
    assert one(T.TIME, number.to_bytes(3, "little", signed=True)) == us


@pytest.mark.parametrize(
    ("kind", "fsp", "raw", "text"),
    [
        (T.DATE, 0, "000000", "0000-00-00"),
        (T.NEWDATE, 0, "0fce0f", "2023-00-15"),
        (T.DATETIME, 0, "0000000000000000", "0000-00-00 00:00:00"),
        (T.DATETIME2, 0, "8000000000", "0000-00-00 00:00:00"),
        (T.DATETIME2, 3, "80000000000000", "0000-00-00 00:00:00.000"),
        (T.TIMESTAMP, 0, "00000000", "0000-00-00 00:00:00"),
        (T.TIMESTAMP2, 0, "00000000", "0000-00-00 00:00:00"),
        (T.TIMESTAMP2, 6, "00000000000000", "0000-00-00 00:00:00.000000"),
        (T.TIMESTAMP2, 1, "0000000032", "0000-00-00 00:00:00.0"),
    ],
)
def test_values_that_arrow_has_not(kind: T, fsp: int, raw: str, text: str) -> None:
    data = bytes.fromhex(raw)
    assert one(kind, data, fsp) == NoArrowValue(text, data)


@pytest.mark.parametrize(
    ("kind", "fsp", "raw"),
    [
        (T.DATE, 0, "a1cf0f"),  # month 13
        (T.DATE, 0, "ffffff"),  # year 32767
        (T.DATETIME2, 0, "0000000000"),  # negative
        (T.DATETIME2, 0, "ffffffffff"),
        (T.DATETIME2, 2, "99b0a0000064"),  # 100 hundredths
        (T.TIMESTAMP2, 2, "5000000064"),
        (T.TIMESTAMP2, 6, "500000000f4240"),
        (T.TIME2, 0, "80003c"),  # second 60
        (T.TIME2, 0, "bfffff"),
        (T.TIME2, 0, "000000"),
        (T.TIME, 0, "ffff7f"),
        (T.DATETIME, 0, "ffffffffffffffff"),
    ],
)
def test_values_that_no_server_holds(kind: T, fsp: int, raw: str) -> None:
    value = one(kind, bytes.fromhex(raw), fsp)
    assert isinstance(value, Undecodable)
    assert value.raw == bytes.fromhex(raw)
