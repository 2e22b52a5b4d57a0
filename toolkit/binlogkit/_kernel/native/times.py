"""Cells that hold dates and times; the forms are those of ``_kernel/temporal.py``."""

import cython
from cython.cimports.binlogkit._kernel.native.layout import (
    K_DATE,
    K_DATETIME2,
    K_OLD_DATETIME,
    K_OLD_TIME,
    K_OLD_TIMESTAMP,
    K_TIME2,
    K_TIMESTAMP2,
    S_NO_ARROW_VALUE,
    S_UNDECODABLE,
    S_VALUE,
    octets,
)
from cython.cimports.libc.stdint import int64_t, uint64_t

MICROS = cython.declare(int64_t, 1_000_000)
DAY_SECONDS = cython.declare(int64_t, 86_400)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _big(p: octets, size: cython.int) -> uint64_t:
    value: uint64_t = 0
    i: cython.int
    for i in range(size):
        value = value << 8 | p[i]
    return value


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _micros(p: octets, size: cython.int) -> uint64_t:
    """A fraction of ``size`` bytes."""
    if size == 0:
        return 0
    if size == 1:
        return cython.cast(uint64_t, p[0]) * 10_000
    if size == 2:
        return _big(p, 2) * 100
    return _big(p, 3)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _days(
    year: uint64_t, month: uint64_t, day: uint64_t, out: cython.pointer(int64_t)
) -> cython.int:
    """Days since 1970-01-01, counted in years that begin in March."""
    last: uint64_t
    y: int64_t
    era: int64_t
    of_era: int64_t
    of_year: int64_t
    if year > 9999 or month > 12 or day > 31:
        return S_UNDECODABLE
    if year == 0 or month == 0 or day == 0:
        return S_NO_ARROW_VALUE
    if month == 2:
        last = 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28
    else:
        last = 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31
    if day > last:
        return S_NO_ARROW_VALUE
    y = cython.cast(int64_t, year) - (month <= 2)
    era = y // 400
    of_era = y - era * 400
    of_year = (
        (153 * ((cython.cast(int64_t, month) + 9) % 12) + 2) // 5 + cython.cast(int64_t, day) - 1
    )
    out[0] = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    return S_VALUE


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _moment(
    year: uint64_t,
    month: uint64_t,
    day: uint64_t,
    hour: uint64_t,
    minute: uint64_t,
    second: uint64_t,
    micros: uint64_t,
    out: cython.pointer(int64_t),
) -> cython.int:
    days: int64_t = 0
    state: cython.int = _days(year, month, day, cython.address(days))
    clock: uint64_t
    if hour > 23 or minute > 59 or second > 59 or micros > 999_999:
        return S_UNDECODABLE
    if state == S_VALUE:
        clock = (hour * 60 + minute) * 60 + second
        out[0] = (days * DAY_SECONDS + cython.cast(int64_t, clock)) * MICROS + cython.cast(
            int64_t, micros
        )
    return state


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _datetime2(p: octets, size: cython.int, out: cython.pointer(int64_t)) -> cython.int:
    packed: uint64_t = _big(p, 5)
    months: uint64_t
    if not packed >> 39:  # the sign, set for positive
        return S_UNDECODABLE
    packed &= (cython.cast(uint64_t, 1) << 39) - 1
    months = packed >> 22
    return _moment(
        months // 13,
        months % 13,
        packed >> 17 & 31,
        packed >> 12 & 31,
        packed >> 6 & 63,
        packed & 63,
        _micros(p + 5, size),
        out,
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _time(
    hour: uint64_t,
    minute: uint64_t,
    second: uint64_t,
    micros: uint64_t,
    negative: cython.bint,
    out: cython.pointer(int64_t),
) -> cython.int:
    value: int64_t
    if hour > 838 or minute > 59 or second > 59 or micros > 999_999:
        return S_UNDECODABLE
    value = cython.cast(int64_t, ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
    out[0] = -value if negative else value
    return S_VALUE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _time2(p: octets, size: cython.int, out: cython.pointer(int64_t)) -> cython.int:
    packed: uint64_t = _big(p, 3 + size)
    offset: uint64_t = cython.cast(uint64_t, 0x800000) << (8 * size)
    negative: cython.bint = packed < offset
    whole: uint64_t
    part: uint64_t
    packed = offset - packed if negative else packed - offset
    whole = packed >> (8 * size)
    part = packed & ((cython.cast(uint64_t, 1) << (8 * size)) - 1)
    if size == 1:
        part *= 10_000
    elif size == 2:
        part *= 100
    return _time(whole >> 12, whole >> 6 & 63, whole & 63, part, negative, out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _timestamp(seconds: uint64_t, micros: uint64_t, out: cython.pointer(int64_t)) -> cython.int:
    if micros > 999_999:
        return S_UNDECODABLE
    if seconds == 0:
        return S_NO_ARROW_VALUE
    out[0] = cython.cast(int64_t, seconds * 1_000_000 + micros)
    return S_VALUE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _little(p: octets, size: cython.int) -> uint64_t:
    value: uint64_t = 0
    i: cython.int
    for i in range(size):
        value |= cython.cast(uint64_t, p[i]) << (8 * i)
    return value


def temporal(c, p, out):
    """The state of a temporal cell, and its days or microseconds."""
    kind: cython.int = c.kind
    raw: uint64_t
    clock: uint64_t
    signed: int64_t
    if kind == K_DATETIME2:
        return _datetime2(p, c.fraction, out)
    elif kind == K_TIMESTAMP2:
        return _timestamp(_big(p, 4), _micros(p + 4, c.fraction), out)
    elif kind == K_DATE:
        raw = _little(p, 3)
        return _days(raw >> 9, raw >> 5 & 15, raw & 31, out)
    elif kind == K_TIME2:
        return _time2(p, c.fraction, out)
    elif kind == K_OLD_TIME:
        signed = cython.cast(int64_t, _little(p, 3))
        if signed >= 0x800000:
            signed -= 0x1000000
        raw = cython.cast(uint64_t, -signed if signed < 0 else signed)
        return _time(raw // 10_000, raw // 100 % 100, raw % 100, 0, signed < 0, out)
    elif kind == K_OLD_DATETIME:
        raw = _little(p, 8)
        clock = raw % 1_000_000
        raw = raw // 1_000_000
        return _moment(
            raw // 10_000,
            raw // 100 % 100,
            raw % 100,
            clock // 10_000,
            clock // 100 % 100,
            clock % 100,
            0,
            out,
        )
    elif kind == K_OLD_TIMESTAMP:
        return _timestamp(_little(p, 4), 0, out)
    return S_UNDECODABLE
