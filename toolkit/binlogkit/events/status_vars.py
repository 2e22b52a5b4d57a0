"""The status variables of a QUERY_EVENT: the session settings that the statement ran with.

Codes and lengths: seeds/002 up to 0x0d, the server's sources (``statement_events.h``) of 8.0.31 and
9.x for the rest. A variable of an unknown code ends the list, since its length is unknown; it and
what follows are kept in ``rest``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.cursor import Cursor, decoded
from binlogkit.events.base import hidden

__all__ = ["StatusVars", "read_status_vars"]

_TOO_MANY_DBS = 254


@dataclass(frozen=True, slots=True)
class StatusVars:
    """Each is None where the event does not carry it.

    ``sql_mode``: bit mask; ``client_collation``, ``connection_collation``, ``server_collation``,
    ``database_collation``, ``utf8mb4_collation``: collation ids; ``microseconds``: fraction of the
    statement's start; ``updated_dbs``: databases changed, empty when more than 16; ``repeated``:
    code and bytes of a variable that a later one of its name replaces; ``order``: the codes as
    stored.
    """

    flags2: int | None = None
    sql_mode: int | None = None
    catalog: str | None = None
    auto_increment_increment: int | None = None
    auto_increment_offset: int | None = None
    client_collation: int | None = None
    connection_collation: int | None = None
    server_collation: int | None = None
    time_zone: str | None = None
    lc_time_names: int | None = None
    database_collation: int | None = None
    table_map_for_update: int | None = None
    source_data_written: int | None = None
    invoker_user: str | None = None
    invoker_host: str | None = None
    updated_dbs: tuple[str, ...] | None = None
    microseconds: int | None = None
    commit_timestamp: int | None = None
    explicit_defaults_for_timestamp: bool | None = None
    ddl_xid: int | None = None
    utf8mb4_collation: int | None = None
    sql_require_primary_key: bool | None = None
    default_table_encryption: bool | None = None
    repeated: tuple[tuple[int, bytes], ...] | None = None
    rest: bytes | None = None
    order: tuple[int, ...] = hidden()


def _uint(width: int, name: str) -> Callable[[Cursor], dict[str, Any]]:
    return lambda c: {name: c.uint(width, name)}


def _flag(name: str) -> Callable[[Cursor], dict[str, Any]]:
    return lambda c: {name: bool(c.uint(1, name))}


def _string(name: str, terminated: bool = False) -> Callable[[Cursor], dict[str, Any]]:
    def read(cursor: Cursor) -> dict[str, Any]:
        value = cursor.text(cursor.uint(1, f"{name}_length"), name)
        if terminated:
            cursor.skip(1, f"{name}_end")
        return {name: value}

    return read


def _auto_increment(cursor: Cursor) -> dict[str, Any]:
    return {
        "auto_increment_increment": cursor.uint(2, "auto_increment_increment"),
        "auto_increment_offset": cursor.uint(2, "auto_increment_offset"),
    }


def _charset(cursor: Cursor) -> dict[str, Any]:
    return {
        "client_collation": cursor.uint(2, "client_collation"),
        "connection_collation": cursor.uint(2, "connection_collation"),
        "server_collation": cursor.uint(2, "server_collation"),
    }


def _invoker(cursor: Cursor) -> dict[str, Any]:
    return _string("invoker_user")(cursor) | _string("invoker_host")(cursor)


def _updated_dbs(cursor: Cursor) -> dict[str, Any]:
    count = cursor.uint(1, "updated_dbs_count")
    if count == _TOO_MANY_DBS:
        return {"updated_dbs": ()}
    return {"updated_dbs": tuple(decoded(cursor.c_string("updated_dbs")) for _ in range(count))}


_READERS: dict[int, Callable[[Cursor], dict[str, Any]]] = {
    0: _uint(4, "flags2"),
    1: _uint(8, "sql_mode"),
    2: _string("catalog", terminated=True),  # 5.0.0 to 5.0.3
    3: _auto_increment,
    4: _charset,
    5: _string("time_zone"),
    6: _string("catalog"),
    7: _uint(2, "lc_time_names"),
    8: _uint(2, "database_collation"),
    9: _uint(8, "table_map_for_update"),
    10: _uint(4, "source_data_written"),
    11: _invoker,
    12: _updated_dbs,
    13: _uint(3, "microseconds"),  # 5.6.4
    14: _uint(8, "commit_timestamp"),
    15: _uint(8, "commit_timestamp"),
    16: _flag("explicit_defaults_for_timestamp"),  # 8.0.2
    17: _uint(8, "ddl_xid"),  # 8.0.3
    18: _uint(2, "utf8mb4_collation"),  # 8.0.11
    19: _flag("sql_require_primary_key"),  # 8.0.13
    20: _flag("default_table_encryption"),  # 8.0.16
    128: _uint(3, "microseconds"),  # MariaDB's own code for it
}


def read_status_vars(cursor: Cursor) -> StatusVars:
    """All variables in the bytes of ``cursor``."""
    values: dict[str, Any] = {}
    stored: list[tuple[int, bytes]] = []
    owner: dict[str, int] = {}
    repeated: list[int] = []
    while cursor.left:
        start = cursor.pos
        code = cursor.uint(1, "status_var_code")
        reader = _READERS.get(code)
        if reader is None:
            cursor.pos = start
            values["rest"] = cursor.rest("status_vars")
            break
        found = reader(cursor)
        name = next(iter(found))
        if name in owner:
            repeated.append(owner[name])
        owner[name] = len(stored)
        stored.append((code, cursor.data[start + 1 : cursor.pos]))
        values.update(found)
    if repeated:
        values["repeated"] = tuple(stored[i] for i in sorted(repeated))
    return StatusVars(**values, order=tuple(code for code, _ in stored))
