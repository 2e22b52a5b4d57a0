cimport cython

from binlogkit._kernel.native.index cimport *
from binlogkit._kernel.native.layout cimport *
from binlogkit._kernel.native.scan cimport Scanner

@cython.final
cdef class RowsPass:
    cdef readonly Scanner scanner
    cdef readonly Index index
    cdef object data
    cdef object places
    cdef spots_p spots
    cdef bytes wanted
    cdef char* words  # those of wanted: as many as chosen
    cdef int64_t chosen
    cdef readonly int64_t origin
    cdef readonly int64_t seq
    cdef readonly int64_t entry  # the event that is next, or was stopped at
    cdef public int64_t inner  # of the index's first event in its payload
    cdef int64_t at
    cdef int64_t row
    cdef int header_length
    cdef int tail  # bytes of the checksum
    cdef int table_id_width
    cdef int64_t outer_pos
    cdef int64_t outer_end
    cdef bint running
    cdef int decode(
        self, table_p* tables, int64_t slots, int64_t stop, octets data, int64_t size
    ) noexcept nogil
    cdef int event(self, table_p* tables, int64_t slots, octets data, int64_t size) noexcept nogil
