"""What is known of a table's rows, by their keys' digests, and changes that do not continue it.

The rows stand in memory that the caller gives: a table of 16-byte places, as many as a power of
two, in which a row's place follows from its key; a place that is taken leads to the next one. Of a
digest 32 bits are kept. Even numbers are no digests (``digests.pxd``); here also: the row is gone,
or it is not known whether it is there.
"""

import cython
from cython.cimports.cpython.buffer import (
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)

#: How a change does not continue what is known: the row is not as it was left; it is there although
#: it was deleted or never made; it is made although it is there.
CHANGED, APPEARED, MADE_AGAIN = 1, 2, 3
#: No contradiction: the image has all columns, or all but BLOBs, and not all are known of the row.
LACKING = 4

_AHEAD = cython.declare(cython.int, 12)  # changes whose rows the processor fetches meanwhile
_CHANGED = cython.declare(cython.int, 1)
_APPEARED = cython.declare(cython.int, 2)
_MADE_AGAIN = cython.declare(cython.int, 3)
_LACKING = cython.declare(cython.int, 4)
_ABSENT = cython.declare(uint32_t, 8)  # DIGEST_ABSENT
_UNKNOWN = cython.declare(uint32_t, 2)  # DIGEST_PARTLY
_GONE = cython.declare(uint32_t, 4)
_DOUBTFUL = cython.declare(uint32_t, 6)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _begin(key: uint64_t) -> uint64_t:
    return key >> 17 ^ key


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _place(rows: known_p, mask: uint64_t, key: uint64_t) -> known_p:
    """The row's place, or the free one where it belongs; there is always a free one."""
    at: uint64_t = _begin(key) & mask
    while rows[at].key != 0 and rows[at].key != key:
        at = (at + 1) & mask
    return rows + at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _differs(left: uint32_t, found: uint64_t) -> cython.bint:
    return left & 1 and found & 1 and left != cython.cast(uint32_t, found)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _checked(
    row: known_p, was: digested_p, complete: cython.bint, tally: cython.p_longlong
) -> cython.int:
    """How an image before a change does not continue what is known; 0: it does, as far as is known.

    It is compared if all that it has is known.
    """
    which: cython.int
    compared: cython.int = 0
    if row.key == 0 or row.state[0] == _GONE:
        if tally[3] or (row.key == 0 and not complete):
            return 0
        tally[2] += 1
        return _APPEARED
    if _differs(row.state[0], was.state[0]) or _differs(row.state[1], was.state[1]):
        tally[2] += 1
        return _CHANGED
    for which in range(2):
        if was.state[which] & 1 and row.state[which] == _UNKNOWN:
            return _LACKING
    for which in range(2):
        if row.state[which] & was.state[which] & 1:
            compared = 1
        elif was.state[which] != _ABSENT:
            return 0
    tally[2] += compared
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take(
    row: known_p, key: uint64_t, which: cython.int, was: digested_p, now: digested_p
) -> cython.void:
    """Keep what an image after a change says of the row; what it lacks was not changed."""
    found: uint64_t = now.state[which]
    if found == _ABSENT and was is not cython.NULL:
        if was.state[which] & 1:
            found = was.state[which]
        elif row.key == key:
            return
    row.state[which] = cython.cast(uint32_t, found) if found & 1 else _UNKNOWN


def take_changes(
    memory, tally, before, after, start: int64_t, complete: cython.bint, equal: cython.bint
):
    """Take changes from ``start`` on; ``(next, broken)``: at a ``next`` there was no room for more.

    ``memory``: the rows, zeroed at first; ``tally``: four int64, which are kept up: places in use,
    rows among them that are gone, images that were compared, rows whose key is not known;
    ``before``, ``after``: digests of the images, 24 bytes each, zeros where there is none;
    ``complete``: a row that is not known is not there, unless there is one without a known key;
    ``equal``: of a table without a key, all of whose rows are known: a row's digest is its key, and
    equal ones are counted; ``broken``: ``(change, how, key's digest)``.
    """
    views: Py_buffer[4]
    i: cython.int
    held: cython.int = 0
    broken: list = []
    try:
        for i, buffer in enumerate((memory, tally, before, after)):
            flags = PyBUF_WRITABLE if i < 2 else PyBUF_SIMPLE
            PyObject_GetBuffer(buffer, cython.address(views[i]), flags)
            held += 1
        rows: known_p = cython.cast(known_p, views[0].buf)
        size: int64_t = views[0].len // cython.sizeof(Known)
        count: int64_t = views[2].len // cython.sizeof(Digested)
        if size < 8 or size & (size - 1) or views[1].len != 32 or views[3].len != views[2].len:
            raise ValueError("rows, tally or digests of a wrong size")
        if start < 0:
            raise ValueError("before the first change")
        counts: cython.p_longlong = cython.cast(cython.p_longlong, views[1].buf)
        was: digested_p = cython.cast(digested_p, views[2].buf)
        now: digested_p = cython.cast(digested_p, views[3].buf)
        while start < count and 4 * (counts[0] + 2) <= 3 * size:
            if start + _AHEAD < count:
                key: uint64_t = was[start + _AHEAD].key | now[start + _AHEAD].key
                prefetch(rows + (_begin(key) & (size - 1)))
            if not equal:
                _change(rows, size - 1, counts, was + start, now + start, start, complete, broken)
            elif _equal(rows, size - 1, counts, was[start].key, now[start].key):
                broken.append((start, _APPEARED, was[start].key))
            start += 1
    finally:
        for i in range(held):
            PyBuffer_Release(cython.address(views[i]))
    return start, broken


