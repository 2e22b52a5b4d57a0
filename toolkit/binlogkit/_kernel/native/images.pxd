from libc.stdint cimport int64_t, uint8_t

from binlogkit._kernel.native.layout cimport RowsAt, Table, octets

cdef bint decode_rows(Table* t, RowsAt* e, octets p, octets end) noexcept nogil
