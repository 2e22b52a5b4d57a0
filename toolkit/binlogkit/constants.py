"""Numbers of the format, by the names the server's sources give them.

Event types: ``Log_event_type`` of 8.0.31 (0-41), 8.3.0 (42) and of the sources after 9.7 (43);
MariaDB's from 160 on (its ``log_event.h``). Column types: ``enum_field_types`` of 8.0.31, VECTOR
from 9.0.0. Header flags: manual of the server's sources, ``binlog_event.h`` and ``log_event.h``.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

BINLOG_MAGIC = b"\xfebin"
ENCRYPTED_MAGIC = b"\xfdbin"
HEADER_LENGTH = 19
CHECKSUM_LENGTH = 4

#: A table by its database and its name.
TableId = tuple[str, str]

#: The engine of tables whose rows are in other tables (manual, "The MERGE Storage Engine").
MERGE = "MRG_MYISAM"


class EventType(IntEnum):
    """The type code in an event's header."""

    UNKNOWN_EVENT = 0
    START_EVENT_V3 = 1
    QUERY_EVENT = 2
    STOP_EVENT = 3
    ROTATE_EVENT = 4
    INTVAR_EVENT = 5
    LOAD_EVENT = 6
    SLAVE_EVENT = 7
    CREATE_FILE_EVENT = 8
    APPEND_BLOCK_EVENT = 9
    EXEC_LOAD_EVENT = 10
    DELETE_FILE_EVENT = 11
    NEW_LOAD_EVENT = 12
    RAND_EVENT = 13
    USER_VAR_EVENT = 14
    FORMAT_DESCRIPTION_EVENT = 15
    XID_EVENT = 16
    BEGIN_LOAD_QUERY_EVENT = 17
    EXECUTE_LOAD_QUERY_EVENT = 18
    TABLE_MAP_EVENT = 19
    PRE_GA_WRITE_ROWS_EVENT = 20
    PRE_GA_UPDATE_ROWS_EVENT = 21
    PRE_GA_DELETE_ROWS_EVENT = 22
    WRITE_ROWS_EVENT_V1 = 23
    UPDATE_ROWS_EVENT_V1 = 24
    DELETE_ROWS_EVENT_V1 = 25
    INCIDENT_EVENT = 26
    HEARTBEAT_LOG_EVENT = 27
    IGNORABLE_LOG_EVENT = 28
    ROWS_QUERY_LOG_EVENT = 29
    WRITE_ROWS_EVENT = 30
    UPDATE_ROWS_EVENT = 31
    DELETE_ROWS_EVENT = 32
    GTID_LOG_EVENT = 33
    ANONYMOUS_GTID_LOG_EVENT = 34
    PREVIOUS_GTIDS_LOG_EVENT = 35
    TRANSACTION_CONTEXT_EVENT = 36
    VIEW_CHANGE_EVENT = 37
    XA_PREPARE_LOG_EVENT = 38
    PARTIAL_UPDATE_ROWS_EVENT = 39
    TRANSACTION_PAYLOAD_EVENT = 40
    HEARTBEAT_LOG_EVENT_V2 = 41
    GTID_TAGGED_LOG_EVENT = 42  # 8.3.0
    LARGE_TRANSACTION_HEADER_EVENT = 43  # after 9.7


MARIADB_EVENT_TYPES = {
    160: "MARIADB_ANNOTATE_ROWS_EVENT",
    161: "MARIADB_BINLOG_CHECKPOINT_EVENT",
    162: "MARIADB_GTID_EVENT",
    163: "MARIADB_GTID_LIST_EVENT",
    164: "MARIADB_START_ENCRYPTION_EVENT",
    165: "MARIADB_QUERY_COMPRESSED_EVENT",
    166: "MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1",
    167: "MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1",
    168: "MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1",
    169: "MARIADB_WRITE_ROWS_COMPRESSED_EVENT",
    170: "MARIADB_UPDATE_ROWS_COMPRESSED_EVENT",
    171: "MARIADB_DELETE_ROWS_COMPRESSED_EVENT",
    172: "MARIADB_PARTIAL_ROW_DATA_EVENT",
}

_TYPE_NAMES = {int(t): t.name for t in EventType} | MARIADB_EVENT_TYPES


def event_type_name(code: int) -> str:
    """The official name of an event type, ``UNKNOWN_EVENT_<code>`` for one that has none."""
    return _TYPE_NAMES.get(code) or f"UNKNOWN_EVENT_{code}"


class EventFlag(IntFlag):
    """Bits of the common header's ``flags`` (``LOG_EVENT_…_F`` in the server's sources)."""

    IN_USE = 0x0001  # 5.0.3: the log was not closed (format description only)
    FORCED_ROTATE = 0x0002  # unused since 4.1.1
    THREAD_SPECIFIC = 0x0004  # 4.1.0: uses temporary tables
    SUPPRESS_USE = 0x0008  # 4.1.7: needs no default database
    UPDATE_TABLE_MAP_VERSION = 0x0010  # 5.1.4, unused
    ARTIFICIAL = 0x0020  # made up by the server, not in its log
    RELAY_LOG = 0x0040  # written by a replica's receiver thread
    IGNORABLE = 0x0080  # 5.6.2: may be skipped by who does not know the type
    NO_FILTER = 0x0100  # 5.6: not subject to replication filters
    MTS_ISOLATE = 0x0200  # 5.6: to be applied alone


class ColumnType(IntEnum):
    """``enum_field_types``; ENUM and SET appear in a table map as STRING with a real type."""

    DECIMAL = 0
    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    TYPED_ARRAY = 20
    VECTOR = 242
    INVALID = 243
    BOOL = 244
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255
