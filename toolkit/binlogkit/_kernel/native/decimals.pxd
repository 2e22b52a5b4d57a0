from libc.stdint cimport uint8_t

from binlogkit._kernel.native.layout cimport Column, octets

cdef bint decimal128(Column* c, octets p, uint8_t* out) noexcept nogil
cdef bint decimal256(Column* c, octets p, uint8_t* out) noexcept nogil
