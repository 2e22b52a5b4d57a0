"""The event types in one line each: the version that brought it, and what it is.

Versions: the manual's list of event meanings, the release notes and the server's
sources, ``binlog_event.h`` of 8.0.31 and 9.x.
"""

from __future__ import annotations

from binlogkit.constants import EventType, event_type_name

__all__ = ["EVENT_TYPES", "type_meaning", "type_since"]

EVENT_TYPES: dict[str, tuple[str, str]] = {
    "UNKNOWN_EVENT": ("3.23", "never written: the code of nothing"),
    "START_EVENT_V3": ("3.23", "the first event of a log up to 4.1: what wrote it"),
    "QUERY_EVENT": ("3.23", "a statement as text, or BEGIN, COMMIT, DDL"),
    "STOP_EVENT": ("3.23", "the server shut down"),
    "ROTATE_EVENT": ("3.23", "the log continues in another file"),
    "INTVAR_EVENT": ("3.23", "LAST_INSERT_ID or INSERT_ID for the statement that follows"),
    "LOAD_EVENT": ("3.23", "LOAD DATA of a file that is not in the log"),
    "SLAVE_EVENT": ("4.0.0", "whom a replica reads from; no server writes it any more"),
    "CREATE_FILE_EVENT": ("4.0.0", "LOAD DATA with the file's first block"),
    "APPEND_BLOCK_EVENT": ("4.0.0", "another block of LOAD DATA's file"),
    "EXEC_LOAD_EVENT": ("4.0.0", "the LOAD DATA of a file was done"),
    "DELETE_FILE_EVENT": ("4.0.0", "the LOAD DATA of a file failed"),
    "NEW_LOAD_EVENT": ("4.0.0", "LOAD DATA with separators of more than one character"),
    "RAND_EVENT": ("4.0.5", "the seeds of RAND() for the statement that follows"),
    "USER_VAR_EVENT": ("4.1.0", "a user variable for the statement that follows"),
    "FORMAT_DESCRIPTION_EVENT": ("5.0.0", "what wrote the log, and how its events are laid out"),
    "XID_EVENT": ("5.0.3", "COMMIT of a transaction"),
    "BEGIN_LOAD_QUERY_EVENT": ("5.0.3", "the first block of LOAD DATA's file"),
    "EXECUTE_LOAD_QUERY_EVENT": ("5.0.3", "LOAD DATA as a statement, its file in blocks before"),
    "TABLE_MAP_EVENT": ("5.1.5", "the table of the rows events that follow"),
    "PRE_GA_WRITE_ROWS_EVENT": ("5.1.5", "rows inserted, as servers up to 5.1.17 wrote them"),
    "PRE_GA_UPDATE_ROWS_EVENT": ("5.1.5", "rows updated, as servers up to 5.1.17 wrote them"),
    "PRE_GA_DELETE_ROWS_EVENT": ("5.1.5", "rows deleted, as servers up to 5.1.17 wrote them"),
    "WRITE_ROWS_EVENT_V1": ("5.1.18", "rows inserted, version 1"),
    "UPDATE_ROWS_EVENT_V1": ("5.1.18", "rows updated, version 1"),
    "DELETE_ROWS_EVENT_V1": ("5.1.18", "rows deleted, version 1"),
    "INCIDENT_EVENT": ("5.1.18", "something happened that is not in the log"),
    "HEARTBEAT_LOG_EVENT": ("5.5.0", "an idle source's sign of life; in no file"),
    "IGNORABLE_LOG_EVENT": ("5.6.2", "may be left out by who does not know better"),
    "ROWS_QUERY_LOG_EVENT": ("5.6.2", "the original statement of the rows events that follow"),
    "WRITE_ROWS_EVENT": ("5.6.2", "rows inserted"),
    "UPDATE_ROWS_EVENT": ("5.6.2", "rows updated"),
    "DELETE_ROWS_EVENT": ("5.6.2", "rows deleted"),
    "GTID_LOG_EVENT": ("5.6.5", "a transaction with a global identifier begins"),
    "ANONYMOUS_GTID_LOG_EVENT": ("5.6.5", "a transaction without a global identifier begins"),
    "PREVIOUS_GTIDS_LOG_EVENT": ("5.6.5", "the transactions in the logs before this one"),
    "TRANSACTION_CONTEXT_EVENT": ("5.7.17", "what group replication certifies a transaction by"),
    "VIEW_CHANGE_EVENT": ("5.7.17", "the members of a replication group changed"),
    "XA_PREPARE_LOG_EVENT": ("5.7.7", "XA PREPARE, or XA COMMIT in one phase"),
    "PARTIAL_UPDATE_ROWS_EVENT": ("8.0.3", "rows updated, JSON columns perhaps as differences"),
    "TRANSACTION_PAYLOAD_EVENT": ("8.0.20", "a transaction's events, compressed"),
    "HEARTBEAT_LOG_EVENT_V2": ("8.0.26", "the same with a position of 64 bits; in no file"),
    "GTID_TAGGED_LOG_EVENT": ("8.3.0", "a transaction whose identifier has a tag begins"),
    "LARGE_TRANSACTION_HEADER_EVENT": (
        "after 9.7",
        "the log holds one transaction that was too large to be copied into another",
    ),
}


def type_since(code: int) -> str:
    """The name of a type, and the version that brought it."""
    name = event_type_name(code)
    return f"{name} (since {EVENT_TYPES[name][0]})" if name in EVENT_TYPES else name


def type_meaning(code: int) -> str:
    """The name of a type, the version that brought it, and what it is."""
    name = event_type_name(code)
    if name in EVENT_TYPES:
        since, meaning = EVENT_TYPES[name]
        return f"{name}: {meaning} (since {since})"
    if code > max(EventType) and name.startswith("MARIADB"):
        return f"{name}: of MariaDB, preserved unread"
    return f"{name}: of a type that this version does not know, preserved unread"
