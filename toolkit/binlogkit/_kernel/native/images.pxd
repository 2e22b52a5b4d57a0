from binlogkit._kernel.native.layout cimport *

cdef bint decode_rows(Table* t, RowsAt* e, octets p, octets end) noexcept nogil
