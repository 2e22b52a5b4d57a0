cimport cython

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

ctypedef const int32_t* offsets_p
ctypedef const int64_t* places_p
ctypedef const uint8_t* octets
ctypedef const uint64_t* hashes_p

cdef extern from "xxh64.h":
    uint64_t xxh64 "binlogkit_xxh64" (const uint8_t* p, size_t size) nogil
    void put_hash "binlogkit_put_hash" (uint8_t* filter, uint64_t blocks, uint64_t hash) nogil
    int has_hash "binlogkit_has_hash" (
        const uint8_t* filter, uint64_t blocks, uint64_t hash
    ) nogil

@cython.final
cdef class _Written:
    cdef Py_buffer buffer
    cdef uint8_t* at
    cdef int64_t size
