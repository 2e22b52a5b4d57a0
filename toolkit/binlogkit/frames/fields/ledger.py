"""The fields of what a log tells besides rows: events, transactions, statements, tables, files."""

from __future__ import annotations

from binlogkit.frames.fields.field import fields

_SOURCE = (
    "source",
    "string?",
    "whose log: the name that was given, else that of the logs that follow each other",
)

EVENT = fields(
    _SOURCE,
    ("file", "string", "the log, as it was named"),
    ("pos", "int64", "its first byte; inside a compressed payload the payload's"),
    ("end_pos", "int64", "the byte after it"),
    ("inner", "int32?", "its number inside a payload, from 0; null outside of one"),
    ("size", "int64", "bytes: header, body and checksum"),
    ("timestamp", "seconds", "when its statement began, by the clock of the server it was made on"),
    ("type", "string", "the official name of 8.0.31, of a later type that of the version that"
     " brought it"),
    ("code", "int16", "the type's number"),
    ("server_id", "int64", "of the server where the event was made"),
    ("flags", "json", "names of the header's flags that are set; unknown bits as numbers"),
    ("checksum", "string", "`ok`, `bad` or `none`"),
    ("gtid", "string?", "of the transaction it belongs to; null outside one or when anonymous"),
    ("fields", "json", "`log_pos`, the position in the header, and the event's own fields"
     ' ([events.md](events.md) lists them by type); bytes as `"0x…"`'),
)  # fmt: skip

EXPLAIN = fields(
    ("file", "string", "the log of the event"),
    ("pos", "int64", "the event's first byte, as in its own record"),
    ("inner", "int32?", "the event's number inside a payload, as in its own record"),
    ("type", "string", "the event's type"),
    ("depth", "int64", "0 for the event itself"),
    ("path", "list<string>", "the names of the groups down to the field"),
    ("field", "string", "the field's name: that of the event's record where there is one, a"
     " column's name for a cell"),
    ("offset", "int64", "its first byte, counted from the event's"),
    ("length", "int64", "its bytes"),
    ("raw", "string?", 'the bytes as `"0x…"`; null of a group'),
    ("value", "json?", "what they say: as in the records of `events` and `rows`; null of a group"
     " and of NULL"),
    ("meaning", "string", "one clause for people"),
    ("details", "json", "bits one by one, the events in a payload: `name`, `value`, `meaning`"),
    ("problem", "string?", "what is wrong with it, null where nothing is; of the event itself"
     " what is wrong anywhere"),
)  # fmt: skip

_GTID = ("gtid", "string?", "of its transaction; null when anonymous")
_INNER = ("inner", "int64?", "the event's number inside a payload, from 0; null outside of one")

TRANSACTION = fields(
    ("tx", "int64", "its number, from 0, over all logs read together"),
    _SOURCE,
    ("file", "string", "the log in which it begins"),
    ("pos", "int64", "the first byte of its first event"),
    ("end_file", "string", "the log in which it ends"),
    ("end_pos", "int64", "the byte after its last event"),
    ("gtid", "string?", "its GTID; null when anonymous"),
    ("server_id", "int64", "of the server where it was made"),
    ("thread_id", "int64?", "the connection's number, meaningless on a replica; null when not"
     " known"),
    ("xid", "uint64?", "the number in its XID event; null without one"),
    ("xa", "string?", "the XA transaction's id, else null"),
    ("timestamp", "seconds", "its first event's time"),
    ("end_timestamp", "seconds", "its last event's time"),
    ("commit_timestamp", "microseconds?", "the commit on the server that wrote this log; null"
     " before 8.0.1"),
    ("original_commit_timestamp", "microseconds?", "the commit on the server where it was made"
     " first; null before 8.0.1"),
    ("outcome", "string", "`committed`, `rolled_back`, `prepared` (XA, undecided in these logs)"
     " or `cut`"),
    ("resolved_file", "string?", "the log in which a prepared one was decided, else null"),
    ("resolved_pos", "int64?", "where in it, else null"),
    ("events", "int64", "how many events"),
    ("size", "int64", "their bytes"),
    ("inserts", "int64", "rows inserted"),
    ("updates", "int64", "rows updated"),
    ("deletes", "int64", "rows deleted"),
    ("rows", "int64", "row changes"),
    ("tables", "list<string>", "`db.table` in the order they were touched"),
    ("statements", "int64", "statements that are logged as text"),
    ("format", "string", "how its changes are logged: `row`, `statement`, `mixed` or `none`"),
    ("compressed", "boolean", "whether its events stand in a payload"),
    ("last_committed", "int64?", "of the logical clock; null before 5.7.6"),
    ("sequence_number", "int64?", "of the logical clock; null before 5.7.6"),
    ("first_query", "string?", "its first statement; null where the log has none"),
)  # fmt: skip

