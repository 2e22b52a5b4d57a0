from libc.stdint cimport uint8_t

cdef extern from "ahead.h":
    void read_ahead "binlogkit_read_ahead" (const uint8_t* p, const uint8_t* end) nogil
