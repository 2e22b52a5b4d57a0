"""What the fields of events mean, one line each: the header's and those of the event families.

The tables are by the class that an event's parser gives; a part with a section of its own (status
variables, GTID sets) is looked up there first. Sources: the documents and the server's sources that
each family's module names; a version in a line brought the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit.events.explain import values as say

__all__ = ["FIELDS", "Field", "section_of"]


@dataclass(frozen=True, slots=True)
class Field:
    """``meaning``: one clause; ``since``: the version that brought it; ``says``: what a value says;
    ``bits``: the names of its bits; ``codes``: of its values."""

    meaning: str
    since: str = ""
    says: Callable[[Any], str] | None = None
    bits: Mapping[int, tuple[str, str]] | None = None
    codes: Mapping[int, str] | None = None


F = Field
_NUL = F("the NUL after the name")
_UTC = "microseconds since 1970"

_STATEMENT = {
    "thread_id": F("the connection that ran it; on a replica its source's"),
    "exec_time": F("seconds from the statement's start to its end"),
    "schema_length": F("bytes of the default database's name"),
    "error_code": F("how it ended", says=say.error_code),
    "status_vars_length": F("bytes of the status variables", "5.0.4"),
    "status_vars": F("the session's settings that the statement ran with"),
    "schema": F("the default database"),
    "schema_end": _NUL,
    "query": F("the statement, in the client's character set"),
}
_LOAD_STRINGS = {
    "terminated": F("FIELDS TERMINATED BY", says=say.characters),
    "enclosed": F("FIELDS ENCLOSED BY", says=say.characters),
    "lines_terminated": F("LINES TERMINATED BY", says=say.characters),
    "lines_starting": F("LINES STARTING BY", says=say.characters),
    "escaped": F("FIELDS ESCAPED BY", says=say.characters),
}
_LOAD = {
    "thread_id": F("the connection that ran it"),
    "exec_time": F("seconds that it took"),
    "skip_lines": F("IGNORE … LINES"),
    "table_length": F("bytes of the table's name"),
    "db_length": F("bytes of the database's name"),
    "field_count": F("columns that were named"),
    "file_id": F("which file: the blocks and the statement that belong together have it"),
    **_LOAD_STRINGS,
    **{f"{name}_length": F("bytes of the string that follows") for name in _LOAD_STRINGS},
    "options": F("how the file is read", bits=say.LOAD_OPTIONS),
    "empty": F("a bit for each of the five characters that is none at all"),
    "field_lengths": F("bytes of each column's name, a byte each"),
    "field": F("a column that was named"),
    "field_end": _NUL,
    "table": F("the table"),
    "table_end": _NUL,
    "db": F("the database"),
    "db_end": _NUL,
    "file_name": F("the file on the client or the server"),
    "data": F("the file's first block", says=say.characters),
}
_GTID = {
    "flags": F("", bits=say.GTID_FLAGS),
    "sid": F("the server, or group, that the number is of"),
    "tag": F("the tag", "8.3.0"),
    "tag_length": F("bytes of the tag", "8.3.0"),
    "gno": F("the transaction's number; 0 in an anonymous one"),
    "lt_type": F("what kind of logical clock follows: 2", "5.7.6"),
    "last_committed": F("the transaction must wait for this sequence_number", "5.7.6"),
    "sequence_number": F("its own number in this log, for parallel appliers", "5.7.6"),
    "immediate_commit_timestamp": F(f"commit here, {_UTC}", "8.0.1", say.microseconds),
    "original_commit_timestamp": F(
        f"commit on the server where it began, {_UTC}", "8.0.1", say.microseconds
    ),
    "transaction_length": F("bytes of the whole transaction, this event included", "8.0.2"),
    "immediate_server_version": F("the server that wrote this log", "8.0.14", say.version),
    "original_server_version": F("the server where it began", "8.0.14", say.version),
    "commit_group_ticket": F("commit order in a replication group", "8.0.26"),
    "serialization_version": F("of the server's serialization library", "8.3.0"),
    "serialization_size": F("bytes of the serialized event", "8.3.0"),
    "last_non_ignorable_field": F("readers must know the fields up to this number", "8.3.0"),
    "field_id": F("which field follows", "8.3.0"),
}
_TYPED = {
    "field_type": F("which field follows; 0 ends them"),
    "field_length": F("bytes of the field's value"),
    "field": F("a field's value"),
}

FIELDS: dict[str, dict[str, Field]] = {
    "header": {
        "timestamp": F("when the statement began, by its server's clock", says=say.seconds),
        "event_type": F(""),
        "server_id": F("the server where it began"),
        "event_size": F("bytes of the whole event, header and checksum included"),
        "log_pos": F(""),
        "flags": F("", bits=say.HEADER_FLAGS),
        "extra_header": F("a header longer than 19 bytes; what is in it is not known"),
    },
    "StartV3": {
        "binlog_version": F("version of the log's format"),
        "server_version": F("the server that wrote the log, padded with NUL"),
        "created": F("when the server started", says=say.created),
    },
    "FormatDescription": {
        "binlog_version": F("version of the log's format"),
        "server_version": F("the server that wrote the log, padded with NUL"),
        "created": F("when the server started", says=say.created),
        "event_header_length": F("bytes of every event's header"),
        "post_header_lengths": F("bytes of the fixed part after the header, by type, from 1 on"),
        "checksum_algorithm": F(
            "how the events that follow are checked", "5.6.1", codes={0: "off", 1: "CRC32"}
        ),
    },
    "Rotate": {
        "position": F("where the first event stands in the next file"),
        "name": F("the next file"),
    },
    "Incident": {
        "incident_type": F("what happened", codes={0: "none", 1: "LOST_EVENTS"}),
        "message_length": F("bytes of the message"),
        "message": F("the server's own words"),
    },
    "Heartbeat": {"log_name": F("the file that the source stands in")},
    "HeartbeatV2": {
        **_TYPED,
        "log_name": F("the file that the source stands in"),
        "position": F("where in it, in 64 bits"),
    },
    "Slave": {
        "position": F("position in the source's log"),
        "port": F("the source's port"),
        "host": F("the source's host"),
        "log_name": F("the source's log"),
    },
    "Ignorable": {"body": F("left out by who does not know it")},
    "Xid": {"xid": F("the transaction's number in the server")},
    "XaPrepare": {
        "one_phase": F(
            "",
            codes={
                0: "XA PREPARE: it commits when XA COMMIT follows, here or in a later log",
                1: "XA COMMIT … ONE PHASE: it commits here",
            },
        ),
        "format_id": F("of the XA id"),
        "gtrid_length": F("bytes of the id's global part"),
        "bqual_length": F("bytes of the id's branch qualifier"),
        "gtrid": F("the id's global part", says=say.characters),
        "bqual": F("the id's branch qualifier", says=say.characters),
    },
    "Query": _STATEMENT,
    "ExecuteLoadQuery": {
        **_STATEMENT,
        "file_id": _LOAD["file_id"],
        "name_start": F("where the file's name begins in the text"),
        "name_end": F("where the file's name ends in the text"),
        "duplicates": F(
            "what happens where a key is there", codes={0: "error", 1: "IGNORE", 2: "REPLACE"}
        ),
    },
    "LoadBlock": {
        "file_id": _LOAD["file_id"],
        "data": F("a block of LOAD DATA's file", says=say.characters),
    },
    "RowsQuery": {
        "length": F("of the text, modulo 256: not to be relied on"),
        "query": F("the statement that the client sent"),
    },
    "Load": _LOAD,
    "CreateFile": _LOAD,
    "LargeTransactionHeader": {
        "version": F("of this layout"),
        "terminating_event_offset": F("where the event is that ends the transaction"),
        "terminating_event_type": F("the type of that event"),
        "padding": F("room that the events in front did not need"),
    },
    "ExecLoad": {"file_id": _LOAD["file_id"]},
    "DeleteFile": {"file_id": _LOAD["file_id"]},
    "Intvar": {
        "type": F("which value", codes={0: "INVALID_INT", 1: "LAST_INSERT_ID", 2: "INSERT_ID"}),
        "value": F("the value"),
    },
    "Rand": {"seed1": F("the first seed of RAND()"), "seed2": F("the second seed of RAND()")},
    "UserVar": {
        "name_length": F("bytes of the name"),
        "name": F("the variable, without @"),
        "is_null": F("", codes={0: "it has a value", 1: "it is NULL, and nothing follows"}),
        "type": F(
            "how the value is stored",
            codes={0: "STRING", 1: "REAL", 2: "INT", 3: "ROW", 4: "DECIMAL"},
        ),
        "collation": F("of a string", says=say.collation),
        "value_length": F("bytes of the value"),
        "value": F("the value"),
        "flags": F("bit 0: an unsigned integer", "5.5.3", bits={1: ("UNSIGNED", "")}),
    },
    "Gtid": _GTID,
    "PreviousGtids": {},
    "gtid_set": {
        "n_sids": F("how many entries follow", says=say.gtid_sids),
        "sid": F("the server that numbers the transactions"),
        "tag_length": F("bytes of the tag", "8.3.0"),
        "tag": F("the tag", "8.3.0"),
        "n_intervals": F("how many intervals follow"),
        "interval_start": F("the first transaction of the interval"),
        "interval_end": F("the one after its last"),
    },
    "TransactionContext": {
        "uuid_length": F("bytes of the server's UUID"),
        "thread_id": F("the connection"),
        "gtid_specified": F("whether the client named the GTID"),
        "snapshot_length": F("bytes of the snapshot version"),
        "write_count": F("hashes in the write set"),
        "read_count": F("hashes in the read set"),
        "server_uuid": F("the server that ran the transaction"),
        "snapshot_version": F("the transactions that it saw"),
        "write_set_length": F("bytes of the hash"),
        "write_set": F("hash of a row that it writes"),
        "read_set_length": F("bytes of the hash"),
        "read_set": F("hash of a row that it reads"),
    },
    "ViewChange": {
        "view_id": F("the group's view, padded with NUL"),
        "seq_number": F("number of the certification database"),
        "count": F("entries that follow"),
        "key_length": F("bytes of the key"),
        "key": F("what the entry is for"),
        "value_length": F("bytes of the value"),
        "value": F("what certification knows of it"),
    },
    "TransactionPayload": {
        **_TYPED,
        "payload_size": F("bytes of the payload as stored"),
        "compression": F("how the payload is packed"),
        "uncompressed_size": F("bytes of the payload unpacked, as the event claims"),
        "payload": F("the events of the transaction"),
    },
}


def section_of(name: str) -> dict[str, Field]:
    """The fields of a class or part; empty for one that has no section."""
    return FIELDS.get(name, {})
