from binlogkit._kernel.native.layout cimport *

cdef reader_p decimal_reader(int kind) noexcept nogil
