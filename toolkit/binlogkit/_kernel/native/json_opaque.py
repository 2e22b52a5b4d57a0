"""Values in a JSON document that only MySQL has: DECIMAL, dates and times, bytes of any type."""

import cython
from cython.cimports.binlogkit._kernel.native.digits import POWERS, put_group, put_number
from cython.cimports.binlogkit._kernel.native.json_out import (
    invalid,
    json_out_p,
    put,
    put_integer,
)
from cython.cimports.libc.string import memcpy

# enum_field_types
_TIMESTAMP = cython.declare(cython.int, 7)
_DATE = cython.declare(cython.int, 10)
_TIME = cython.declare(cython.int, 11)
_DATETIME = cython.declare(cython.int, 12)
_NEWDECIMAL = cython.declare(cython.int, 246)
_MAX_DECIMAL_DIGITS = cython.declare(cython.int, 81)
_LINE = cython.declare(cython.int, 76)
_BASE64 = cython.declare(
    cython.p_const_char, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decimal(o: json_out_p, p: octets, size: int64_t) -> cython.bint:
    """``precision:1 scale:1`` and the packed digits; all digits of the scale are printed."""
    text: uint8_t[96]
    start: cython.pointer(uint8_t) = text
    out: cython.pointer(uint8_t)
    precision: cython.int
    scale: cython.int
    left: cython.int
    digits: cython.int
    width: cython.int
    group: uint32_t
    sign: uint32_t = 0x80
    flip: uint32_t
    begun: cython.bint = False  # a digit that is no leading 0 was put
    end: octets = p + size
    if size < 3:
        return invalid(o)
    precision, scale = p[0], p[1]
    if scale > precision or precision > _MAX_DECIMAL_DIGITS or not precision:
        return invalid(o)
    p += 2
    flip = 0 if p[0] & 0x80 else 0xFFFFFFFF
    if o.limit - o.out >= 96:
        start = o.out
    out = start
    if flip:
        out[0] = 0x2D
        out += 1
    left = precision
    while left:
        # Whole digits fill groups from the right, fraction digits from the left.
        if left > scale:
            digits = (left - scale) % 9
            digits = digits if digits else 9
        else:
            digits = left if left < 9 else 9
        if left == scale:
            if not begun:
                out[0] = 0x30
                out += 1
            out[0] = 0x2E
            out += 1
            begun = True
        width = (digits + 1) // 2 if digits < 9 else 4
        if width > end - p:
            return invalid(o)
        group = digit_group(p, width, flip) ^ sign << (8 * width - 8)
        sign = 0
        if group >= POWERS[digits]:
            return invalid(o)
        if begun:
            put_group(out, group, digits)
            out += digits
        elif group:
            out += put_number(out, group)
            begun = True
        left -= digits
        p += width
    if not begun:
        out[0] = 0x30
        out += 1
    if start == o.out:
        o.out = out
        return True
    return put(o, cython.cast(cython.p_const_char, start), out - start)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _moment(o: json_out_p, field_type: cython.int, p: octets, size: int64_t) -> cython.bint:
    """A packed date or time: 40 bits and 24 bits of microseconds, signed, little-endian."""
    text: uint8_t[32]
    packed: uint64_t
    whole: uint64_t
    micros: uint64_t
    year: uint64_t
    month: uint64_t
    day: uint64_t
    hour: uint64_t
    minute: uint64_t
    second: uint64_t
    at: cython.int = 1
    negative: cython.bint
    if size != 8:
        return invalid(o)
    memcpy(cython.address(packed), p, 8)
    negative = packed >> 63 != 0
    if negative:
        packed = ~packed + 1
    whole, micros = packed >> 24, packed & 0xFFFFFF
    minute, second = whole >> 6 & 63, whole & 63
    if minute > 59 or second > 59 or micros > 999_999:
        return invalid(o)
    text[0] = 0x22
    if field_type == _TIME:
        hour = whole >> 12
        if hour > 838:
            return invalid(o)
        if negative:
            text[1] = 0x2D
            at = 2
        put_group(text + at, cython.cast(uint32_t, hour), 3 if hour > 99 else 2)
        at += 3 if hour > 99 else 2
    else:
        hour = whole >> 12 & 31
        day = whole >> 17 & 31
        month = (whole >> 22) % 13
        year = (whole >> 22) // 13
        if negative or year > 9999 or day > 31 or hour > 23:
            return invalid(o)
        put_group(text + 1, cython.cast(uint32_t, year), 4)
        text[5] = 0x2D
        put_group(text + 6, cython.cast(uint32_t, month), 2)
        text[8] = 0x2D
        put_group(text + 9, cython.cast(uint32_t, day), 2)
        if field_type == _DATE:
            text[11] = 0x22
            return put(o, cython.cast(cython.p_const_char, cython.address(text[0])), 12)
        text[11] = 0x20
        put_group(text + 12, cython.cast(uint32_t, hour), 2)
        at = 14
    text[at] = text[at + 3] = 0x3A
    put_group(text + at + 1, cython.cast(uint32_t, minute), 2)
    put_group(text + at + 4, cython.cast(uint32_t, second), 2)
    text[at + 6] = 0x2E
    put_group(text + at + 7, cython.cast(uint32_t, micros), 6)
    text[at + 13] = 0x22
    return put(o, cython.cast(cython.p_const_char, cython.address(text[0])), at + 14)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _base64(o: json_out_p, field_type: cython.int, p: octets, size: int64_t) -> cython.bint:
    """``"base64:type15:…"`` in lines of 76, whose breaks 5.7 does not escape."""
    four: cython.char[4]
    column: cython.int = 0
    three: uint32_t
    left: int64_t = size
    if not put(o, b'"base64:type', 12) or not put_integer(o, field_type, False):
        return False
    if not put(o, b":", 1):
        return False
    while left > 0:
        if column == _LINE:
            if not (put(o, b"\n", 1) if o.as_5_7 else put(o, b"\\n", 2)):
                return False
            column = 0
        three = p[0] << 16 | (p[1] << 8 if left > 1 else 0) | (p[2] if left > 2 else 0)
        four[0] = _BASE64[three >> 18]
        four[1] = _BASE64[three >> 12 & 63]
        four[2] = _BASE64[three >> 6 & 63] if left > 1 else 0x3D
        four[3] = _BASE64[three & 63] if left > 2 else 0x3D
        if not put(o, four, 4):
            return False
        column += 4
        p += 3
        left -= 3
    return put(o, b'"', 1)


def put_opaque(o, field_type, p, size):
    """An opaque value of a field type."""
    if field_type == _NEWDECIMAL:
        return _decimal(o, p, size)
    if (
        field_type == _DATE
        or field_type == _TIME
        or field_type == _DATETIME
        or field_type == _TIMESTAMP
    ):
        return _moment(o, field_type, p, size)
    return _base64(o, field_type, p, size)
