cimport cython

from binlogkit._kernel.native.index cimport *
from binlogkit._kernel.native.layout cimport *
from binlogkit._kernel.native.table_maps cimport TableMaps

cpdef enum Stop:
    STOP_END  # every event of the buffer was taken
    STOP_CUT  # the buffer ends inside an event
    STOP_FORMAT  # before a format description, which says how to continue
    STOP_LOOK  # after an event whose effect on transactions Python must say
    STOP_SIZE  # before an event that claims less than its header
    STOP_SHORT  # before an event that is too short for its checksum
    STOP_CHECKSUM  # before an event whose checksum is wrong
    STOP_POSITION  # before an event without a checksum that stands elsewhere than it says
    STOP_FULL  # before an event more than the index is to have
    STOP_MEMORY

cdef enum Has:
    HAS_GTID = 1
    HAS_CLOCK = 2
    HAS_COMMIT = 4
    HAS_THREAD = 8
    HAS_XID = 16

cdef enum Outcome:
    O_CUT
    O_COMMITTED
    O_ROLLED_BACK
    O_PREPARED

cdef enum:
    DUMMY_TABLE_ID = 0xFFFFFF  # rows for it carry none: they only end a statement
    STATUS_BLOCKS = 16
    STATUS_BYTES = 256

@cython.final
cdef class Scanner:
    cdef readonly TableMaps maps
    cdef readonly Transactions transactions
    cdef public int header_length
    cdef public bint checksums
    cdef public bint format_checksum
    cdef public bint verify
    cdef public bint positions
    cdef public int64_t most_events  # of an index
    cdef public int table_id_width
    cdef public int64_t outer_pos  # of the payload whose events these are, -1 in a log itself
    cdef public int64_t outer_end
    cdef readonly int64_t offset  # after the last event taken
    cdef public bint variables  # those of a statement came, and not it: Python looks at the next
    cdef public bint in_statement  # a statement's table maps came, and not its last rows
    cdef bint numbered  # the log's transactions have GTID events
    cdef bint torn  # and what stood before the next event is lost
    cdef readonly uint32_t computed  # of a checksum that is wrong
    cdef readonly uint32_t stored
    cdef uint32_t content  # the CRC of the last event's content
    cdef spots_p spots  # of packed events, from the index's first on; NULL: they are not packed
    cdef uint8_t[STATUS_BLOCKS][STATUS_BYTES] status
    cdef int[STATUS_BLOCKS] status_size
    cdef int status_next
    cdef int length  # header_length and table_id_width as they were when the scan began
    cdef int id_width
    cdef int64_t spot_count
    cdef int check_idle(self) except -1
    cdef int check_format(self) except -1
    cdef int scan_events(
        self, Index index, octets data, int64_t at, int64_t end, int64_t origin, int forced
    ) noexcept nogil
    cdef bint checksum_holds(self, octets p, uint32_t size, int type, int flags) noexcept nogil
    cdef bint take_event(
        self, Entry* e, octets p, octets end, int64_t pos, const Spot* spot
    ) noexcept nogil
    cdef void take_rows(self, Entry* e, octets p) noexcept nogil
    cdef Transaction* current(self) noexcept nogil
    cdef Transaction* start(self, Entry* e, int64_t pos, const Spot* spot) noexcept nogil
    cdef Transaction* begin(self, Entry* e, int64_t pos, const Spot* spot) noexcept nogil
    cdef void count(self, Transaction* t, Entry* e, int64_t pos, const Spot* spot) noexcept nogil
    cdef void end(self, Transaction* t, int outcome) noexcept nogil
    cdef bint take_gtid(
        self, Entry* e, octets p, octets end, int64_t pos, const Spot* spot
    ) noexcept nogil
    cdef bint take_query(
        self, Entry* e, octets p, octets end, int64_t pos, const Spot* spot
    ) noexcept nogil
    cdef bint knows(self, octets p, int size) noexcept nogil
