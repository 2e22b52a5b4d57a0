"""One cell: its extent by its column's layout, its value by its column's kind."""

import cython
from cython.cimports.binlogkit._kernel.native.json_text import put_json
from cython.cimports.binlogkit._kernel.native.texts import put_points, valid_utf8
from cython.cimports.binlogkit._kernel.native.values import keep_raw, prepare, reserve
from cython.cimports.libc.math import isfinite
from cython.cimports.libc.string import memcpy, memset


def fail(t, code, field, wants, left):
    """Say what is wrong; NULL."""
    t.fault.code = code
    t.fault.field = field
    t.fault.wants = wants
    t.fault.left = left
    return cython.NULL


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


def reader_of(kind):
    """What reads the cells of a kind; NULL for those of any length and those that are left out."""
    if K_COPY1 <= kind <= K_COPY8:
        return read_as_stored
    elif kind == K_INT24 or kind == K_UINT24:
        return read_int24
    elif kind == K_YEAR:
        return read_year
    elif kind == K_BIT:
        return read_bit
    elif kind == K_FLOAT:
        return read_float
    elif kind == K_DOUBLE:
        return read_double
    elif kind == K_DECIMAL128:
        return read_decimal128
    elif kind == K_DECIMAL256:
        return read_decimal256
    elif kind == K_DATE:
        return read_date
    elif kind == K_TIME2:
        return read_time2
    elif kind == K_DATETIME2:
        return read_datetime2
    elif kind == K_TIMESTAMP2:
        return read_timestamp2
    elif kind == K_OLD_TIME:
        return read_old_time
    elif kind == K_OLD_DATETIME:
        return read_old_datetime
    elif kind == K_OLD_TIMESTAMP:
        return read_old_timestamp
    elif kind == K_ENUM:
        return read_enum
    elif kind == K_SET:
        return read_set
    return cython.NULL


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _copy(out: cython.pointer(uint8_t), p: octets, size: int64_t, end: octets) -> cython.void:
    # One copy of known size is quicker than one of any; both sides have the room.
    if size <= SLACK and end - p >= SLACK:
        memcpy(out, p, SLACK)
    else:
        memcpy(out, p, size)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _variable(c: column_p, v: values_p, p: octets, size: int64_t, end: octets) -> cython.int:
    """The state of a cell of variable length, its value behind ``v.used``; E_… below 0."""
    kind: cython.int = c.kind
    width: int64_t = size
    written: int64_t
    if kind == K_JSON:
        return put_json(v, p, size, end, c.flag)
    if kind == K_SINGLE_BYTE:
        width = 3 * size
    elif kind == K_PADDED and c.limit > size:
        width = c.limit
    if width > MAX_DATA - v.used:
        return -E_FULL
    if not reserve(v, width):
        return -E_MEMORY
    if kind == K_SINGLE_BYTE:
        written = put_points(v.data + v.used, p, size, c.points)
        if written < 0:
            return S_UNDECODABLE
        v.used += written
        return S_VALUE
    if kind == K_UTF8MB4 or kind == K_UTF8MB3:
        if not valid_utf8(p, size, kind == K_UTF8MB4):
            return S_UNDECODABLE
    _copy(v.data + v.used, p, size, end)
    if width > size:
        memset(v.data + v.used + size, 0, width - size)
    v.used += width
    return S_VALUE


def cell(t, side, index, p, end):
    """Decode the cell of column ``index`` at ``p``; NULL where it does not fit."""
    c: column_p = cython.address(t.columns[index])
    v: values_p
    size: int64_t
    left: int64_t = end - p
    before: int64_t
    start: octets
    state: cython.int
    if c.kind < K_SKIP_PREFIXED:
        size = c.width
        if size > left:
            return fail(t, E_NEEDS, index, size, left)
        start = p
        p += size
        if c.kind == K_SKIP_FIXED:
            return p
    elif c.kind == K_BAD:
        return fail(t, E_TYPE, index, 0, left)
    else:
        if c.width > left:
            return fail(t, E_NEEDS_LENGTH, index, c.width, left)
        size = p[0] if c.width == 1 else cython.cast(int64_t, little(p, c.width))
        start = p + c.width
        left -= c.width
        if size > left:
            return fail(t, E_SAYS, index, size, left)
        p = start + size
        if c.kind == K_SKIP_PREFIXED:
            return p
    v = cython.address(t.values[side][index])
    if v.rows != t.rows and not prepare(t, v, t.rows):
        return fail(t, E_MEMORY, index, 0, 0)
    if v.element:
        state = c.read(c, start, v.data + t.rows * v.element)
    else:
        before = v.used
        state = _variable(c, v, start, size, end)
        if state < 0:
            if state != -E_FULL or t.rows:
                v.used = before
                return fail(t, -state, index, 0, 0)
            state = S_NO_ARROW_VALUE  # more than an Arrow string can hold
        if state != S_VALUE:
            v.used = before
        else:
            t.bytes += v.used - before
            v.offsets[t.rows + 1] = cython.cast(int32_t, v.used)
    if state != S_VALUE:
        if not keep_raw(t, side, c.out, state, start, size):
            return fail(t, E_MEMORY, index, 0, 0)
        return p
    v.rows = t.rows + 1
    return p


def json_diff(t, side, index, p, end):
    """Keep a cell that says how a document changes: 4 bytes of length, and its bytes."""
    c: column_p = cython.address(t.columns[index])
    size: uint64_t
    left: int64_t = end - p
    if left < 4:
        return fail(t, E_NEEDS, index, 4, left)
    size = little(p, 4)
    p += 4
    left -= 4
    if size > cython.cast(uint64_t, left):
        return fail(t, E_NEEDS, index, size, left)
    if c.out >= 0 and not keep_raw(t, side, c.out, S_JSON_DIFF, p, size):
        return fail(t, E_MEMORY, index, 0, 0)
    return p + size
