"""Text as UTF-8: checked where it is stored so, looked up where a character is one byte.

UTF-8 is what Python's strict decoder takes: no overlong form, no surrogate, nothing beyond
U+10FFFF; utf8mb3 has no character of four bytes.
"""

import cython
from cython.cimports.libc.string import memcpy


def valid_utf8(p, size, four):
    """Whether ``size`` bytes are UTF-8; ``four``: with characters of four bytes."""
    end: octets = p + size
    word: uint64_t
    lead: cython.uint
    second: cython.uint
    while p < end:
        if end - p >= 8:
            memcpy(cython.address(word), p, 8)
            if not word & HIGH_BITS:
                p += 8
                continue
        lead = p[0]
        if lead < 0x80:
            p += 1
            continue
        if lead < 0xC2 or end - p < 2:
            return False
        second = p[1]
        if lead < 0xE0:
            if second & 0xC0 != 0x80:
                return False
            p += 2
        elif lead < 0xF0:
            if end - p < 3 or second & 0xC0 != 0x80 or p[2] & 0xC0 != 0x80:
                return False
            if (lead == 0xE0 and second < 0xA0) or (lead == 0xED and second > 0x9F):
                return False
            p += 3
        else:
            if not four or lead > 0xF4 or end - p < 4 or second & 0xC0 != 0x80:
                return False
            if p[2] & 0xC0 != 0x80 or p[3] & 0xC0 != 0x80:
                return False
            if (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F):
                return False
            p += 4
    return True


def put_points(out, p, size, points):
    """``size`` characters of one byte as UTF-8; bytes written (three each at most), -1: no text.

    ``points``: 256 characters of the basic plane, NO_POINT where the character set has none.
    """
    end: octets = p + size
    start: cython.pointer(uint8_t) = out
    word: uint64_t
    point: uint32_t
    while p < end:
        if end - p >= 8 and points[0x100]:
            memcpy(cython.address(word), p, 8)
            if not word & HIGH_BITS:
                memcpy(out, p, 8)
                out += 8
                p += 8
                continue
        point = points[p[0]]
        if point < 0x80:
            out[0] = cython.cast(uint8_t, point)
            out += 1
        elif point < 0x800:
            out[0] = cython.cast(uint8_t, 0xC0 | point >> 6)
            out[1] = cython.cast(uint8_t, 0x80 | point & 0x3F)
            out += 2
        elif point == NO_POINT:
            return -1
        else:
            out[0] = cython.cast(uint8_t, 0xE0 | point >> 12)
            out[1] = cython.cast(uint8_t, 0x80 | point >> 6 & 0x3F)
            out[2] = cython.cast(uint8_t, 0x80 | point & 0x3F)
            out += 3
        p += 1
    return out - start
