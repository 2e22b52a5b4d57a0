cimport cython
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from binlogkit._kernel.native.layout cimport octets

cdef uint32_t crc32(uint32_t crc, octets p, size_t size) noexcept nogil

# Bits of Entry.notes.
cdef enum Note:
    N_LOOK = 1  # Python must look before the scan goes on
    N_BAD_CHECKSUM = 2
    N_NEW_MAP = 4  # a table map that was not met before
    N_NO_MAP = 8  # rows without a table map before them

ctypedef struct Entry:
    int64_t offset  # in the buffer
    uint32_t size
    uint32_t timestamp
    uint32_t server_id
    uint32_t log_pos
    uint16_t flags
    uint8_t type
    uint8_t notes
    int32_t slot  # of a table map and of rows: which map; else -1
    int64_t tx  # number of its transaction, -1 outside any

ctypedef struct Transaction:
    int64_t number
    int64_t pos
    int64_t end_pos
    int64_t gno
    int64_t last_committed
    int64_t sequence_number
    int64_t commit_timestamp
    int64_t original_timestamp
    int64_t thread_id
    uint64_t xid
    int64_t events
    int64_t size
    int64_t row_events
    uint32_t timestamp
    uint32_t end_timestamp
    uint32_t server_id
    uint8_t sid[16]
    uint8_t has  # bits: what of the above the log tells
    uint8_t outcome
    uint8_t explicit
    uint8_t open

ctypedef Entry* entry_p
ctypedef Transaction* transaction_p

@cython.final
cdef class Index:
    cdef Entry* entries
    cdef readonly int64_t count
    cdef int64_t capacity
    cdef int64_t room
    cdef int users  # who reads it just now; -1: it is written
    cdef Entry* add(self) noexcept nogil
    cdef int begin_reading(self) except -1
    cdef int check_idle(self) except -1

@cython.final
cdef class Transactions:
    cdef Transaction* items
    cdef readonly int64_t count
    cdef int64_t capacity
    cdef int64_t next_number
    cdef bint busy  # it is written just now
    cdef Transaction* add(self) noexcept nogil
    cdef int check_idle(self) except -1
