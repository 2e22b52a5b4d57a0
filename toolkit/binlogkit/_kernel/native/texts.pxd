from binlogkit._kernel.native.layout cimport *

cdef bint valid_utf8(octets p, int64_t size, bint four) noexcept nogil
cdef int64_t put_points(uint8_t* out, octets p, int64_t size, points_p points) noexcept nogil