@cython.cfunc
def _change(
    rows: known_p,
    mask: uint64_t,
    tally: cython.p_longlong,
    was: digested_p,
    now: digested_p,
    number: int64_t,
    complete: cython.bint,
    broken: list,
):
    how: cython.int = 0
    which: cython.int
    old: uint64_t = was.key if was.key & 1 else 0
    new: uint64_t = now.key if now.key & 1 else 0
    row: known_p
    if old:
        row = _place(rows, mask, old)
        how = _checked(row, was, complete, tally)
        if how:
            broken.append((number, how, old))
        if now.key == 0 or now.key == DIGEST_PARTLY or (new and new != old):
            _leave(row, old, tally)
        else:
            if row.key == 0:
                tally[0] += 1
            elif row.state[0] == _GONE:
                tally[1] -= 1
            for which in range(2):
                _take(row, old, which, was, now)
            row.key = old
            return
    if new == 0:
        tally[3] += now.key != 0  # of a minimal image that has a part of the key, say
    else:
        row = _place(rows, mask, new)
        if row.key == 0:
            tally[0] += 1
        elif row.state[0] == _GONE:
            tally[1] -= 1
        elif row.state[0] != _DOUBTFUL:
            broken.append((number, _MADE_AGAIN, new))
        row.key = new
        for which in range(2):
            _take(row, 0, which, cython.NULL, now)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave(row: known_p, key: uint64_t, tally: cython.p_longlong) -> cython.void:
    """The row is gone, which is kept."""
    if row.key == 0:
        tally[0] += 1
    elif row.state[0] == _GONE:
        return
    tally[1] += 1
    row.key = key
    row.state[0] = row.state[1] = _GONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _equal(
    rows: known_p, mask: uint64_t, tally: cython.p_longlong, old: uint64_t, new: uint64_t
) -> cython.int:
    """A change of a table without a key: one of its equal rows goes, another comes."""
    how: cython.int = 0
    row: known_p
    if old & 1:
        row = _place(rows, mask, old)
        if row.key == 0 or row.state[0] == _GONE:
            how = 0 if tally[3] else _APPEARED
        else:
            row.state[1] -= 1
            if row.state[1] == 0:
                row.state[0] = _GONE
                tally[1] += 1
        tally[2] += tally[3] == 0
    if new & 1:
        row = _place(rows, mask, new)
        if row.key == 0:
            tally[0] += 1
        elif row.state[0] == _GONE:
            tally[1] -= 1
        if row.key == 0 or row.state[0] == _GONE:
            row.key = new
            row.state[0], row.state[1] = 1, 0
        row.state[1] += 1
    else:
        tally[3] += new != 0
    return how


def doubt(memory, tally, digests, start: int64_t):
    """Whether these rows are there, and what they are, is not known any more; the next to take."""
    rows_view: Py_buffer
    tally_view: Py_buffer
    view: Py_buffer
    row: known_p
    key: uint64_t
    PyObject_GetBuffer(memory, cython.address(rows_view), PyBUF_WRITABLE)
    PyObject_GetBuffer(tally, cython.address(tally_view), PyBUF_WRITABLE)
    PyObject_GetBuffer(digests, cython.address(view), PyBUF_SIMPLE)
    rows: known_p = cython.cast(known_p, rows_view.buf)
    counts: cython.p_longlong = cython.cast(cython.p_longlong, tally_view.buf)
    images: digested_p = cython.cast(digested_p, view.buf)
    size: int64_t = rows_view.len // cython.sizeof(Known)
    count: int64_t = view.len // cython.sizeof(Digested)
    while start < count and 4 * (counts[0] + 2) <= 3 * size:
        key = images[start].key
        if key & 1:
            row = _place(rows, size - 1, key)
            if row.key == 0:
                counts[0] += 1
            elif row.state[0] == _GONE:
                counts[1] -= 1
            row.key = key
            row.state[0] = row.state[1] = _DOUBTFUL
        start += 1
    PyBuffer_Release(cython.address(view))
    PyBuffer_Release(cython.address(tally_view))
    PyBuffer_Release(cython.address(rows_view))
    return start


def move(memory, into, tally, keep_gone: cython.bint):
    """Put rows into other, zeroed memory; without those that are gone, if they need not be kept."""
    old_view: Py_buffer
    new_view: Py_buffer
    tally_view: Py_buffer
    i: int64_t
    row: known_p
    PyObject_GetBuffer(memory, cython.address(old_view), PyBUF_SIMPLE)
    PyObject_GetBuffer(into, cython.address(new_view), PyBUF_WRITABLE)
    PyObject_GetBuffer(tally, cython.address(tally_view), PyBUF_WRITABLE)
    old: known_p = cython.cast(known_p, old_view.buf)
    new: known_p = cython.cast(known_p, new_view.buf)
    counts: cython.p_longlong = cython.cast(cython.p_longlong, tally_view.buf)
    size: int64_t = new_view.len // cython.sizeof(Known)
    count: int64_t = old_view.len // cython.sizeof(Known)
    for i in range(count):
        if old[i].key == 0:
            continue
        if old[i].state[0] == _GONE and not keep_gone:
            counts[0] -= 1
            counts[1] -= 1
            continue
        row = _place(new, size - 1, old[i].key)
        row[0] = old[i]
    PyBuffer_Release(cython.address(tally_view))
    PyBuffer_Release(cython.address(new_view))
    PyBuffer_Release(cython.address(old_view))
