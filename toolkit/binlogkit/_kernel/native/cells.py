"""The cells of a row image: the extent of each by its column's layout, its value by its kind."""

import cython
from cython.cimports.binlogkit._kernel.native.ascii import copy_ascii
from cython.cimports.binlogkit._kernel.native.json_text import put_json
from cython.cimports.binlogkit._kernel.native.texts import put_points, valid_utf8
from cython.cimports.binlogkit._kernel.native.values import keep_raw, prepare, put_states, reserve
from cython.cimports.libc.string import memcpy, memset


def fail(t, code, field, wants, left):
    """Say what is wrong; NULL."""
    t.fault.code = code
    t.fault.field = field
    t.fault.wants = wants
    t.fault.left = left
    return cython.NULL


def need(t, field, size, p, end):
    """Whether ``size`` bytes are left; else the fault says so."""
    left: int64_t = end - p
    if left < 0 or size > cython.cast(uint64_t, left):
        fail(t, E_NEEDS, field, size, left)
        return False
    return True


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
def _json(
    t: table_p, c: column_p, v: values_p, p: octets, size: int64_t, end: octets
) -> cython.int:
    """A document as text; its state, or E_… below 0."""
    before: int64_t = v.used
    state: cython.int = put_json(v, p, size, end, c.flag)
    if state != S_VALUE:
        v.used = before
    t.bytes += v.used - before
    return state


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
        return _json(t, c, v, p, size, end) == S_VALUE
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
    """A cell where nothing stands in the way; NULL, with nothing stored: ``_cell`` must look."""
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
    elif width == 4:
        memcpy(cython.address(size), p, 4)
    elif width == 3:
        size = p[0] | p[1] << 8 | p[2] << 16
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
def _with_room(
    t: table_p, c: column_p, v: values_p, p: octets, size: int64_t, end: octets
) -> cython.int:
    """The state of a cell of any length, for which room is made; E_… below 0."""
    width: int64_t = 3 * size if c.kind == K_SINGLE_BYTE else max(size, c.limit)
    if c.kind == K_JSON:
        return _json(t, c, v, p, size, end)
    if width > MAX_DATA - v.used:
        return -E_FULL
    if not reserve(v, width):
        return -E_MEMORY
    return S_VALUE if _text(t, c, v, p, size, end) else S_UNDECODABLE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cell(t: table_p, side: cython.int, index: cython.int, p: octets, end: octets) -> octets:
    """A cell in whose way something stands; NULL: it does not fit, or no memory is left."""
    c: column_p = cython.address(t.columns[index])
    v: values_p = cython.address(t.values[side][index])
    size: int64_t = c.width
    left: int64_t = end - p
    state: cython.int
    if c.kind == K_BAD:
        return fail(t, E_TYPE, index, 0, left)
    if size > left:
        return fail(t, E_NEEDS if c.kind < K_SKIP_PREFIXED else E_NEEDS_LENGTH, index, size, left)
    if c.kind >= K_SKIP_PREFIXED:
        size = cython.cast(int64_t, little(p, c.width))
        p += c.width
        left -= c.width
        if size > left:
            return fail(t, E_SAYS, index, size, left)
    if not prepare(t, v, t.rows):
        return fail(t, E_MEMORY, index, 0, 0)
    if v.element:
        state = c.read(c, p, v.data + t.rows * v.element)
    else:
        state = _with_room(t, c, v, p, size, end)
    if state == -E_FULL and not t.rows:
        state = S_NO_ARROW_VALUE  # more than an Arrow string can hold
    if state < 0:
        return fail(t, -state, index, 0, 0)
    if state == S_VALUE:
        v.rows = t.rows + 1
        if not v.element:
            v.offsets[v.rows] = cython.cast(int32_t, v.used)
    elif not keep_raw(t, side, c.out, state, p, size):
        return fail(t, E_MEMORY, index, 0, 0)
    return p + size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _json_diff(t: table_p, side: cython.int, index: cython.int, p: octets, end: octets) -> octets:
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


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _digest(
    c: column_p, index: cython.int, p: octets, end: octets, digests: cython.pointer(uint64_t)
) -> cython.void:
    """Add a cell to the digests that its column belongs to; NULL adds nothing."""
    own: uint64_t = mixed(digest_of(p, end), index)
    if c.digests & 1:
        digests[0] = mixed(digests[0], own)
    if c.digests & 2:
        digests[1] = mixed(digests[1], own)
    if c.digests & 4:
        digests[2] = mixed(digests[2], own)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_digests(
    t: table_p, side: cython.int, partly: cython.int, digests: cython.pointer(uint64_t)
) -> cython.bint:
    """An image's digests: odd, but where it has none of their columns, or some only."""
    i: cython.int
    v: values_p = cython.address(t.digests[side])
    if v.rows != t.rows and not prepare(t, v, t.rows):
        return False
    for i in range(DIGESTS):
        if partly >> i & 1:
            digests[i] = DIGEST_PARTLY
        elif t.lacking[side] >> i & 1:
            digests[i] = DIGEST_ABSENT
        else:
            digests[i] |= 1
    memcpy(v.data + t.rows * v.element, digests, v.element)
    v.rows = t.rows + 1
    return True


def image(t, side, p, end, diffs):
    """Step over an image and store its cells; ``diffs``: some say how a document changes."""
    i: cython.int
    steps: step_p = t.steps[side]
    count: cython.int = t.present_count[side]
    size: cython.int = (count + 7) >> 3
    raws: int64_t = t.raw_count
    partly: cython.int = t.partly[side]
    digests: uint64_t[DIGESTS]
    nulls: octets = p
    start: octets
    if not need(t, F_NULL_BITMAP, size, p, end):
        return cython.NULL
    p += size
    digests[0] = digests[1] = digests[2] = 0
    for i in range(count):
        if nulls[i >> 3] >> (i & 7) & 1:
            continue
        start = p
        if diffs and t.diffs[steps[i].index]:
            p = _json_diff(t, side, steps[i].index, p, end)
            partly |= steps[i].column.digests
        else:
            p = _easy(t, steps[i].column, steps[i].values, start, end)
            if p is cython.NULL:
                p = _cell(t, side, steps[i].index, start, end)
        if p is cython.NULL:
            return cython.NULL
        if t.digested:
            _digest(steps[i].column, steps[i].index, start, p, digests)
    if t.digested and not _put_digests(t, side, partly, digests):
        return fail(t, E_MEMORY, F_ROWS, 0, 0)
    if (not t.whole[side] or t.raw_count != raws) and t.wanted:
        if not put_states(t, side, nulls, raws):
            return fail(t, E_MEMORY, F_ROWS, 0, 0)
    return p
