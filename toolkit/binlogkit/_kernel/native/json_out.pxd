from libc.stdint cimport int64_t, uint8_t, uint64_t

from libc.string cimport memcpy

from binlogkit._kernel.native.layout cimport MAX_DATA, Values, octets

# Where the text of a document goes. ``room``: characters that it may still take; ``failure``: 0, a
# FaultCode, or -1 for bytes that are no document.
ctypedef struct JsonOut:
    Values* v
    int64_t room
    int as_5_7
    int failure

ctypedef JsonOut* json_out_p

cdef inline bint put(JsonOut* o, const char* text, int64_t size) noexcept nogil:
    """Append text of ASCII; inlined, most pieces are of a few bytes and a known size."""
    if (
        size > o.room
        or size > o.v.capacity - o.v.used
        or size > MAX_DATA - o.v.used
    ):
        return put_slowly(o, text, size)
    o.room -= size
    memcpy(o.v.data + o.v.used, text, size)
    o.v.used += size
    return True

cdef bint put_slowly(JsonOut* o, const char* text, int64_t size) noexcept nogil
cdef bint quoted(JsonOut* o, octets p, int64_t size) noexcept nogil
cdef bint put_integer(JsonOut* o, uint64_t value, bint negative) noexcept nogil
cdef bint put_double(JsonOut* o, double value) noexcept nogil
cdef bint invalid(JsonOut* o) noexcept nogil
