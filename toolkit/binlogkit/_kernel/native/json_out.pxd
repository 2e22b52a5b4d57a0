from libc.string cimport memcpy

from binlogkit._kernel.native.ascii cimport copy_plain
from binlogkit._kernel.native.layout cimport *

# Where the text of a document goes. ``out``: where its next byte goes, with room up to ``limit``;
# ``most``: where in the data it must end; ``end``: of what may be read; ``failure``: 0, a
# FaultCode, or -1 for bytes that are no document.
ctypedef struct JsonOut:
    Values* v
    uint8_t* out
    uint8_t* limit
    octets end
    int64_t most
    int as_5_7
    int failure

ctypedef JsonOut* json_out_p

cdef inline bint put(JsonOut* o, const char* text, int64_t size) noexcept nogil:
    """Append text of ASCII; inlined, most pieces are of a few bytes and a known size."""
    if size > o.limit - o.out and not make_room(o, size):
        return False
    memcpy(o.out, text, size)
    o.out += size
    return True

cdef inline bint quoted(JsonOut* o, octets p, int64_t size) noexcept nogil:
    """A string in double quotes, escaped; False also where it is no UTF-8."""
    # What is copied may reach beyond the string, but not past the slack after the limit.
    if size + 2 > o.limit - o.out or not copy_plain(o.out + 1, p, size, o.end - p):
        return quoted_slowly(o, p, size)
    o.out[0] = 0x22
    o.out[size + 1] = 0x22
    o.out += size + 2
    return True

cdef bint make_room(JsonOut* o, int64_t size) noexcept nogil
cdef bint quoted_slowly(JsonOut* o, octets p, int64_t size) noexcept nogil
cdef bint put_integer(JsonOut* o, uint64_t value, bint negative) noexcept nogil
cdef bint put_double(JsonOut* o, double value) noexcept nogil
cdef bint invalid(JsonOut* o) noexcept nogil
cdef int escaped(uint8_t byte, char* out) noexcept nogil
