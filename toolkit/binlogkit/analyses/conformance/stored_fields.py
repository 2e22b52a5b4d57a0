"""What mysqlbinlog does not print of an event's body: values, written back, must give its bytes.

The places in the body follow from lengths that stand there, not by the readers of
``binlogkit.events``. Layouts: libs/mysql/binlog/event/ (8.0), statement_events.h (QUERY,
USER_VAR), rows_event.h (TABLE_MAP, rows), load_data_events.h, control_events.h (GTIDs, the format
description, payloads).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from binlogkit.analyses.conformance.event_fields import our_statement
from binlogkit.analyses.conformance.field_forms import (
    FieldPlace,
    Write,
    code_of,
    from_hex,
    names,
    names_size,
    packed,
    packed_at,
    place_of,
    string,
    string_size,
    text,
    typed,
    typed_field,
    uint,
    variable,
    variable_at,
    written,
)
from binlogkit.analyses.conformance.stored_metadata import metadata_places
from binlogkit.constants import EventType, event_type_name
from binlogkit.events.early import final_codes
from binlogkit.events.rows import RowsFlag
from binlogkit.sources.raw import RawEvent

_QUERY_POST_HEADER, _LOAD_POST_HEADER = 13, 26
_DB_LENGTH_AT, _STATUS_LENGTH_AT = 8, 11
_TABLE_ID, _FLAGS = 6, 2
PAYLOAD_SIZE, COMPRESSION, UNCOMPRESSED = 1, 2, 3  # fields of a payload event
_VALUE_TYPES = {"STRING": 0, "REAL": 1, "INT": 2, "ROW": 3, "DECIMAL": 4}
_ALGORITHMS = {"OFF": 0, "CRC32": 1, "UNDEF": 255}
_VERSION_AT, _CREATED_AT, _LENGTHS_AT = 2, 52, 57
_CLOCKS_AT = 25  # of a GTID: after its flags, UUID and number
_LOGICAL_CLOCK = 2
_TICKET = 11  # a tagged GTID's fields by their ids
_UUID, _TAG = 1, 3


def not_as_stored(raw: RawEvent, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any, bytes]]:
    """The fields of a record's ``fields`` that are not what ``raw`` stores; keys that these lack
    are not judged. Each with what is said of it and the bytes that are there."""
    end = raw.header.log_pos
    if fields.get("log_pos", end) != end:
        yield "log_pos", fields["log_pos"], uint(4)(end)
    judge = _JUDGES.get(raw.header.type_code)
    if judge is None:
        return
    try:
        for name, value, write, stored in judge(raw.body, fields):
            if written(value, write) != stored:
                yield name, value, stored
    except (IndexError, ValueError):
        return  # a damaged body, which the reading reports


def stores_text(raw: RawEvent, fields: Mapping[str, Any]) -> bool:
    """Whether the names or the statement of ``fields`` are what a TABLE_MAP, a ROWS_QUERY, a QUERY
    or an EXECUTE_LOAD_QUERY stores."""
    body, code = raw.body, raw.header.type_code
    if code == EventType.TABLE_MAP_EVENT:
        stored = (string(str(fields.get(name))) + b"\0" for name in ("db", "table"))
        return body.startswith(b"".join(stored), _TABLE_ID + _FLAGS)
    statement = our_statement(fields)
    if code == EventType.ROWS_QUERY_LOG_EVENT:
        return body[1:] == statement
    load = code == EventType.EXECUTE_LOAD_QUERY_EVENT
    start = _status_end(body, _LOAD_POST_HEADER if load else _QUERY_POST_HEADER)
    return body[start + body[_DB_LENGTH_AT] + 1 :] == statement


# ---- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """How a status variable is written, and how many bytes one takes that stands at a place."""

    write: Write
    size: Callable[[bytes, int], int]


def _fixed(size: int) -> _Form:
    return _Form(uint(size), lambda _, __: size)


_STRING = _Form(string, string_size)
_TERMINATED = _Form(lambda v: string(v) + b"\0", lambda data, at: string_size(data, at) + 1)
_NAMES = _Form(names, names_size)
#: By their codes, Query_event_status_vars; those of other servers are not judged.
_STATUS: Mapping[int, tuple[tuple[str, _Form], ...]] = {
    0: (("flags2", _fixed(4)),),
    1: (("sql_mode", _fixed(8)),),
    2: (("catalog", _TERMINATED),),
    3: (("auto_increment_increment", _fixed(2)), ("auto_increment_offset", _fixed(2))),
    4: (("client_collation", _fixed(2)), ("connection_collation", _fixed(2)),
        ("server_collation", _fixed(2))),
    5: (("time_zone", _STRING),),
    6: (("catalog", _STRING),),
    7: (("lc_time_names", _fixed(2)),),
    8: (("database_collation", _fixed(2)),),
    9: (("table_map_for_update", _fixed(8)),),
    10: (("source_data_written", _fixed(4)),),
    11: (("invoker_user", _STRING), ("invoker_host", _STRING)),
    12: (("updated_dbs", _NAMES),),
    13: (("microseconds", _fixed(3)),),
    14: (("commit_seq_no", _fixed(8)),),
    16: (("explicit_defaults_for_timestamp", _fixed(1)),),
    17: (("ddl_xid", _fixed(8)),),
    18: (("utf8mb4_collation", _fixed(2)),),
    19: (("sql_require_primary_key", _fixed(1)),),
    20: (("default_table_encryption", _fixed(1)),),
}  # fmt: skip


#: Fields of fixed places: name, offset, size.
_QUERY_NUMBERS = (("thread_id", 0, 4), ("exec_time", 4, 4), ("error_code", 9, 2))
_LOAD_NUMBERS = (("file_id", 13, 4), ("name_start", 17, 4), ("name_end", 21, 4),
                 ("duplicates", 25, 1))  # fmt: skip


def _query(
    body: bytes, fields: Mapping[str, Any], start: int = _QUERY_POST_HEADER
) -> Iterator[FieldPlace]:
    end = _status_end(body, start)
    for name, at, size in _QUERY_NUMBERS:
        yield from place_of(fields, name, uint(size), body[at : at + size])
    yield from place_of(fields, "schema", text, body[end : end + body[_DB_LENGTH_AT]])
    yield from _no_text(body[end + body[_DB_LENGTH_AT] + 1 :], fields)
    said = fields.get("status_vars")
    if isinstance(said, Mapping) and "repeated" not in said:
        yield from _status(body[start:end], said)


def _status_end(body: bytes, start: int) -> int:
    """Where the status variables end that begin at ``start``."""
    return start + int.from_bytes(body[_STATUS_LENGTH_AT:_QUERY_POST_HEADER], "little")


def _load_query(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    yield from _query(body, fields, _LOAD_POST_HEADER)
    for name, at, size in _LOAD_NUMBERS:
        yield from place_of(fields, name, uint(size), body[at : at + size])


def _rows_query(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    return _no_text(body[1:], fields)


def _no_text(stored: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    """A statement's bytes, which are said only where it is no text."""
    if fields.get("query_bytes") is not None:
        yield "query_bytes", fields["query_bytes"], from_hex, stored


