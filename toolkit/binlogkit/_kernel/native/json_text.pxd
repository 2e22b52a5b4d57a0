from binlogkit._kernel.native.layout cimport *

cdef int put_json(Values* v, octets p, int64_t size, octets end, bint as_5_7) noexcept nogil
cdef octets counted(octets p, int64_t size, int64_t* length) noexcept nogil
