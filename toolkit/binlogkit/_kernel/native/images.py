"""The rows of one rows event into the buffers of its table; layouts as in ``events/rows.py``.

A row is stored whole or not at all: where an image does not fit, or a buffer is full, what was
stored of the row is taken back.
"""

import cython
from cython.cimports.binlogkit._kernel.native.ahead import read_ahead
from cython.cimports.binlogkit._kernel.native.cells import fail, image, need
from cython.cimports.binlogkit._kernel.native.rows_head import more_of_packed, rows_head
from cython.cimports.binlogkit._kernel.native.values import grow_rows, grow_runs, undo_row
from cython.cimports.libc.string import memcmp, memcpy, memset

_INSERT = cython.declare(cython.int, 0)
_UPDATE = cython.declare(cython.int, 1)
_DELETE = cython.declare(cython.int, 2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_bitmap(t: table_p, side: cython.int, bitmap: octets) -> cython.void:
    """Which columns an image has; most events have the same as the one before."""
    i: cython.int
    size: cython.int = (t.count + 7) >> 3
    found: cython.int = 0
    wanted: cython.int = 0
    lacking: cython.int = 0
    has: cython.int = 0
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
            has |= t.columns[i].digests
        else:
            lacking |= t.columns[i].digests
    t.present_count[side] = found
    t.lacking[side] = lacking
    t.partly[side] = lacking & has
    t.whole[side] = wanted == t.wanted


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after(t: table_p, partial: cython.bint, p: octets, end: octets) -> octets:
    """An after image; a partial one says first which JSON cells are diffs."""
    options: octets = p
    bits: octets
    i: cython.int
    k: cython.int = 0
    size: cython.int
    if not partial:
        return image(t, 1, p, end, False)
    if not need(t, F_VALUE_OPTIONS, 1, p, end):
        return cython.NULL
    size = more_of_packed(p[0])
    if size < 0:
        return fail(t, E_PACKED, F_VALUE_OPTIONS, p[0], end - p)
    p += 1
    if not need(t, F_VALUE_OPTIONS, size, p, end):
        return cython.NULL
    p += size
    if not (options[1] if size else options[0]) & 1:
        return image(t, 1, p, end, False)
    size = (t.json_count + 7) >> 3
    if not need(t, F_PARTIAL_BITS, size, p, end):
        return cython.NULL
    bits = p
    memset(t.diffs, 0, t.count)
    for i in range(t.count):
        if t.columns[i].is_json:
            t.diffs[i] = bits[k >> 3] >> (k & 7) & 1
            k += 1
    return image(t, 1, p + size, end, True)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_run(t: table_p, e: rows_at_p, first: int64_t, op: cython.int) -> cython.void:
    """What the event says of its rows from ``first`` on; there is room for a run."""
    run: run_p = t.runs + t.run_count
    done: int64_t = e.row - (t.rows - first)
    run.first = first
    memcpy(run.facts, e.facts, cython.sizeof(run.facts))
    run.facts[FACT_OP] = op
    run.facts[FACT_ROW] += done
    run.facts[FACT_SEQ] += done
    t.run_count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _header(t: table_p, e: rows_at_p, op: cython.int, p: octets, end: octets) -> octets:
    """Up to the first row: the columns of each image."""
    columns: uint64_t
    size: cython.int = (t.count + 7) >> 3
    bitmap: octets = rows_head(e.code, e.table_id_width, p, end, cython.address(columns))
    if bitmap is cython.NULL:
        return fail(t, E_HEAD, F_ROWS, 0, end - p)
    if columns != cython.cast(uint64_t, t.count):
        return fail(t, E_COLUMN_COUNT, F_COLUMN_COUNT, columns, end - bitmap)
    _take_bitmap(t, 1 if op == _INSERT else 0, bitmap)
    if op == _UPDATE:
        bitmap += size
        _take_bitmap(t, 1, bitmap)
    return bitmap + size


def decode_rows(t, e, p, end):
    """Decode rows of an event until its end, False at a fault.

    ``e.at``: where to resume, NULL at first; ``p``: the event after its header; E_FULL: hand the
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
            start = image(t, 0, start, end, False)
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
