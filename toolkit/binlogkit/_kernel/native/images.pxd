from binlogkit._kernel.native.digests cimport *

cdef bint decode_rows(Table* t, RowsAt* e, octets p, octets end) noexcept nogil
