from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t

cdef extern from "crc32.h":
    int crc_prepare "binlogkit_crc_prepare" (int lane) nogil
    uint32_t crc_of "binlogkit_crc32" (uint32_t crc, const uint8_t* p, size_t size) nogil
