from binlogkit._kernel.native.json_out cimport JsonOut
from binlogkit._kernel.native.layout cimport *

cdef bint put_opaque(JsonOut* o, int field_type, octets p, int64_t size) noexcept nogil
