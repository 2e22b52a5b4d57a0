from binlogkit._kernel.native.layout cimport *

cdef int read_decimal128(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_decimal256(Column* c, octets p, uint8_t* out) noexcept nogil
