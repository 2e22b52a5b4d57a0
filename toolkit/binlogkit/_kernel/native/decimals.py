"""DECIMAL as the integer that Arrow has for it; the form is that of ``_kernel/numbers.py``."""

import cython
from cython.cimports.binlogkit._kernel.native.layout import octets, u128
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memcpy


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _group(p: octets, size: cython.int, flip: uint32_t, first: cython.bint) -> uint32_t:
    """The digits of a group; the first bit of the first is the sign, inverted."""
    value: uint32_t = 0
    i: cython.int
    for i in range(size):
        value = value << 8 | (p[i] ^ (0x80 if first and i == 0 else 0) ^ flip)
    return value


def decimal128(c, p, out):
    """16 bytes, little-endian; False: a group holds more digits than it has."""
    number: u128 = 0
    group: uint32_t
    power: uint32_t
    i: cython.int
    negative: cython.bint = not p[0] & 0x80
    flip: uint32_t = 0xFF if negative else 0
    for i in range(c.groups):
        group = _group(p, c.sizes[i], flip, i == 0)
        power = c.powers[i]
        if group >= power:
            return False
        number = number * power + group
        p += c.sizes[i]
    if negative:
        number = 0 - number
    memcpy(out, cython.address(number), 16)
    return True


def decimal256(c, p, out):
    """32 bytes, little-endian; False: a group holds more digits than it has."""
    limbs: uint64_t[4] = [0, 0, 0, 0]
    carry: u128
    group: uint32_t
    power: uint32_t
    i: cython.int
    k: cython.int
    used: cython.int = 1
    negative: cython.bint = not p[0] & 0x80
    flip: uint32_t = 0xFF if negative else 0
    for i in range(c.groups):
        group = _group(p, c.sizes[i], flip, i == 0)
        power = c.powers[i]
        if group >= power:
            return False
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
    return True
