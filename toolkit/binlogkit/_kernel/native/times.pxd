from binlogkit._kernel.native.layout cimport *

cdef int read_date(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_datetime2(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_time2(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_timestamp2(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_old_time(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_old_datetime(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_old_timestamp(Column* c, octets p, uint8_t* out) noexcept nogil
