from binlogkit._kernel.native.decimals cimport *
from binlogkit._kernel.native.layout cimport *
from binlogkit._kernel.native.times cimport *

cdef int read_as_stored(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_int24(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_year(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_float(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_double(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_bit(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_enum(Column* c, octets p, uint8_t* out) noexcept nogil
cdef int read_set(Column* c, octets p, uint8_t* out) noexcept nogil
cdef octets cell(Table* t, int side, int index, octets p, octets end) noexcept nogil
cdef octets json_diff(Table* t, int side, int index, octets p, octets end) noexcept nogil
cdef octets fail(Table* t, int code, int field, uint64_t wants, int64_t left) noexcept nogil
cdef reader_p reader_of(int kind) noexcept nogil
