cimport cython

from binlogkit._kernel.native.layout cimport *

ctypedef struct Body:
    uint8_t* data
    int64_t size
    uint32_t hash

ctypedef struct Place:
    uint64_t id
    int64_t statement  # in which it was mapped last
    int32_t slot  # -1: taken away
    uint8_t used
    uint8_t changed  # by its last map, which differs from the one before in the statement

@cython.final
cdef class TableMaps:
    cdef Body* bodies
    cdef readonly int32_t count
    cdef int64_t body_capacity
    cdef int32_t* by_hash
    cdef int64_t hash_size
    cdef Place* places
    cdef int64_t place_size
    cdef int64_t place_count
    cdef int64_t kept  # bodies in front that no map that comes is compared with
    cdef int64_t statement  # number of the statement that is open
    cdef bint busy  # it is written just now
    cdef int check_idle(self) except -1
    cdef int32_t slot_of(self, uint64_t table_id) noexcept nogil
    cdef Place* put(self, uint64_t table_id, int32_t slot) noexcept nogil
    cdef bint in_statement(self, uint64_t table_id) noexcept nogil
    cdef int32_t intern(self, octets body, int64_t size, bint* new) noexcept nogil
    cdef Place* find(self, uint64_t table_id) noexcept nogil
    cdef bint widen(self) noexcept nogil
    cdef bint rehash(self) noexcept nogil
