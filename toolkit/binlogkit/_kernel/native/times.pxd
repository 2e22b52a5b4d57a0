from libc.stdint cimport int64_t, uint8_t

from binlogkit._kernel.native.layout cimport Column, octets

cdef int temporal(Column* c, octets p, int64_t* out) noexcept nogil
