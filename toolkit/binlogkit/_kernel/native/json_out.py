"""The scalars of a JSON document as the server prints them; see ``_kernel/json_binary.py``."""

import cython
from cython.cimports.binlogkit._kernel.native.digits import put_number
from cython.cimports.binlogkit._kernel.native.texts import valid_utf8
from cython.cimports.binlogkit._kernel.native.values import reserve
from cython.cimports.libc.math import fabs, isfinite, signbit
from cython.cimports.libc.stdio import snprintf
from cython.cimports.libc.stdlib import strtod
from cython.cimports.libc.string import memcpy, memset

_HEX = cython.declare(cython.p_const_char, b"0123456789abcdef")
_MAX_EXACT = cython.declare(cython.double, 1e15)
_LEAST_NORMAL = cython.declare(cython.double, 2.2250738585072014e-308)
_MAX_DIGITS = cython.declare(cython.int, 17)


def invalid(o):
    """The bytes are no document; False."""
    o.failure = -1
    return False


def make_room(o, size):
    """Room for ``size`` more bytes, none of which counts less than a character; or why not."""
    used: int64_t = o.out - o.v.data
    stop: int64_t
    if size > o.most - used:
        return invalid(o)
    if size > MAX_DATA - used:
        o.failure = E_FULL
        return False
    o.v.used = used
    if not reserve(o.v, size):
        o.failure = E_MEMORY
        return False
    stop = min(o.v.capacity - SLACK, o.most)
    o.out = o.v.data + used
    o.limit = o.v.data + min(stop, MAX_DATA)
    return True


def escaped(byte, out):
    """The escape of a character; how long it is."""
    short: cython.char = 0
    if byte == 0x22 or byte == 0x5C:
        short = byte
    elif byte == 8:
        short = 0x62
    elif byte == 9:
        short = 0x74
    elif byte == 10:
        short = 0x6E
    elif byte == 12:
        short = 0x66
    elif byte == 13:
        short = 0x72
    out[0] = 0x5C
    if short:
        out[1] = short
        return 2
    memcpy(out + 1, cython.cast(cython.p_const_char, b"u00"), 3)
    out[4] = _HEX[byte >> 4]
    out[5] = _HEX[byte & 15]
    return 6


def quoted_slowly(o, p, size):
    """What ``quoted`` does, where something stands in the way."""
    end: octets = p + size
    start: octets
    extra: int64_t
    escape: cython.char[8]
    if not put(o, b'"', 1):
        return False
    if not valid_utf8(p, size, True):
        return invalid(o)
    while p < end:
        start = p
        extra = 0
        while p < end and p[0] >= 0x20 and p[0] != 0x22 and p[0] != 0x5C:
            extra += p[0] & 0xC0 == 0x80
            p += 1
        if p > start:
            # What counts is characters.
            o.most += extra
            if not put(o, cython.cast(cython.p_const_char, start), p - start):
                return False
        if p < end:
            if not put(o, escape, escaped(p[0], escape)):
                return False
            p += 1
    return put(o, b'"', 1)


