"""The rows of one rows event into the buffers of its table; layouts as in ``events/rows.py``.

A row is stored whole or not at all: where an image does not fit, or a buffer is full, what was
stored of the row is taken back.
"""

import cython
from cython.cimports.binlogkit._kernel.native.ascii import copy_ascii
from cython.cimports.binlogkit._kernel.native.cells import cell, fail, json_diff
from cython.cimports.binlogkit._kernel.native.layout import (
    E_COLUMN_COUNT,
    E_EMPTY_ROW,
    E_EXTRA_LENGTH,
    E_FULL,
    E_MEMORY,
    E_NDB_LENGTH,
    E_NEEDS,
    E_NONE,
    E_PACKED,
    F_COLUMN_COUNT,
    F_COLUMNS_PRESENT,
    F_COLUMNS_PRESENT_AFTER,
    F_EXTRA_DATA,
    F_EXTRA_LENGTH,
    F_FLAGS,
    F_NDB,
    F_NDB_FORMAT,
    F_NDB_LENGTH,
    F_NULL_BITMAP,
    F_PARTIAL_BITS,
    F_PARTITION_ID,
    F_ROWS,
    F_SOURCE_PARTITION_ID,
    F_TABLE_ID,
    F_VALUE_OPTIONS,
    FACT_ROW,
    FACT_SEQ,
    K_BYTES,
    K_COPY1,
    K_COPY2,
    K_COPY4,
    K_COPY8,
    K_DOUBLE,
    K_ENUM,
    K_FLOAT,
    K_INT24,
    K_PADDED,
    K_SKIP_FIXED,
    K_SKIP_PREFIXED,
    K_UTF8MB3,
    K_YEAR,
    MAX_DATA,
    column_p,
    octets,
    rows_at_p,
    run_p,
    table_p,
    values_p,
)
from cython.cimports.binlogkit._kernel.native.values import (
    grow_rows,
    grow_runs,
    put_states,
    undo_row,
)
from cython.cimports.libc.stdint import int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from cython.cimports.libc.string import memcmp, memcpy, memset

