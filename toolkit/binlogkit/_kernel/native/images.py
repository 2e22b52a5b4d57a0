"""The rows of one rows event into the buffers of its table; layouts as in ``events/rows.py``.

A row is stored whole or not at all: where an image does not fit, or a buffer is full, what was
stored of the row is taken back.
"""

import cython
from cython.cimports.binlogkit._kernel.native.ahead import read_ahead
from cython.cimports.binlogkit._kernel.native.ascii import copy_ascii
from cython.cimports.binlogkit._kernel.native.cells import cell, fail, json_diff
from cython.cimports.binlogkit._kernel.native.json_text import put_json
from cython.cimports.binlogkit._kernel.native.texts import put_points, valid_utf8
from cython.cimports.binlogkit._kernel.native.values import (
    grow_rows,
    grow_runs,
    put_states,
    undo_row,
)
from cython.cimports.libc.string import memcmp, memcpy, memset

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
    value[0] = little(p, width)
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
            t.steps[side][found].index = i
            t.steps[side][found].column = t.columns + i
            t.steps[side][found].values = t.values[side] + i
            found += 1
            wanted += t.columns[i].out >= 0
    t.present_count[side] = found
    t.whole[side] = wanted == t.wanted


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _fixed(c: column_p, p: octets, out: cython.pointer(uint8_t)) -> cython.bint:
    """The value of a cell of fixed width at ``out``; False: it has none."""
    kind: cython.int = c.kind
    if kind == K_COPY4:
        memcpy(out, p, 4)
    elif kind == K_COPY8:
        memcpy(out, p, 8)
    elif kind == K_COPY1:
        out[0] = p[0]
    elif kind == K_COPY2:
        memcpy(out, p, 2)
    else:
        return c.read(c, p, out) == S_VALUE
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _text(
    t: table_p, c: column_p, v: values_p, p: octets, size: int64_t, end: octets
) -> cython.bint:
    """The value of a cell of any length; False, with nothing stored: it has none, or no room."""
    kind: cython.int = c.kind
    before: int64_t = v.used
    room: int64_t = min(v.capacity - SLACK, MAX_DATA) - before
    written: int64_t = size
    if kind == K_JSON:
        if put_json(v, p, size, end, c.flag) != S_VALUE:
            v.used = before
            return False
        t.bytes += v.used - before
        return True
    if size > room:
        return False
    if kind == K_SINGLE_BYTE:
        if not (c.points[0x100] and copy_ascii(v.data + before, p, size, end - p)):
            if 3 * size > room:
                return False
            written = put_points(v.data + before, p, size, c.points)
            if written < 0:
                return False
    elif not copy_ascii(v.data + before, p, size, end - p):
        if (kind == K_UTF8MB4 or kind == K_UTF8MB3) and not valid_utf8(p, size, kind == K_UTF8MB4):
            return False
    if kind == K_PADDED and size < c.limit:
        written = c.limit
        if written > room:
            return False
        memset(v.data + before + size, 0, written - size)
    v.used = before + written
    t.bytes += written
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _easy(t: table_p, c: column_p, v: values_p, p: octets, end: octets) -> octets:
    """A cell where nothing stands in the way; NULL, with nothing stored: ``cell`` must look."""
    kind: cython.int = c.kind
    row: int64_t = t.rows
    width: int64_t = c.width
    size: uint32_t
    if end - p < width:
        return cython.NULL
    if kind < K_SKIP_PREFIXED:
        if kind == K_SKIP_FIXED:
            return p + width
        if v.rows != row or not _fixed(c, p, v.data + row * v.element):
            return cython.NULL
        v.rows = row + 1
        return p + width
    if width == 1:
        size = p[0]
    elif width == 2:
        size = p[0] | p[1] << 8
    elif width == 4 and kind != K_BAD:
        memcpy(cython.address(size), p, 4)
    else:
        return cython.NULL
    p += width
    if size > end - p:
        return cython.NULL
    if kind == K_SKIP_PREFIXED:
        return p + size
    if v.rows != row or not _text(t, c, v, p, size, end):
        return cython.NULL
    v.offsets[row + 1] = cython.cast(int32_t, v.used)
    v.rows = row + 1
    return p + size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _image(t: table_p, side: cython.int, p: octets, end: octets, diffs: cython.bint) -> octets:
    i: cython.int
    steps: step_p = t.steps[side]
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
        if diffs and t.diffs[steps[i].index]:
            p = json_diff(t, side, steps[i].index, p, end)
        else:
            start = p
            p = _easy(t, steps[i].column, steps[i].values, start, end)
            if p is cython.NULL:
                p = cell(t, side, steps[i].index, start, end)
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
        read_ahead(e.at, start)
        e.at = start
        e.row += 1
        t.rows += 1
        empty = False
    if t.rows > first:
        _put_run(t, e, first, op)
    return t.fault.code == E_NONE
