# cython: language_level=3
"""What the compiled modules share: kinds of columns, and the buffers that values go to.

The other ``.pxd`` take all of it: what a ``.pxd`` takes, the module of that name sees.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    #error "the kernel copies little-endian integers as they are"
    #endif
    __extension__ typedef unsigned __int128 binlogkit_u128;
    #define BINLOGKIT_HIGH_BITS 0x8080808080808080ull
    """
    ctypedef unsigned long long u128 "binlogkit_u128"
    uint64_t HIGH_BITS "BINLOGKIT_HIGH_BITS"  # set in no byte of ASCII

ctypedef const uint8_t* octets
ctypedef const uint32_t* points_p

cpdef enum Kind:
    # Cells of a fixed number of bytes.
    K_SKIP_FIXED
    K_COPY1
    K_COPY2
    K_COPY4
    K_COPY8
    K_INT24
    K_UINT24
    K_YEAR
    K_BIT
    K_FLOAT
    K_DOUBLE
    K_DECIMAL128
    K_DECIMAL256
    K_DATE
    K_TIME2
    K_DATETIME2
    K_TIMESTAMP2
    K_OLD_TIME
    K_OLD_DATETIME
    K_OLD_TIMESTAMP
    K_ENUM
    K_SET
    # Cells with their length in front: all from here on.
    K_SKIP_PREFIXED
    K_BYTES
    K_PADDED
    K_UTF8MB4
    K_UTF8MB3
    K_SINGLE_BYTE
    K_JSON
    # A column that cannot be walked over.
    K_BAD

cdef enum State:
    S_VALUE
    S_NULL
    S_NOT_IN_IMAGE
    S_UNDECODABLE
    S_NO_ARROW_VALUE
    S_JSON_DIFF

cpdef enum FaultCode:
    E_NONE
    E_NEEDS
    E_NEEDS_LENGTH
    E_SAYS
    E_TYPE
    E_EMPTY_ROW
    E_PACKED
    E_COLUMN_COUNT
    E_HEAD
    E_FULL
    E_MEMORY

# A fault's field: the column's index, or one of these.
cpdef enum Field:
    F_COLUMN_COUNT = -8
    F_NULL_BITMAP
    F_VALUE_OPTIONS
    F_PARTIAL_BITS
    F_ROWS

# The facts of a row that its event has.
cdef enum:
    FACT_POS
    FACT_END_POS
    FACT_INNER
    FACT_ROW
    FACT_TIMESTAMP
    FACT_SERVER_ID
    FACT_SEQ
    FACT_TX
    FACT_OP
    FACTS

cdef enum:
    MAX_GROUPS = 9
    FIRST_BYTES = 128
    FIRST_RAWS = 16
    FIRST_RUNS = 8
    MAX_DATA = 0x7FFF0000  # bytes that 32-bit offsets can reach
    NO_POINT = 0xFFFE  # a byte that is no character of its set
    SLACK = 32  # bytes of data beyond what is used: short text is copied as so many bytes

ctypedef struct Column

# The state of a cell of a fixed number of bytes, and its value at ``out``.
ctypedef int (*reader_p)(Column* c, octets p, uint8_t* out) noexcept nogil

ctypedef struct Column:
    int kind
    int out  # place among the columns asked for, -1 for a column that is not
    int is_json
    int width  # bytes of the cell, or of the length in front of it
    int fraction  # bytes of a temporal type's fraction
    int flag  # JSON: as 5.7 prints it
    int digests  # that it belongs to, a bit each; 0 where none are wanted
    int64_t limit  # BIT: bits; ENUM, SET: labels, -1 where not known; PADDED: bytes
    int element  # bytes of an Arrow value, 0 for a variable number
    int groups
    int narrow  # DECIMAL: groups in front whose number fits 64 bits
    uint8_t digits[MAX_GROUPS]
    uint8_t sizes[MAX_GROUPS]
    uint32_t powers[MAX_GROUPS]  # 10 ** digits
    uint32_t* points  # SINGLE_BYTE: 256 characters, and whether those of ASCII are its own
    reader_p read  # of a fixed number of bytes, where that is more than a copy

ctypedef struct Values:
    int64_t rows  # rows that are settled; -1: no value was stored yet
    int64_t nulls
    int64_t element
    uint8_t* validity
    int32_t* offsets
    uint8_t* data
    int64_t used  # bytes of data, where their number is variable
    int64_t capacity

ctypedef struct RawCell:
    int32_t row
    int32_t image
    int32_t column
    int32_t state
    int64_t start
    int64_t length

ctypedef struct Fault:
    int code
    int field
    uint64_t wants
    int64_t left

# The rows that one event gave, with the facts of the first.
ctypedef struct Run:
    int64_t first
    int64_t facts[FACTS]

ctypedef struct Table:
    int count
    int wanted
    int json_count
    Column* columns
    Values* values[2]
    Values states[2]
    Values digests[2]
    int digested  # of all columns
    int lacking[2]  # digests of which an image lacks a column …
    int partly[2]  # … and has another
    int64_t rows
    int64_t capacity
    int64_t max_rows
    int64_t max_bytes
    int64_t bytes
    int64_t row_bytes
    RawCell* raws
    int64_t raw_count
    int64_t raw_capacity
    uint8_t* heap
    int64_t heap_used
    int64_t heap_capacity
    Run* runs
    int64_t run_count
    int64_t run_capacity
    Step* steps[2]
    int present_count[2]
    int whole[2]
    uint8_t* seen[2]
    uint8_t* diffs
    Fault fault

# A rows event: where it stood, and how far it is decoded.
ctypedef struct RowsAt:
    int code
    int table_id_width
    int64_t facts[FACTS]
    octets at
    int64_t row

# A column of an image.
ctypedef struct Step:
    Column* column
    Values* values
    int index

ctypedef Column* column_p
ctypedef Step* step_p
ctypedef Values* values_p
ctypedef Table* table_p
ctypedef RowsAt* rows_at_p
ctypedef Run* run_p

cdef inline uint64_t little(octets p, int size) noexcept nogil:
    """A little-endian number of up to 8 bytes."""
    cdef uint64_t value = 0
    cdef int i
    for i in range(size):
        value |= <uint64_t>p[i] << (8 * i)
    return value

cdef inline uint32_t digit_group(octets p, int size, uint32_t flip) noexcept nogil:
    """A group of a DECIMAL: 1 to 4 bytes, big-endian; ``flip``: all bits of a negative number."""
    cdef uint32_t value = p[0]
    cdef int i
    if size == 4:
        value = value << 24 | p[1] << 16 | p[2] << 8 | p[3]
        return value ^ flip
    for i in range(1, size):
        value = value << 8 | p[i]
    return value ^ flip >> (32 - 8 * size)