_FLOAT_EXPONENT = cython.declare(uint64_t, 0x7F800000)
_DOUBLE_EXPONENT = cython.declare(uint64_t, 0x7FF0000000000000)
_INSERT = cython.declare(cython.int, 0)
_UPDATE = cython.declare(cython.int, 1)
_DELETE = cython.declare(cython.int, 2)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _need(t: table_p, field: cython.int, size: uint64_t, p: octets, end: octets) -> cython.bint:
    """Whether ``size`` bytes are left; else the fault says so."""
    left: int64_t = end - p
    if left < 0 or size > cython.cast(uint64_t, left):
        fail(t, E_NEEDS, field, size, left)
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _packed(
    t: table_p, field: cython.int, p: octets, end: octets, value: cython.pointer(uint64_t)
) -> octets:
    """A packed integer."""
    width: cython.int
    i: cython.int
    if not _need(t, field, 1, p, end):
        return cython.NULL
    value[0] = p[0]
    if p[0] <= 250:
        return p + 1
    if p[0] == 251 or p[0] == 255:
        return fail(t, E_PACKED, field, p[0], end - p)
    width = 2 if p[0] == 252 else 3 if p[0] == 253 else 8
    p += 1
    if not _need(t, field, width, p, end):
        return cython.NULL
    value[0] = 0
    for i in range(width):
        value[0] |= cython.cast(uint64_t, p[i]) << (8 * i)
    return p + width


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _extra(t: table_p, update: cython.bint, p: octets, end: octets) -> octets:
    """Step over V2's extra data, whose parts must fit it."""
    size: cython.int
    kind: cython.int
    met: cython.int = 0
    stop: octets
    if not _need(t, F_EXTRA_LENGTH, 2, p, end):
        return cython.NULL
    size = p[0] | p[1] << 8
    if size < 2:
        return fail(t, E_EXTRA_LENGTH, F_EXTRA_LENGTH, size, end - p)
    p += 2
    if not _need(t, F_EXTRA_DATA, size - 2, p, end):
        return cython.NULL
    stop = p + (size - 2)
    while p < stop:
        kind = p[0]
        if kind > 1 or met >> kind & 1:
            return stop  # the rest is not known
        met |= 1 << kind
        p += 1
        if kind == 0:
            if not _need(t, F_NDB_LENGTH, 1, p, stop):
                return cython.NULL
            size = p[0]
            p += 1
            if size < 2:
                return fail(t, E_NDB_LENGTH, F_NDB_LENGTH, size, stop - p)
            if not _need(t, F_NDB_FORMAT, 1, p, stop):
                return cython.NULL
            p += 1
            if not _need(t, F_NDB, size - 2, p, stop):
                return cython.NULL
            p += size - 2
        else:
            if not _need(t, F_PARTITION_ID, 2, p, stop):
                return cython.NULL
            p += 2
            if update:
                if not _need(t, F_SOURCE_PARTITION_ID, 2, p, stop):
                    return cython.NULL
                p += 2
    return stop


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_bitmap(t: table_p, side: cython.int, bitmap: octets) -> cython.void:
    """Which columns an image has; most events have the same as the one before."""
    i: cython.int
    size: cython.int = (t.count + 7) >> 3
    found: cython.int = 0
    wanted: cython.int = 0
    if t.present_count[side] >= 0 and memcmp(t.seen[side], bitmap, size) == 0:
        return
    memcpy(t.seen[side], bitmap, size)
    for i in range(t.count):
        if bitmap[i >> 3] >> (i & 7) & 1:
            t.present[side][found] = cython.cast(uint16_t, i)
            found += 1
            wanted += t.columns[i].out >= 0
    t.present_count[side] = found
    t.whole[side] = wanted == t.wanted


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _easy_fixed(c: column_p, p: octets, out: cython.pointer(uint8_t)) -> cython.bint:
    """The value of a cell of fixed width at ``out``; False: ``cell`` must look."""
    kind: cython.int = c.kind
    small: int32_t
    short: int16_t
    bits: uint64_t = 0
    if kind == K_COPY4:
        memcpy(out, p, 4)
    elif kind == K_COPY8:
        memcpy(out, p, 8)
    elif kind == K_COPY1:
        out[0] = p[0]
    elif kind == K_COPY2:
        memcpy(out, p, 2)
    elif kind == K_INT24:
        small = p[0] | p[1] << 8 | p[2] << 16
        small = (small ^ 0x800000) - 0x800000
        memcpy(out, cython.address(small), 4)
    elif kind == K_YEAR:
        short = cython.cast(int16_t, p[0] + 1900 if p[0] else 0)
        memcpy(out, cython.address(short), 2)
    elif kind == K_FLOAT:
        memcpy(cython.address(bits), p, 4)
        if bits & _FLOAT_EXPONENT == _FLOAT_EXPONENT:
            return False
        memcpy(out, p, 4)
    elif kind == K_DOUBLE:
        memcpy(cython.address(bits), p, 8)
        if bits & _DOUBLE_EXPONENT == _DOUBLE_EXPONENT:
            return False
        memcpy(out, p, 8)
    elif kind == K_ENUM:
        small = p[0] if c.width == 1 else p[0] | p[1] << 8
        if small > c.limit:  # also where the labels are not known
            return False
        memcpy(out, cython.address(small), 4)
    else:
        return False
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _easy(t: table_p, side: cython.int, index: cython.int, p: octets, end: octets) -> octets:
    """The commonest cells, where nothing stands in the way: numbers, bytes, text that is ASCII.

    NULL, with nothing changed: not that easy.
    """
    c: column_p = t.columns + index
    v: values_p = t.values[side] + index
    kind: cython.int = c.kind
    row: int64_t = t.rows
    left: int64_t = end - p
    size: int64_t
    if left < c.width or c.width > 8:
        return cython.NULL
    if kind == K_SKIP_FIXED:
        return p + c.width
    if kind < K_SKIP_PREFIXED:
        if v.rows != row or not _easy_fixed(c, p, v.data + row * v.element):
            return cython.NULL
        v.rows = row + 1
        return p + c.width
    if kind > K_UTF8MB3 or kind == K_PADDED or c.width > 2:
        return cython.NULL
    size = p[0]
    if c.width == 2:
        size |= p[1] << 8
    p += c.width
    left -= c.width
    if size > left:
        return cython.NULL
    if kind == K_SKIP_PREFIXED:
        return p + size
    if v.rows != row or size > v.capacity - v.used or size > MAX_DATA - v.used:
        return cython.NULL
    if not copy_ascii(v.data + v.used, p, size) and kind != K_BYTES:
        return cython.NULL
    v.used += size
    t.bytes += size
    v.offsets[row + 1] = cython.cast(int32_t, v.used)
    v.rows = row + 1
    return p + size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _image(t: table_p, side: cython.int, p: octets, end: octets, diffs: cython.bint) -> octets:
    i: cython.int
    index: cython.int
    count: cython.int = t.present_count[side]
    size: cython.int = (count + 7) >> 3
    raws: int64_t = t.raw_count
    nulls: octets = p
    start: octets
    if not _need(t, F_NULL_BITMAP, size, p, end):
        return cython.NULL
    p += size
    for i in range(count):
        if nulls[i >> 3] >> (i & 7) & 1:
            continue
        index = t.present[side][i]
        if diffs and t.diffs[index]:
            p = json_diff(t, side, index, p, end)
        else:
            start = p
            p = _easy(t, side, index, start, end)
            if p is cython.NULL:
                p = cell(t, side, index, start, end)
        if p is cython.NULL:
            return cython.NULL
    if (not t.whole[side] or t.raw_count != raws) and t.wanted:
        if not put_states(t, side, nulls, raws):
            return fail(t, E_MEMORY, F_ROWS, 0, 0)
    return p


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after(t: table_p, partial: cython.bint, p: octets, end: octets) -> octets:
    """An after image; a partial one says first which JSON cells are diffs."""
    options: uint64_t = 0
    bits: octets
    i: cython.int
    k: cython.int = 0
    size: cython.int
    if not partial:
        return _image(t, 1, p, end, False)
    p = _packed(t, F_VALUE_OPTIONS, p, end, cython.address(options))
    if p is cython.NULL:
        return cython.NULL
    if not options & 1:
        return _image(t, 1, p, end, False)
    size = (t.json_count + 7) >> 3
    if not _need(t, F_PARTIAL_BITS, size, p, end):
        return cython.NULL
    bits = p
    memset(t.diffs, 0, t.count)
    for i in range(t.count):
        if t.columns[i].is_json:
            t.diffs[i] = bits[k >> 3] >> (k & 7) & 1
            k += 1
    return _image(t, 1, p + size, end, True)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_run(t: table_p, e: rows_at_p, first: int64_t, op: cython.int) -> cython.void:
    """What the event tells of its rows from ``first`` on; there is room for a run."""
    run: run_p = t.runs + t.run_count
    done: int64_t = e.row - (t.rows - first)
    run.first = first
    run.op = op
    memcpy(run.facts, e.facts, cython.sizeof(run.facts))
    run.facts[FACT_ROW] += done
    run.facts[FACT_SEQ] += done
    t.run_count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _header(t: table_p, e: rows_at_p, op: cython.int, p: octets, end: octets) -> octets:
    """Up to the first row: the columns of each image."""
    columns: uint64_t = 0
    size: cython.int = (t.count + 7) >> 3
    if not _need(t, F_TABLE_ID, e.table_id_width, p, end):
        return cython.NULL
    p += e.table_id_width
    if not _need(t, F_FLAGS, 2, p, end):
        return cython.NULL
    p += 2
    if e.code >= 30:
        p = _extra(t, op == _UPDATE, p, end)
        if p is cython.NULL:
            return cython.NULL
    p = _packed(t, F_COLUMN_COUNT, p, end, cython.address(columns))
    if p is cython.NULL:
        return cython.NULL
    if not _need(t, F_COLUMNS_PRESENT, (columns >> 3) + (columns & 7 != 0), p, end):
        return cython.NULL
    if columns != cython.cast(uint64_t, t.count):
        if op == _UPDATE and not _need(
            t, F_COLUMNS_PRESENT_AFTER, columns + 7 >> 3, p + (columns + 7 >> 3), end
        ):
            return cython.NULL
        return fail(t, E_COLUMN_COUNT, F_COLUMN_COUNT, columns, end - p)
    _take_bitmap(t, 1 if op == _INSERT else 0, p)
    p += size
    if op == _UPDATE:
        if not _need(t, F_COLUMNS_PRESENT_AFTER, size, p, end):
            return cython.NULL
        _take_bitmap(t, 1, p)
        p += size
    return p


