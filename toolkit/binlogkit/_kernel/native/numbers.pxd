from binlogkit._kernel.native.layout cimport *

cdef int read_as_stored(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_int24(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_year(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_float(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_double(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_bit(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_enum(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_set(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_decimal128(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_decimal256(Column* c, octets p, uint8_t* out) noexcept nogil
