from binlogkit._kernel.native.layout cimport reader_p

cdef reader_p decimal_reader(int kind) noexcept nogil
