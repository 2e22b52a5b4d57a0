"""Cells that hold numbers, ENUM and SET; the forms are those of ``_kernel/numbers.py``."""

import cython
from cython.cimports.libc.math import isfinite
from cython.cimports.libc.string import memcpy


def read_as_stored(c, p, out):
    memcpy(out, p, c.width)
    return S_VALUE


def read_int24(c, p, out):
    small: int32_t = p[0] | p[1] << 8 | p[2] << 16
    if c.kind == K_INT24:
        small = (small ^ 0x800000) - 0x800000
    memcpy(out, cython.address(small), 4)
    return S_VALUE


def read_year(_c, p, out):
    short: int16_t = cython.cast(int16_t, p[0] + 1900 if p[0] else 0)
    memcpy(out, cython.address(short), 2)
    return S_VALUE


def read_float(_c, p, out):
    single: cython.float
    memcpy(cython.address(single), p, 4)
    if not isfinite(single):
        return S_UNDECODABLE
    memcpy(out, p, 4)
    return S_VALUE


def read_double(_c, p, out):
    double: cython.double
    memcpy(cython.address(double), p, 8)
    if not isfinite(double):
        return S_UNDECODABLE
    memcpy(out, p, 8)
    return S_VALUE


def read_bit(c, p, out):
    number: uint64_t = 0
    i: cython.int
    for i in range(c.width):
        number = number << 8 | p[i]
    if c.limit < 64 and number >> c.limit:
        return S_UNDECODABLE
    memcpy(out, cython.address(number), 8)
    return S_VALUE


def read_enum(c, p, out):
    number: int32_t = p[0] if c.width == 1 else p[0] | p[1] << 8
    code: uint16_t
    if c.limit < 0:
        code = cython.cast(uint16_t, number)
        memcpy(out, cython.address(code), 2)
    elif number > c.limit:
        return S_UNDECODABLE
    else:
        memcpy(out, cython.address(number), 4)
    return S_VALUE


def read_set(c, p, out):
    number: uint64_t = little(p, c.width)
    if 0 <= c.limit < 64 and number >> c.limit:
        return S_UNDECODABLE
    memcpy(out, cython.address(number), 8)
    return S_VALUE


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _placed(sign: uint32_t, size: cython.int) -> uint32_t:
    """A bit of the first byte of a group of ``size`` bytes."""
    return sign << (8 * size - 8)


def read_decimal128(c, p, out):
    """16 bytes, little-endian; undecodable: a group holds more digits than it has."""
    number: u128
    small: uint64_t = 0
    group: uint32_t
    i: cython.int
    negative: cython.bint = not p[0] & 0x80
    flip: uint32_t = 0xFFFFFFFF if negative else 0
    sign: uint32_t = 0x80  # the first bit is the sign, inverted
    for i in range(c.narrow):
        group = digit_group(p, c.sizes[i], flip) ^ _placed(sign, c.sizes[i])
        sign = 0
        if group >= c.powers[i]:
            return S_UNDECODABLE
        small = small * c.powers[i] + group
        p += c.sizes[i]
    number = small
    for i in range(c.narrow, c.groups):
        group = digit_group(p, c.sizes[i], flip)
        if group >= c.powers[i]:
            return S_UNDECODABLE
        number = number * c.powers[i] + group
        p += c.sizes[i]
    if negative:
        number = 0 - number
    memcpy(out, cython.address(number), 16)
    return S_VALUE


def read_decimal256(c, p, out):
    """32 bytes, little-endian; undecodable: a group holds more digits than it has."""
    limbs: uint64_t[4] = [0, 0, 0, 0]
    carry: u128
    group: uint32_t
    power: uint32_t
    i: cython.int
    k: cython.int
    used: cython.int = 1
    negative: cython.bint = not p[0] & 0x80
    flip: uint32_t = 0xFFFFFFFF if negative else 0
    sign: uint32_t = 0x80
    for i in range(c.groups):
        group = digit_group(p, c.sizes[i], flip) ^ _placed(sign, c.sizes[i])
        sign = 0
        power = c.powers[i]
        if group >= power:
            return S_UNDECODABLE
        carry = group
        for k in range(used):
            carry += cython.cast(u128, limbs[k]) * power
            limbs[k] = cython.cast(uint64_t, carry)
            carry = carry >> 64
        if carry and used < 4:
            limbs[used] = cython.cast(uint64_t, carry)
            used += 1
        p += c.sizes[i]
    if negative:
        carry = 1
        for k in range(4):
            carry += ~limbs[k]
            limbs[k] = cython.cast(uint64_t, carry)
            carry = carry >> 64
    memcpy(out, cython.address(limbs[0]), 32)
    return S_VALUE
