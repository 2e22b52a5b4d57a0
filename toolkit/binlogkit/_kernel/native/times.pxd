from binlogkit._kernel.native.layout cimport *

cdef reader_p temporal_reader(int kind) noexcept nogil