def put_integer(o, value, negative):
    """An integer: ``value`` is its distance from 0."""
    text: uint8_t[24]
    size: cython.int
    if o.limit - o.out >= 24:
        if negative:
            o.out[0] = 0x2D
            o.out += 1
        o.out += put_number(o.out, value)
        return True
    size = put_number(text, value)
    if negative and not put(o, b"-", 1):
        return False
    return put(o, cython.cast(cython.p_const_char, cython.address(text[0])), size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _short_digits(
    value: cython.double, digits: cython.pointer(uint8_t), point: cython.pointer(cython.int)
) -> cython.int:
    """The digits of a number that has at most 15 of them; 0: it has more, or is far from 1.

    An integer below 10**15 divided by an exact power of ten is rounded once, so where that gives
    the number, these are its shortest digits: no two numbers of 15 digits are the same double.
    """
    power: cython.double = 1.0
    scaled: cython.double
    whole: uint64_t
    k: cython.int
    count: cython.int = 0
    for k in range(16):
        scaled = value * power
        if scaled >= _MAX_EXACT:
            return 0
        whole = cython.cast(uint64_t, scaled + 0.5)
        if whole and cython.cast(cython.double, whole) / power == value:
            count = put_number(digits, whole)
            point[0] = count - k
            while digits[count - 1] == 0x30:
                count -= 1
            return count
        power *= 10.0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_up(text: cython.p_char) -> cython.void:
    """One more in the last digit of ``d.ddd…e±n``."""
    i: cython.int = 0
    while text[i] != 0x65 and text[i]:
        i += 1
    while i > 0:
        i -= 1
        if 0x30 <= text[i] < 0x39:
            text[i] += 1
            return
        if text[i] == 0x39:
            text[i] = 0x30


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _long_digits(
    value: cython.double, digits: cython.pointer(uint8_t), point: cython.pointer(cython.int)
) -> cython.int:
    """The shortest digits that read back to the number, by trying."""
    text: cython.char[48]
    precision: cython.int = 1 if value < _LEAST_NORMAL else 15
    i: cython.int = 0
    count: cython.int = 0
    sign: cython.int = 1
    exponent: cython.int = 0
    bits: uint64_t
    memcpy(cython.address(bits), cython.address(value), 8)
    while True:
        snprintf(text, 48, b"%.*e", precision - 1, value)
        if precision == _MAX_DIGITS or strtod(text, cython.NULL) == value:
            break
        if not bits << 12:
            # A power of two: the numbers above lie twice as far apart as those below, so the
            # nearest digits may miss it where the next above hit it.
            _next_up(text)
            if strtod(text, cython.NULL) == value:
                break
        precision += 1
    while text[i] and text[i] != 0x65:
        if 0x30 <= text[i] <= 0x39:  # the point is the locale's
            digits[count] = cython.cast(uint8_t, text[i])
            count += 1
        i += 1
    if text[i]:
        i += 1
        if text[i] == 0x2D:
            sign = -1
        i += 1
        while 0x30 <= text[i] <= 0x39:
            exponent = exponent * 10 + (text[i] - 0x30)
            i += 1
    while count > 1 and digits[count - 1] == 0x30:
        count -= 1
    point[0] = sign * exponent + 1
    return count


def put_double(o, value):
    """A double as 8.0 prints it, see ``json_binary.double_text``; 5.7 leaves ``.0`` out."""
    digits: uint8_t[32]
    text: cython.char[64]
    size: cython.int = 0
    count: cython.int
    point: cython.int = 0
    if not isfinite(value):
        return invalid(o)
    if signbit(value):
        text[0] = 0x2D
        size = 1
    value = fabs(value)
    if value == 0:
        memcpy(text + size, cython.cast(cython.p_const_char, b"0.0"), 3)
        return put(o, text, size + (1 if o.as_5_7 else 3))
    count = _short_digits(value, digits, cython.address(point))
    if not count:
        count = _long_digits(value, digits, cython.address(point))
    if -14 <= point <= 0:
        memcpy(text + size, cython.cast(cython.p_const_char, b"0."), 2)
        memset(text + size + 2, 0x30, -point)
        memcpy(text + size + 2 - point, digits, count)
        return put(o, text, size + 2 - point + count)
    if point > 0 and (point <= 15 or point < count):
        if count <= point:
            memcpy(text + size, digits, count)
            memset(text + size + count, 0x30, point - count)
            size += point
            if not o.as_5_7:
                memcpy(text + size, cython.cast(cython.p_const_char, b".0"), 2)
                size += 2
            return put(o, text, size)
        memcpy(text + size, digits, point)
        text[size + point] = 0x2E
        memcpy(text + size + point + 1, digits + point, count - point)
        return put(o, text, size + 1 + count)
    text[size] = cython.cast(cython.char, digits[0])
    size += 1
    if count > 1:
        text[size] = 0x2E
        memcpy(text + size + 1, digits + 1, count - 1)
        size += count
    text[size] = 0x65
    if not put(o, text, size + 1):
        return False
    point -= 1
    return put_integer(o, -point if point < 0 else point, point < 0)
