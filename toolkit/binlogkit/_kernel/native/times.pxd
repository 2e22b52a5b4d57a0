from binlogkit._kernel.native.layout cimport reader_p

cdef reader_p temporal_reader(int kind) noexcept nogil
