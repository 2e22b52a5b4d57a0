"""What each event type and header flag is: which servers write it, and what it means.

Versions: manual of the server's sources ("Event Meanings" of the internals manual, release notes);
``until`` is the last series that writes the type, where one stopped.
"""

from __future__ import annotations

from typing import NamedTuple

from binlogkit.constants import EventFlag
from binlogkit.constants import EventType as T

__all__ = ["EVENTS", "FLAGS", "EventFacts"]


class EventFacts(NamedTuple):
    """``since``: the version that brought the type; ``until``: the last that wrote it, or empty."""

    since: str
    until: str
    meaning: str


_EARLY_ROWS = "rows in a form that does not tell how they are stored: kept as they are"
_FIRST_ROWS = "written by 5.6 and later with log_bin_use_v1_row_events too"

EVENTS: dict[T, EventFacts] = {
    T.UNKNOWN_EVENT: EventFacts("3.23", "", "never written"),
    T.START_EVENT_V3: EventFacts("3.23", "4.1", "first event of a v1 or v3 log"),
    T.QUERY_EVENT: EventFacts("3.23", "", "a statement, also BEGIN, COMMIT and DDL"),
    T.STOP_EVENT: EventFacts("3.23", "", "the server was stopped"),
    T.ROTATE_EVENT: EventFacts("3.23", "", "the log continues in another file"),
    T.INTVAR_EVENT: EventFacts("3.23", "", "LAST_INSERT_ID() or INSERT_ID of the next statement"),
    T.LOAD_EVENT: EventFacts("3.23", "3.23", "LOAD DATA; the file is not in the log"),
    T.SLAVE_EVENT: EventFacts("4.0.0", "4.0", "whom a replica reads from; no release wrote it"),
    T.CREATE_FILE_EVENT: EventFacts("4.0.0", "5.0.2", "LOAD DATA and its file's first block"),
    T.APPEND_BLOCK_EVENT: EventFacts("4.0.0", "", "a further block of LOAD DATA's file"),
    T.EXEC_LOAD_EVENT: EventFacts("4.0.0", "5.0.2", "the LOAD DATA of these blocks was done"),
    T.DELETE_FILE_EVENT: EventFacts("4.0.0", "", "the LOAD DATA of these blocks failed"),
    T.NEW_LOAD_EVENT: EventFacts("4.0.0", "5.0.2", "LOAD_EVENT with strings of any length"),
    T.RAND_EVENT: EventFacts("4.0.5", "", "seeds of RAND() in the next statement"),
    T.USER_VAR_EVENT: EventFacts("4.1.0", "", "a user variable that the next statement reads"),
    T.FORMAT_DESCRIPTION_EVENT: EventFacts("5.0.0", "", "first event of a v4 log: its writer"),
    T.XID_EVENT: EventFacts("5.0.3", "", "COMMIT of a transaction of a recoverable engine"),
    T.BEGIN_LOAD_QUERY_EVENT: EventFacts("5.0.3", "", "the first block of LOAD DATA's file"),
    T.EXECUTE_LOAD_QUERY_EVENT: EventFacts("5.0.3", "", "the LOAD DATA statement of these blocks"),
    T.TABLE_MAP_EVENT: EventFacts("5.1.5", "", "a table's id, names and columns for rows events"),
    T.PRE_GA_WRITE_ROWS_EVENT: EventFacts("5.1.5", "5.1.17", f"inserted {_EARLY_ROWS}"),
    T.PRE_GA_UPDATE_ROWS_EVENT: EventFacts("5.1.5", "5.1.17", f"updated {_EARLY_ROWS}"),
    T.PRE_GA_DELETE_ROWS_EVENT: EventFacts("5.1.5", "5.1.17", f"deleted {_EARLY_ROWS}"),
    T.WRITE_ROWS_EVENT_V1: EventFacts("5.1.16", "8.1", f"inserted rows; {_FIRST_ROWS}"),
    T.UPDATE_ROWS_EVENT_V1: EventFacts("5.1.16", "8.1", f"updated rows; {_FIRST_ROWS}"),
    T.DELETE_ROWS_EVENT_V1: EventFacts("5.1.16", "8.1", f"deleted rows; {_FIRST_ROWS}"),
    T.INCIDENT_EVENT: EventFacts("5.1.7", "", "something happened that is not in the log"),
    T.HEARTBEAT_LOG_EVENT: EventFacts("5.5.0", "", "an idle source lives; on the network only"),
    T.IGNORABLE_LOG_EVENT: EventFacts("5.6.2", "", "for who knows it; none is written so far"),
    T.ROWS_QUERY_LOG_EVENT: EventFacts("5.6.2", "", "the statement whose row events follow"),
    T.WRITE_ROWS_EVENT: EventFacts("5.6.2", "", "inserted rows"),
    T.UPDATE_ROWS_EVENT: EventFacts("5.6.2", "", "updated rows"),
    T.DELETE_ROWS_EVENT: EventFacts("5.6.2", "", "deleted rows"),
    T.GTID_LOG_EVENT: EventFacts("5.6.5", "", "the start of a transaction, and its GTID"),
    T.ANONYMOUS_GTID_LOG_EVENT: EventFacts("5.6.5", "", "the start of one without a GTID (5.7+)"),
    T.PREVIOUS_GTIDS_LOG_EVENT: EventFacts("5.6.5", "", "the GTIDs of all logs before this one"),
    T.TRANSACTION_CONTEXT_EVENT: EventFacts("5.7.17", "", "group replication: what certifies one"),
    T.VIEW_CHANGE_EVENT: EventFacts("5.7.17", "", "group replication: the members changed"),
    T.XA_PREPARE_LOG_EVENT: EventFacts("5.7.7", "", "XA PREPARE, or XA COMMIT … ONE PHASE"),
    T.PARTIAL_UPDATE_ROWS_EVENT: EventFacts("8.0.3", "", "updated rows, JSON maybe as diffs"),
    T.TRANSACTION_PAYLOAD_EVENT: EventFacts("8.0.20", "", "a transaction's events, compressed"),
    T.HEARTBEAT_LOG_EVENT_V2: EventFacts("8.0.26", "", "a heartbeat with a 64-bit position"),
    T.GTID_TAGGED_LOG_EVENT: EventFacts("8.3.0", "", "the start of a transaction with a tag"),
    T.LARGE_TRANSACTION_HEADER_EVENT: EventFacts(
        "after 9.7", "", "the log holds one large transaction, and where that ends"
    ),
}

FLAGS: dict[EventFlag, str] = {
    EventFlag.IN_USE: "5.0.3: the log was not closed: it is written, or its server was killed;"
    " in format descriptions only, and not counted into their checksum",
    EventFlag.FORCED_ROTATE: "up to 4.1: in a source's ROTATE; nothing reads it",
    EventFlag.THREAD_SPECIFIC: "4.1.0: the statement uses the session's own, as temporary tables",
    EventFlag.SUPPRESS_USE: "4.1.7: the statement needs no default database (CREATE DATABASE)",
    EventFlag.UPDATE_TABLE_MAP_VERSION: "5.1.4: without meaning now",
    EventFlag.ARTIFICIAL: "5.1: made up by the server that sends it, in no log of its own",
    EventFlag.RELAY_LOG: "5.1: written by a replica's receiver, in its relay log",
    EventFlag.IGNORABLE: "5.6.2: to be passed over by who does not know the type",
    EventFlag.NO_FILTER: "5.6: not subject to replication filters",
    EventFlag.MTS_ISOLATE: "5.6: a replica applies it alone, with no other at the same time",
}
