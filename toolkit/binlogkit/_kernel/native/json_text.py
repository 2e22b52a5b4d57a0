"""Binary JSON as collected bytes."""

import cython
from cython.cimports.binlogkit._kernel.native.layout import (
    E_FULL,
    E_MEMORY,
    MAX_DATA,
    S_VALUE,
    octets,
)
from cython.cimports.binlogkit._kernel.native.values import reserve
from cython.cimports.libc.string import memcpy


def put_json(v, p, size, as_5_7):
    if size > MAX_DATA - v.used:
        return -E_FULL
    if not reserve(v, size):
        return -E_MEMORY
    memcpy(v.data + v.used, p, size)
    v.used += size
    return S_VALUE
