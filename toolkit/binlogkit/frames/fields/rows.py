"""The fields of a row change: of its record, its generic frame, and its batch."""

from __future__ import annotations

from binlogkit.frames.fields.field import Field, fields

#: The record, and the generic frame.
ROW = fields(
    ("file", "string", "the log, as it was named"),
    ("pos", "int64", "the first byte of its event; inside a compressed payload the payload's"),
    ("end_pos", "int64", "the byte after it"),
    ("inner", "int32?", "the event's number inside a payload, from 0; null outside of one"),
    ("row", "int32", "its number in the event, from 0"),
    ("timestamp", "seconds", "when its statement began, by the clock of the server it was made on"),
    ("commit_timestamp", "microseconds?", "the commit on the server that wrote this log; null"
     " before 8.0.1"),
    ("server_id", "int64", "of the server where it was made"),
    ("gtid", "string?", "of its transaction; null when anonymous"),
    ("thread_id", "int64?", "the connection's number, meaningless on a replica; null when not"
     " known"),
    ("xid", "uint64?", "the number in the commit's XID event; null without one, or when the log"
     " ends before it"),
    ("xa", "string?", "the XA transaction's id, else null"),
    ("db", "string", "the table's database"),
    ("table", "string", "the table"),
    ("op", "string", "`insert`, `update` or `delete`"),
    ("before", "image?", "the image `{column: value}` before the change; null of an insert"),
    ("after", "image?", "the image after it; null of a delete"),
    ("query", "string?", "the statement, where the server logs it"
     " (`binlog_rows_query_log_events`), else null"),
)  # fmt: skip

_SOURCE = fields(
    ("source", "string?", "whose log: the name that was given, else that of the logs that follow"
     " each other"),
)  # fmt: skip
_ORDER = fields(
    ("seq", "int64", "the order of changes and table boundaries over all logs read together"),
    ("tx", "int64?", "the number of its transaction; null outside any"),
)
_STATES = fields(
    ("before_state", "list<uint8>?", "what each cell is; null where all are values or NULL"),
    ("after_state", "list<uint8>?", "the same of the image after the change"),
    ("raw", "raw?", "the cells without a plain value"),
)


def _is_image(field: Field) -> bool:
    return field.type == "image"


#: Where a change comes from: what a batch begins with.
PROVENANCE = (*_SOURCE, *(f for f in ROW if not _is_image(f)))
#: A batch of one table's changes; see frames/schema.py.
BATCH = (*PROVENANCE, *_ORDER, *filter(_is_image, ROW), *_STATES)
#: The generic frame with what analyses order by: what Spark gives of several tables.
CHANGE = (*_SOURCE, *ROW, *_ORDER)

#: The record of a row that a table held.
STATE = fields(
    ("values", "image", "`{column: value}`, forms as in a row's image"),
    ("unknown", "list<string>", "the columns that the log does not determine; they are absent"
     " from `values`"),
)  # fmt: skip
