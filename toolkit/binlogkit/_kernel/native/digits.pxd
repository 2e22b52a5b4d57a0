from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from "digits.h":
    const uint32_t[10] POWERS "binlogkit_powers"
    void put_digits "binlogkit_put_digits" (uint8_t* out, uint64_t value, int width) nogil
    void put_group "binlogkit_put_group" (uint8_t* out, uint32_t value, int width) nogil
    int put_number "binlogkit_put_number" (uint8_t* out, uint64_t value) nogil
