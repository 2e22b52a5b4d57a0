from binlogkit._kernel.native.layout cimport Table

cdef class TableBuilder:
    cdef Table t
    cdef readonly object plan
