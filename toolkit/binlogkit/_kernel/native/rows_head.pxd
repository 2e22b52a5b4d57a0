# cython: language_level=3
"""What stands in front of the rows of an event; its layout is in ``events/rows.py``."""

from binlogkit._kernel.native.layout cimport *

cdef inline int more_of_packed(uint8_t first) noexcept nogil:
    """The bytes after the first of a packed integer; -1: none begins so."""
    if first <= 250:
        return 0
    if first == 251 or first == 255:
        return -1
    return 2 if first == 252 else 3 if first == 253 else 8

cdef inline bint extra_holds(bint update, octets p, octets end) noexcept nogil:
    """Whether V2's extra data fits its parts; what is after an unknown one is not known."""
    cdef int kind, size, met = 0
    while p < end:
        kind = p[0]
        if kind > 1 or met >> kind & 1:
            return True
        met |= 1 << kind
        p += 1
        if kind == 0:
            if end - p < 2 or p[0] < 2:
                return False
            size = p[0]
        else:
            size = 4 if update else 2
        if size > end - p:
            return False
        p += size
    return True

cdef inline octets rows_head(
    int code, int table_id_width, octets p, octets end, uint64_t* columns
) noexcept nogil:
    """Where the bitmaps of columns begin, and how many these are; NULL: not all of it is there."""
    cdef bint update = code == 24 or code == 31 or code == 39
    cdef int size
    if end - p < table_id_width + 2:
        return NULL
    p += table_id_width + 2
    if code >= 30:
        if end - p < 2:
            return NULL
        size = p[0] | p[1] << 8
        if size < 2 or size > end - p or not extra_holds(update, p + 2, p + size):
            return NULL
        p += size
    if p == end:
        return NULL
    size = more_of_packed(p[0])
    if size < 0 or size > end - p - 1:
        return NULL
    columns[0] = little(p + 1, size) if size else p[0]
    p += 1 + size
    if columns[0] > <uint64_t>(end - p) << 3:
        return NULL
    return p if <int64_t>(columns[0] + 7 >> 3) << update <= end - p else NULL
