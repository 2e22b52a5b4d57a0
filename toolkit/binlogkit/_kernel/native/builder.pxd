cimport cython
from binlogkit._kernel.native.layout cimport Table, table_p

@cython.final
cdef class TableBuilder:
    cdef Table t
    cdef readonly object plan