def status_places(block: bytes) -> tuple[dict[str, slice], bool]:
    """Where each of a QUERY's status variables stands, and whether all of them are known."""
    found, at = dict[str, slice](), 0
    while at < len(block):
        known = _STATUS.get(block[at])
        if known is None:
            return found, False
        at += 1
        for name, form in known:
            size = form.size(block, at)
            found[name] = slice(at, at + size)
            at += size
    return found, True


def _status(block: bytes, said: Mapping[str, Any]) -> Iterator[FieldPlace]:
    """Every variable that is stored, and those that are said and are not."""
    places, whole = status_places(block)
    forms = {name: form for known in _STATUS.values() for name, form in known}
    for name, place in places.items():
        yield f"status_vars.{name}", said.get(name), forms[name].write, block[place]
    for name in said if whole else ():
        if name in forms and name not in places and said[name] is not None:
            yield f"status_vars.{name}", said[name], forms[name].write, b""


def _user_var(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    at = 4 + int.from_bytes(body[:4], "little")
    there = not body[at]  # else it is NULL, and nothing follows
    kind, collation = body[at + 1 : at + 2], body[at + 2 : at + 6]
    yield from place_of(fields, "var_type", code_of(_VALUE_TYPES), kind if there else b"")
    yield from place_of(fields, "collation", uint(4), collation if there else b"")
    end = at + 10 + int.from_bytes(body[at + 6 : at + 10], "little")
    yield from place_of(fields, "value", from_hex, body[at + 10 : end] if there else b"")
    unsigned = there and sum(body[end : end + 1]) & 1
    yield from place_of(fields, "unsigned", uint(1), bytes([unsigned]))


def _block(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    yield from place_of(fields, "file_id", uint(4), body[:4])
    yield from place_of(fields, "data", from_hex, body[4:])


# ---- tables and rows ----------------------------------------------------------------------------


def _table_map(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    at = _TABLE_ID + _FLAGS
    yield from place_of(fields, "flags", uint(_FLAGS), body[_TABLE_ID:at])
    for _ in ("db", "table"):
        at += string_size(body, at) + 1
    columns, at = packed_at(body, at)
    yield from place_of(fields, "types", from_hex, body[at : at + columns])
    length, at = packed_at(body, at + columns)
    yield from place_of(fields, "metadata", from_hex, body[at : at + length])
    at += length
    end = at + (columns + 7) // 8
    yield from place_of(fields, "nullable", from_hex, body[at:end])
    yield from metadata_places(body[end:], fields)


def _rows(
    body: bytes, fields: Mapping[str, Any], *, code: int, images: tuple[str, ...], extra: bool
) -> Iterator[FieldPlace]:
    at = _TABLE_ID + _FLAGS
    stored: list[tuple[str, Write, bytes]] = [("flags", _rows_flags, body[_TABLE_ID:at])]
    if extra:
        end = at + int.from_bytes(body[at : at + 2], "little")
        stored.append(("extra", _extra, body[at + 2 : end]))
        at = end
    columns, start = packed_at(body, at)
    stored.append(("column_count", packed, body[at:start]))
    for name in ("before_columns", "after_columns"):
        end = start + ((columns + 7) // 8 if name in images else 0)
        stored.append((name, from_hex, body[start:end]))
        start = end
    stored.append(("data", from_hex, body[start:]))
    # What the type says is held to its code.
    kind, diffs, by_type = _OPS[images], code == EventType.PARTIAL_UPDATE_ROWS_EVENT, bytes([code])
    stored.append(("op", lambda op: by_type * (op == kind), by_type))
    stored.append(("partial", lambda it: by_type * (it is diffs), by_type))
    return ((name, fields[name], write, have) for name, write, have in stored if name in fields)


def _rows_flags(value: list[str | int]) -> bytes:
    bits = (one if isinstance(one, int) else RowsFlag[one] for one in value)
    return sum(bits).to_bytes(_FLAGS, "little")


def _extra(value: Mapping[str, Any]) -> bytes:
    """As servers write it: NDB's, the partition, what is not known."""
    out = b""
    if value["ndb"] is not None:
        ndb = from_hex(value["ndb"])
        out += bytes([0, len(ndb) + 2, value["ndb_format"]]) + ndb
    for name, tag in (("partition_id", b"\1"), ("source_partition_id", b"")):
        if value[name] is not None:
            out += tag + uint(2)(value[name])
    return out + from_hex(value["rest"] or "0x")


# ---- transactions and logs ----------------------------------------------------------------------


def _gtid(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    yield from place_of(fields, "flags", uint(1), body[:1])
    yield from place_of(fields, "sid", lambda sid: UUID(sid).bytes, body[1:17])
    yield from place_of(fields, "gno", uint(8), body[17:_CLOCKS_AT])
    yield from place_of(fields, "tag", text, b"")
    at = _CLOCKS_AT
    if body[at : at + 1] == bytes([_LOGICAL_CLOCK]):
        at += 1 + 8 + 8
        for size in (7, 4):  # the commit's time, the server's version: the highest bit says
            at += size * (1 + (sum(body[at + size - 1 : at + size]) >> 7))
            if size > 4 and at < len(body):
                _, at = packed_at(body, at)  # the transaction's length
    else:
        at = len(body)
    yield from place_of(fields, "commit_group_ticket", uint(8), body[at:])


def tagged_places(data: bytes, at: int = 0) -> dict[int, slice]:
    """Where the fields of a tagged GTID stand, which begins at ``at``, by their numbers; of a tag
    its length, too. IndexError: they do not end."""
    found = dict[int, slice]()
    for _ in ("version", "size", "last that a reader must know"):
        _, at = variable_at(data, at)
    while at < len(data):
        number, start = variable_at(data, at)
        more, at = variable_at(data, start)
        for _ in range(15 if number == _UUID else 0):
            _, at = variable_at(data, at)
        at += more if number == _TAG else 0
        found[number] = slice(start, at)
    return found


def _tagged(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    places = tagged_places(body)
    for name, number in (("flags", 0), ("commit_group_ticket", _TICKET)):
        stored = body[places[number]] if number in places else b""
        yield from place_of(fields, name, variable, stored)


def _format(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    yield from place_of(fields, "created", uint(4), body[_CREATED_AT : _CREATED_AT + 4])
    yield from place_of(fields, "event_header_length", uint(1), body[_LENGTHS_AT - 1 : _LENGTHS_AT])
    said = fields.get("post_header_lengths")
    if not isinstance(said, Mapping):
        return
    version = body[_VERSION_AT:_CREATED_AT].split(b"\0")[0].decode("ascii", "replace")
    final = final_codes(version)
    stored = body[_LENGTHS_AT : body[_LENGTHS_AT + EventType.FORMAT_DESCRIPTION_EVENT - 1]]
    lengths = {
        event_type_name(final.get(i, i)): stored[i - 1 : i] for i in range(1, len(stored) + 1)
    }
    for name in dict.fromkeys([*lengths, *said]):
        yield f"post_header_lengths.{name}", said.get(name), uint(1), lengths.get(name, b"")
    yield from place_of(
        fields, "checksum_algorithm", code_of(_ALGORITHMS), body[_LENGTHS_AT + len(stored) :]
    )


def payload_fields(data: bytes, at: int = 0) -> tuple[list[tuple[int, slice]], int]:
    """Type and place of the fields of a payload event that begin at ``at``, and where its payload
    begins. IndexError: they do not end."""
    found = list[tuple[int, slice]]()
    while data[at]:
        kind, start = packed_at(data, at)
        length, start = packed_at(data, start)
        at = start + length
        found.append((kind, slice(start, at)))
    return found, at + 1


def _payload(body: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    stored, at = payload_fields(body)
    yield from place_of(fields, "payload", from_hex, body[at:])
    last = dict(stored)
    others = (
        typed_field(kind, body[place])
        for kind, place in stored
        if kind not in (PAYLOAD_SIZE, COMPRESSION, UNCOMPRESSED) or place is not last[kind]
    )
    yield from place_of(fields, "unknown", typed, b"".join(others))


_OPS = {
    ("after_columns",): "insert",
    ("before_columns", "after_columns"): "update",
    ("before_columns",): "delete",
}
_Judge = Callable[[bytes, Mapping[str, Any]], Iterator[FieldPlace]]
_JUDGES: dict[int, _Judge] = {
    EventType.QUERY_EVENT: _query,
    EventType.EXECUTE_LOAD_QUERY_EVENT: _load_query,
    EventType.ROWS_QUERY_LOG_EVENT: _rows_query,
    EventType.BEGIN_LOAD_QUERY_EVENT: _block,
    EventType.APPEND_BLOCK_EVENT: _block,
    EventType.DELETE_FILE_EVENT: _block,
    EventType.TABLE_MAP_EVENT: _table_map,
    EventType.USER_VAR_EVENT: _user_var,
    EventType.GTID_LOG_EVENT: _gtid,
    EventType.ANONYMOUS_GTID_LOG_EVENT: _gtid,
    EventType.GTID_TAGGED_LOG_EVENT: _tagged,
    EventType.FORMAT_DESCRIPTION_EVENT: _format,
    EventType.TRANSACTION_PAYLOAD_EVENT: _payload,
}
for _verb, _images in zip(("WRITE", "UPDATE", "DELETE"), _OPS, strict=True):
    for _name, _extended in ((f"{_verb}_ROWS_EVENT_V1", False), (f"{_verb}_ROWS_EVENT", True)):
        _JUDGES[EventType[_name]] = partial(
            _rows, code=EventType[_name], images=_images, extra=_extended
        )
_JUDGES[EventType.PARTIAL_UPDATE_ROWS_EVENT] = partial(
    _rows,
    code=EventType.PARTIAL_UPDATE_ROWS_EVENT,
    images=("before_columns", "after_columns"),
    extra=True,
)