def decode_rows(t, e, p, end):
    """Decode rows of an event until its end, False at a fault.

    ``e.at``: where to go on, NULL at first; ``p``: the event behind its header; E_FULL: hand the
    rows over and call again.
    """
    first: int64_t = t.rows
    raws: int64_t
    heap: int64_t
    size: int64_t
    start: octets
    op: cython.int = _UPDATE
    t.fault.code = E_NONE
    if t.run_count == t.run_capacity and not grow_runs(t):
        fail(t, E_MEMORY, F_ROWS, 0, 0)
        return False
    if e.code == 23 or e.code == 30:
        op = _INSERT
    elif e.code == 25 or e.code == 32:
        op = _DELETE
    start = _header(t, e, op, p, end)
    if start is cython.NULL:
        return False
    if e.at is cython.NULL:
        e.at = start
    # INSERT … VALUES () with a minimal image: one row that has no bytes.
    empty: cython.bint = e.at == end and e.row == 0 and op == _INSERT and not t.present_count[1]
    while e.at < end or empty:
        if t.rows >= t.max_rows or t.bytes + t.rows * t.row_bytes >= t.max_bytes:
            fail(t, E_FULL, F_ROWS, 0, 0)
            break
        if t.rows == t.capacity and not grow_rows(t):
            fail(t, E_MEMORY, F_ROWS, 0, 0)
            break
        raws, heap, size = t.raw_count, t.heap_used, t.bytes
        start = e.at
        if op != _INSERT:
            start = _image(t, 0, start, end, False)
        if op != _DELETE and start is not cython.NULL:
            start = _after(t, e.code == 39, start, end)
        if start is not cython.NULL and start == e.at and not empty:
            start = fail(t, E_EMPTY_ROW, F_ROWS, 0, 0)
        if start is cython.NULL:
            undo_row(t, raws, heap, size)
            break
        e.at = start
        e.row += 1
        t.rows += 1
        empty = False
    if t.rows > first:
        _put_run(t, e, first, op)
    return t.fault.code == E_NONE
