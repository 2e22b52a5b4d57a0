"""What mysqlbinlog does not print of an event's body: values, written back, must give its bytes.

The places in the body are told from lengths that stand there, not by the readers of
``binlogkit.events``. Layouts: libs/mysql/binlog/event/ (8.0), statement_events.h (QUERY,
USER_VAR), rows_event.h (TABLE_MAP).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.event_fields import our_statement
from binlogkit.constants import EventType
from binlogkit.sources.raw import RawEvent

_Write = Callable[[Any], bytes]
_Place = tuple[str, Any, _Write, bytes]  # a field, what is said of it, its form, what stands there

_QUERY_POST_HEADER, _LOAD_POST_HEADER = 13, 26
_DB_LENGTH_AT, _STATUS_LENGTH_AT = 8, 11
_TABLE_ID, _FLAGS = 6, 2
_PACKED = {252: 2, 253: 3, 254: 8}  # first byte of a packed integer -> bytes behind it
_MANY_DATABASES = 254  # "more than 16", without their names
_VALUE_TYPES = {"STRING": 0, "REAL": 1, "INT": 2, "ROW": 3, "DECIMAL": 4}


def not_as_stored(raw: RawEvent, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any, bytes]]:
    """The fields of a record's ``fields`` that are not what ``raw`` stores; keys that these lack
    are not judged. Each with what is said of it and the bytes that are there."""
    judge = _JUDGES.get(raw.header.type_code)
    if judge is None:
        return
    try:
        for name, value, write, stored in judge(raw.body, fields):
            if _written(value, write) != stored:
                yield name, value, stored
    except (IndexError, ValueError):
        return  # a damaged body, which the reading reports


def _written(value: Any, write: _Write) -> bytes | None:
    """None: not a value that can stand there; a value that is not there writes nothing."""
    if value is None:
        return b""
    try:
        return write(value)
    except (TypeError, ValueError, AttributeError, OverflowError, KeyError):
        return None


def stores_text(raw: RawEvent, fields: Mapping[str, Any]) -> bool:
    """Whether the names or the statement of ``fields`` are what a TABLE_MAP, a ROWS_QUERY, a QUERY
    or an EXECUTE_LOAD_QUERY stores."""
    body, code = raw.body, raw.header.type_code
    if code == EventType.TABLE_MAP_EVENT:
        names = (_string(str(fields.get(name))) + b"\0" for name in ("db", "table"))
        return body.startswith(b"".join(names), _TABLE_ID + _FLAGS)
    statement = our_statement(fields)
    if code == EventType.ROWS_QUERY_LOG_EVENT:
        return body[1:] == statement
    load = code == EventType.EXECUTE_LOAD_QUERY_EVENT
    start = _status_end(body, _LOAD_POST_HEADER if load else _QUERY_POST_HEADER)
    return body[start + body[_DB_LENGTH_AT] + 1 :] == statement


# ---- values -------------------------------------------------------------------------------------


def _uint(size: int) -> _Write:
    return lambda value: int(value).to_bytes(size, "little")


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def _string(value: str) -> bytes:
    return bytes([len(_text(value))]) + _text(value)


def _names(value: list[str]) -> bytes:
    if not value:
        return bytes([_MANY_DATABASES])
    return bytes([len(value)]) + b"".join(_text(name) + b"\0" for name in value)


def _hex(value: str) -> bytes:
    return bytes.fromhex(value.removeprefix("0x"))


def _string_size(data: bytes, at: int) -> int:
    return 1 + data[at]


def _names_size(data: bytes, at: int) -> int:
    end = at + 1
    for _ in range(data[at] if data[at] != _MANY_DATABASES else 0):
        end = data.index(0, end) + 1
    return end - at


@dataclass(frozen=True, slots=True)
class _Form:
    """How a status variable is written, and how many bytes one takes that stands at a place."""

    write: _Write
    size: Callable[[bytes, int], int]


def _fixed(size: int) -> _Form:
    return _Form(_uint(size), lambda _, __: size)


_STRING = _Form(_string, _string_size)
_TERMINATED = _Form(lambda v: _string(v) + b"\0", lambda data, at: _string_size(data, at) + 1)
_NAMES = _Form(_names, _names_size)
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


# ---- events -------------------------------------------------------------------------------------


def _told(fields: Mapping[str, Any], name: str, write: _Write, stored: bytes) -> Iterator[_Place]:
    if name in fields:
        yield name, fields[name], write, stored


def _query(
    body: bytes, fields: Mapping[str, Any], start: int = _QUERY_POST_HEADER
) -> Iterator[_Place]:
    end = _status_end(body, start)
    yield from _told(fields, "schema", _text, body[end : end + body[_DB_LENGTH_AT]])
    said = fields.get("status_vars")
    if isinstance(said, Mapping) and "repeated" not in said:
        yield from _status(body[start:end], said)


def _status_end(body: bytes, start: int) -> int:
    """Where the status variables end that begin at ``start``."""
    return start + int.from_bytes(body[_STATUS_LENGTH_AT:_QUERY_POST_HEADER], "little")


def _load_query(body: bytes, fields: Mapping[str, Any]) -> Iterator[_Place]:
    return _query(body, fields, _LOAD_POST_HEADER)


def _status(block: bytes, said: Mapping[str, Any]) -> Iterator[_Place]:
    """Every variable that is stored, and those that are said and are not."""
    seen, at = set(), 0
    while at < len(block):
        known = _STATUS.get(block[at])
        if known is None:
            return
        at += 1
        for name, form in known:
            size = form.size(block, at)
            yield f"status_vars.{name}", said.get(name), form.write, block[at : at + size]
            seen.add(name)
            at += size
    forms = {name: form for known in _STATUS.values() for name, form in known}
    for name in said:
        if name in forms and name not in seen and said[name] is not None:
            yield f"status_vars.{name}", said[name], forms[name].write, b""


def _table_map(body: bytes, fields: Mapping[str, Any]) -> Iterator[_Place]:
    at = _TABLE_ID + _FLAGS
    yield from _told(fields, "flags", _uint(_FLAGS), body[_TABLE_ID:at])
    for _ in ("db", "table"):
        at += _string_size(body, at) + 1
    columns, at = _packed(body, at)
    yield from _told(fields, "types", _hex, body[at : at + columns])
    length, at = _packed(body, at + columns)
    yield from _told(fields, "metadata", _hex, body[at : at + length])
    at += length
    yield from _told(fields, "nullable", _hex, body[at : at + (columns + 7) // 8])


def _packed(body: bytes, at: int) -> tuple[int, int]:
    """A packed integer, and where it ends."""
    size = _PACKED.get(body[at], 0)
    number = int.from_bytes(body[at + 1 : at + 1 + size], "little") if size else body[at]
    return number, at + 1 + size


def _user_var(body: bytes, fields: Mapping[str, Any]) -> Iterator[_Place]:
    at = 4 + int.from_bytes(body[:4], "little")
    if body[at]:  # NULL
        return
    kind, collation = body[at + 1 : at + 2], body[at + 2 : at + 6]
    yield from _told(fields, "var_type", lambda name: bytes([_VALUE_TYPES[name]]), kind)
    yield from _told(fields, "collation", _uint(4), collation)


def _gtid(body: bytes, fields: Mapping[str, Any]) -> Iterator[_Place]:
    return _told(fields, "flags", _uint(1), body[:1])


_JUDGES: Mapping[int, Callable[[bytes, Mapping[str, Any]], Iterator[_Place]]] = {
    EventType.QUERY_EVENT: _query,
    EventType.EXECUTE_LOAD_QUERY_EVENT: _load_query,
    EventType.TABLE_MAP_EVENT: _table_map,
    EventType.USER_VAR_EVENT: _user_var,
    EventType.GTID_LOG_EVENT: _gtid,
    EventType.ANONYMOUS_GTID_LOG_EVENT: _gtid,
}