STATEMENT = fields(
    _SOURCE,
    ("file", "string", "the log, as it was named"),
    ("pos", "int64", "the first byte of its event"),
    ("end_pos", "int64", "the byte after it"),
    _INNER,
    ("timestamp", "seconds", "when it began"),
    ("server_id", "int64", "of the server where it was made"),
    _GTID,
    ("thread_id", "int64", "the connection's number, meaningless on a replica"),
    ("db", "string", "the session's database, empty without one"),
    ("query", "string", "its text"),
    ("kind", "string", "`ddl`, `dml`, `begin`, `commit`, …"),
    ("exec_time", "int64", "seconds that it ran, by the server's own account"),
    ("error_code", "int64", "the error that it ended with, 0 for none"),
)

BOUNDARY = fields(
    _SOURCE,
    ("file", "string", "the log, as it was named"),
    ("pos", "int64", "the first byte of its event"),
    ("end_pos", "int64", "the byte after it"),
    _INNER,
    ("seq", "int64", "its place in the order of changes"),
    ("tx", "int64?", "the number of its transaction; null outside any"),
    ("timestamp", "seconds", "when its statement began"),
    ("commit_timestamp", "microseconds?", "the commit on the server that wrote this log"),
    _GTID,
    ("db", "string?", "the table's database; null where the statement does not say"),
    ("table", "string?", "the table; null of a whole database"),
    ("action", "string", "`create`, `drop`, `drop_database`, `truncate`, `rename`, `alter`,"
     " `statement_write`, `unknown`, …"),
    ("new_db", "string?", "of a rename: the new name's database"),
    ("new_table", "string?", "of a rename: the new name"),
    ("columns", "list<string>?", "the table's columns from here on; null where not known"),
    ("key", "list<string>?", "the columns of its key from here on; null where not known"),
    ("reason", "string?", "why nothing more is known, else null"),
    ("statement", "string", "the statement's text"),
    ("sql_mode", "int64?", "the session's, as a mask; null where the log does not tell it"),
)  # fmt: skip

#: ``log.tables()``: one row per column of each version of a table.
COLUMN = fields(
    _SOURCE,
    ("db", "string", "the table's database"),
    ("table", "string", "the table"),
    ("schema_version", "int32", "0, 1, … in the log's order"),
    ("position", "int32", "the column's place, from 1"),
    ("column", "string", "its name, `@1`, `@2` … where nothing tells it"),
    ("mysql_type", "string", "its type as MySQL writes it, as far as it is known"),
    ("kind", "string", "how its values read, see `binlogkit.frames.schema.KINDS`"),
    ("nullable", "boolean?", "whether it may hold NULL"),
    ("unsigned", "boolean", "whether it is an unsigned number"),
    ("charset", "string?", "its character set; null where it has none, or nothing tells it"),
    ("collation", "string?", "its collation"),
    ("labels", "list<string>?", "of ENUM and SET: the labels; null where they are not known"),
    ("key", "int32?", "its place in the key, from 1; null outside of it"),
    ("key_kind", "string", "`primary`, `unique` or `none`"),
    ("generated", "string?", "`virtual` or `stored` of a generated column"),
    ("visible", "boolean", "whether `SELECT *` shows it"),
    ("name_origin", "string", "where its name is known from"),
    ("sign_origin", "string", "where it is known from whether it is unsigned"),
    ("charset_origin", "string", "where its character set is known from"),
    ("labels_origin", "string", "where its labels are known from"),
    ("assumed", "boolean", "whether its sign or character set was assumed: nothing tells it"),
)

