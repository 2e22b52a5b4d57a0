cimport cython

from binlogkit._kernel.native.digests cimport *

@cython.final
cdef class TableBuilder:
    cdef Table t
    cdef readonly object plan
    cdef object user  # who fills it or empties it just now

cdef int claim(TableBuilder builder, object user) except -1
