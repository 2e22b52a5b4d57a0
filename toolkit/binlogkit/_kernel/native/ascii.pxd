from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

cdef extern from "ascii.h":
    bint copy_ascii "binlogkit_copy_ascii" (
        uint8_t* out, const uint8_t* p, size_t size, size_t readable
    ) nogil
    bint copy_plain "binlogkit_copy_plain" (
        uint8_t* out, const uint8_t* p, size_t size, size_t readable
    ) nogil
