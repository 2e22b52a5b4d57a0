from binlogkit._kernel.native.layout cimport *

cdef octets cell(Table* t, int side, int index, octets p, octets end) noexcept nogil
cdef octets json_diff(Table* t, int side, int index, octets p, octets end) noexcept nogil
cdef octets fail(Table* t, int code, int field, uint64_t wants, int64_t left) noexcept nogil
cdef reader_p reader_of(int kind) noexcept nogil
