cimport cython

from binlogkit._kernel.native.layout cimport *

cdef bint prepare(Table* t, Values* v, int64_t row) noexcept nogil
cdef bint reserve(Values* v, int64_t size) noexcept nogil
cdef bint grow_rows(Table* t) noexcept nogil
cdef bint keep_raw(
    Table* t, int image, int column, int state, octets start, int64_t length
) noexcept nogil
cdef bint put_states(Table* t, int image, octets nulls, int64_t raws) noexcept nogil
cdef void undo_row(Table* t, int64_t raws, int64_t heap, int64_t size) noexcept nogil
cdef void release(Values* v) noexcept nogil
cdef bint grow_runs(Table* t) noexcept nogil
cdef void give_back(void* memory) noexcept nogil

@cython.final
cdef class Block:
    cdef uint8_t* memory
    cdef readonly int64_t size

@cython.final
cdef class View:
    cdef Py_buffer buffer
    cdef octets at
    cdef int64_t size

cdef Block block_of(void* memory, int64_t size)
cdef Block new_block(int64_t size)
cdef Block block_copy(const void* memory, int64_t size)
