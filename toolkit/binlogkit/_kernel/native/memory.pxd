from libc.stddef cimport size_t

cdef extern from "memory.h":
    void* buffer_get "binlogkit_buffer_get" (size_t size) nogil
    void buffer_put "binlogkit_buffer_put" (void* buffer) nogil
    void* buffer_grow "binlogkit_buffer_grow" (void* buffer, size_t used, size_t size) nogil
    size_t buffer_size "binlogkit_buffer_size" (const void* buffer) nogil