#: ``audit["files"]``.
FILE = fields(
    _SOURCE,
    ("file", "string", "the log, as it was named"),
    ("size", "int64", "bytes as stored"),
    ("sha256", "string", "the hash of these bytes"),
    ("server_version", "string?", "of the server that wrote it; null where the log does not say"),
    ("events", "int64", "how many events"),
    ("first_timestamp", "seconds?", "the earliest time of an event"),
    ("last_timestamp", "seconds?", "the latest time of an event"),
    ("ok", "int64", "events whose checksum fits"),
    ("bad", "int64", "events whose checksum does not fit"),
    ("none", "int64", "events without one"),
)

#: ``audit["continuity"]``: one row per pair of files that follow each other.
CONTINUITY = fields(
    ("file", "string", "the log before"),
    ("next", "string", "the log after it"),
    ("status", "string", "`continuous`, `gap`, or `unknown` where nothing tells"),
    ("problem", "string?", "what was found; null where nothing is wrong"),
)

#: ``audit["findings"]``: those of the verification but notes, and what else cannot be read.
AUDIT_FINDING = fields(
    ("severity", "string", "`damaged`, `warning` or `unknown`"),
    ("code", "string?", "as in the findings of `verify`; null of what else cannot be read"),
    ("file", "string?", "the log, as it was named"),
    ("pos", "int64?", "where it begins"),
    ("end_pos", "int64?", "the byte after it"),
    ("finding", "string", "what was found"),
    ("meaning", "string?", "what it means for the data"),
)

FINDING = fields(
    ("grade", "string", "`note`, `warning` or `damage`"),
    ("code", "string", "a short stable name: `bad_checksum`, `cut_event`, `broken_framing`,"
     " `missing_events`, `unfinished_transaction`, `sequence_gap`, `gtid_gap`, `file_missing`, …"
     " (all in the schema)"),
    ("file", "string", "the log, as it was named"),
    ("pos", "int64?", "where it begins; null for what concerns the whole file"),
    ("end_pos", "int64?", "the byte after it; of damage: where reading resumes"),
    ("inner", "int64?", "number inside a compressed payload; null outside of one"),
    ("event", "int64?", "number of the event in the file, from 0, payloads counted as one"),
    ("type", "string?", "its type; null where there is no event"),
    ("gtid", "string?", "of the transaction it stands in, where that is known"),
    ("found", "string", "what was found"),
    ("meaning", "string", "what it means for the data"),
)  # fmt: skip

#: What Spark gives as ``records=damages``.
DAMAGE = fields(
    ("file", "string", "the log, as it was named"),
    ("pos", "int64?", "where it begins"),
    ("error", "string", "the class of the error"),
    ("field", "string?", "the field that cannot be read"),
    ("reason", "string", "what is wrong"),
)

#: What Spark gives as ``records=gaps``.
GAP = fields(
    ("code", "string", "that of a finding of `verify`; `damage` where damage took changes"),
    ("file", "string", "the log, as it was named"),
    ("pos", "int64?", "where it begins; null for what concerns the whole file"),
    ("tables", "list<string>?", "the tables that it can concern; null for any"),
    ("found", "string", "what is missing"),
)

#: ``log.loaded_files()``.
LOADED_FILE = fields(
    ("file", "string", "the log, as it was named"),
    ("pos", "int64", "the first byte of the event with its first block"),
    ("file_id", "int64", "the number that its blocks have in the log"),
    ("name", "string?", "its name where the statement was made; null after 5.0.3"),
    ("table", "string?", "the table that it was read into; null after 5.0.3"),
    ("query", "string?", "the statement; null before 5.0.3"),
    ("outcome", "string", "`executed`, `deleted` (the statement failed) or `open` (no end here)"),
    ("whole", "boolean", "false where its first block is not in these logs"),
    ("size", "int64", "bytes"),
    ("path", "string", "the file that was written"),
)
