"""DECIMAL as the integer that Arrow has for it; the form is that of ``_kernel/numbers.py``."""

import cython
from cython.cimports.libc.string import memcpy


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
