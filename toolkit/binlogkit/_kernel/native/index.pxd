cimport cython
from libc.stddef cimport size_t

from binlogkit._kernel.native.layout cimport *

cdef uint32_t crc32(uint32_t crc, octets p, size_t size) noexcept nogil

# Bits of Entry.notes.
cdef enum Note:
    N_LOOK = 1  # Python must look before the scan resumes
    N_BAD_CHECKSUM = 2
    N_NEW_MAP = 4  # a table map that was not met before
    N_NO_MAP = 8  # rows without a table map before them
    N_STRAY = 16  # rows without a table map in their statement
    N_MAP_CHANGED = 32  # a table map that differs from that of its id in the statement
    N_STATEMENT_END = 64  # rows that end their statement

# Bits of Spot.flags.
cdef enum SpotFlag:
    SPOT_BAD = 1  # the event's checksum is wrong
    SPOT_LOOK = 2  # Python must look: the layout is not that of a server since 5.1.18
    SPOT_SPLICED = 4  # what a payload holds stands after it

# Bits of Transaction.notes.
cdef enum TransactionNote:
    T_ALONE = 1  # rows that stand without GTID, BEGIN and end
    T_IN_STATEMENT = 2  # it ended inside a statement
    T_REPLACED = 4  # another one began before its end
    T_COMPRESSED = 8  # it has a payload

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

# Where an event stood that was packed: its file's bytes are not those of the buffer.
ctypedef struct Spot:
    int64_t pos
    int64_t end_pos
    int64_t inner  # number inside its payload, -1 outside
    uint32_t size  # in its file, checksum included
    uint32_t flags

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
    int64_t length  # as its GTID event says, -1 where that does not
    uint32_t timestamp
    uint32_t end_timestamp
    uint32_t server_id
    uint32_t digest  # a CRC of its events' contents, as the log has them
    uint8_t sid[16]
    uint8_t has  # bits: what of the above the log has
    uint8_t outcome
    uint8_t explicit
    uint8_t open
    uint8_t first_type  # of its first and its last event
    uint8_t last_type
    uint8_t notes
    uint8_t spare[1]

ctypedef const Spot* spots_p
ctypedef const Spot* spot_p
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
