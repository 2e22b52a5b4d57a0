cimport cython

from binlogkit._kernel.native.layout cimport *

@cython.final
cdef class Runs:
    cdef Run* items
    cdef int32_t* places  # of each run's transaction among those of the rows
    cdef readonly int64_t count
    cdef readonly int64_t rows
    cdef readonly int64_t transactions

cdef Runs runs_of(Run* items, int64_t count, int64_t rows)
