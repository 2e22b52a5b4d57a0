"""Cells that hold dates and times; the forms are those of ``_kernel/temporal.py``."""

import cython
from cython.cimports.libc.string import memcpy

_MICROS = cython.declare(int64_t, 1_000_000)
_DAY_SECONDS = cython.declare(int64_t, 86_400)
_EPOCH = cython.declare(int64_t, 719_468)  # days from 0000-03-01 to 1970-01-01


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _micros(p: octets, size: cython.int) -> uint32_t:
    """A fraction of ``size`` bytes."""
    if size == 0:
        return 0
    if size == 3:
        return p[0] << 16 | p[1] << 8 | p[2]
    if size == 2:
        return (p[0] << 8 | p[1]) * 100
    return p[0] * 10_000


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _days(
    year: uint32_t, month: uint32_t, day: uint32_t, out: cython.pointer(int64_t)
) -> cython.int:
    """Days since 1970-01-01, counted in years that begin in March."""
    y: uint32_t
    m: uint32_t
    if year > 9999 or month > 12 or day > 31:
        return S_UNDECODABLE
    if year == 0 or month == 0 or day == 0:
        return S_NO_ARROW_VALUE
    if day > 28:
        if month == 2:
            if day > 29 or year & 3 or (year % 100 == 0 and year % 400):
                return S_NO_ARROW_VALUE
        elif day == 31 and (month == 4 or month == 6 or month == 9 or month == 11):
            return S_NO_ARROW_VALUE
    y = year - (month <= 2)
    m = month - 3 if month > 2 else month + 9
    out[0] = cython.cast(
        int64_t, y * 365 + y // 4 - y // 100 + y // 400 + (153 * m + 2) // 5 + day
    ) - (_EPOCH + 1)
    return S_VALUE


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _moment(
    year: uint32_t,
    month: uint32_t,
    day: uint32_t,
    hour: uint32_t,
    minute: uint32_t,
    second: uint32_t,
    micros: uint32_t,
    out: cython.pointer(uint8_t),
) -> cython.int:
    """Microseconds since 1970, in no time zone."""
    days: int64_t = 0
    clock: uint32_t
    state: cython.int = _days(year, month, day, cython.address(days))
    if hour > 23 or minute > 59 or second > 59 or micros > 999_999:
        return S_UNDECODABLE
    if state == S_VALUE:
        clock = (hour * 60 + minute) * 60 + second
        days = (days * _DAY_SECONDS + clock) * _MICROS + micros
        memcpy(out, cython.address(days), 8)
    return state


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _time(
    hour: uint32_t,
    minute: uint32_t,
    second: uint32_t,
    micros: uint32_t,
    negative: cython.bint,
    out: cython.pointer(uint8_t),
) -> cython.int:
    value: int64_t
    if hour > 838 or minute > 59 or second > 59 or micros > 999_999:
        return S_UNDECODABLE
    value = cython.cast(int64_t, (hour * 60 + minute) * 60 + second) * _MICROS + micros
    if negative:
        value = -value
    memcpy(out, cython.address(value), 8)
    return S_VALUE


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _timestamp(seconds: uint32_t, micros: uint32_t, out: cython.pointer(uint8_t)) -> cython.int:
    value: int64_t
    if micros > 999_999:
        return S_UNDECODABLE
    if seconds == 0:
        return S_NO_ARROW_VALUE
    value = cython.cast(int64_t, seconds) * _MICROS + micros
    memcpy(out, cython.address(value), 8)
    return S_VALUE


def read_date(_c, p, out):
    raw: uint32_t = p[0] | p[1] << 8 | p[2] << 16
    days: int64_t = 0
    small: int32_t
    state: cython.int = _days(raw >> 9, raw >> 5 & 15, raw & 31, cython.address(days))
    small = cython.cast(int32_t, days)
    memcpy(out, cython.address(small), 4)
    return state


def read_datetime2(c, p, out):
    months: uint32_t = cython.cast(uint32_t, (p[0] & 0x7F) << 10 | p[1] << 2 | p[2] >> 6)
    clock: uint32_t = cython.cast(uint32_t, p[2] << 16 | p[3] << 8 | p[4])
    if not p[0] & 0x80:  # the sign, set for positive
        return S_UNDECODABLE
    return _moment(
        months // 13,
        months % 13,
        clock >> 17 & 31,
        clock >> 12 & 31,
        clock >> 6 & 63,
        clock & 63,
        _micros(p + 5, c.fraction),
        out,
    )


def read_time2(c, p, out):
    """The sign covers the fraction: 0x800000 and its zeros are 0."""
    size: cython.int = c.fraction
    packed: uint64_t = cython.cast(uint64_t, p[0] << 16 | p[1] << 8 | p[2])
    offset: uint64_t = cython.cast(uint64_t, 0x800000) << (8 * size)
    negative: cython.bint = not p[0] & 0x80
    whole: uint32_t
    part: uint32_t
    i: cython.int
    for i in range(size):
        packed = packed << 8 | p[3 + i]
    packed = offset - packed if negative else packed - offset
    whole = cython.cast(uint32_t, packed >> (8 * size))
    part = cython.cast(uint32_t, packed & ((cython.cast(uint64_t, 1) << (8 * size)) - 1))
    if size == 1:
        part *= 10_000
    elif size == 2:
        part *= 100
    return _time(whole >> 12, whole >> 6 & 63, whole & 63, part, negative, out)


def read_timestamp2(c, p, out):
    seconds: uint32_t = cython.cast(uint32_t, p[0]) << 24 | p[1] << 16 | p[2] << 8 | p[3]
    return _timestamp(seconds, _micros(p + 4, c.fraction), out)


def read_old_time(_c, p, out):
    raw: uint32_t = p[0] | p[1] << 8 | p[2] << 16
    negative: cython.bint = raw >= 0x800000
    if negative:
        raw = 0x1000000 - raw
    return _time(raw // 10_000, raw // 100 % 100, raw % 100, 0, negative, out)


def read_old_datetime(_c, p, out):
    raw: uint64_t
    day: uint64_t
    clock: uint32_t
    memcpy(cython.address(raw), p, 8)
    clock = cython.cast(uint32_t, raw % 1_000_000)
    day = raw // 1_000_000
    if day > 99_999_999:
        return S_UNDECODABLE
    return _moment(
        cython.cast(uint32_t, day // 10_000),
        cython.cast(uint32_t, day // 100 % 100),
        cython.cast(uint32_t, day % 100),
        clock // 10_000,
        clock // 100 % 100,
        clock % 100,
        0,
        out,
    )


def read_old_timestamp(_c, p, out):
    seconds: uint32_t
    memcpy(cython.address(seconds), p, 4)
    return _timestamp(seconds, 0, out)
