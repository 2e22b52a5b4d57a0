from binlogkit._kernel.native.digests cimport *

cdef octets image(Table* t, int side, octets p, octets end, bint diffs) noexcept nogil
cdef bint need(Table* t, int field, uint64_t size, octets p, octets end) noexcept nogil
cdef octets fail(Table* t, int code, int field, uint64_t wants, int64_t left) noexcept nogil
