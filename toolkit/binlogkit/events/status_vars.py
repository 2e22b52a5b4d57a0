"""The status variables of a QUERY_EVENT: the session settings that the statement ran with.

Codes and lengths: internals manual, "QUERY_EVENT", up to 0x0d, the server's sources
(``statement_events.h``) up to 9.7 for the rest; from 128 on MariaDB's own (its ``log_event.cc``,
``Q_HRNOW`` and on), of which Percona's cluster uses the first otherwise. A variable of an unknown
code ends the list, since its length is unknown; it and what follows are kept in ``rest``. So does
``Q_COMMIT_TS2`` (15), which no server that was released writes or reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

from binlogkit._kernel.cursor import Cursor, decoded
from binlogkit.events.base import hidden
from binlogkit.sources.log_format import is_mariadb, version_tuple

__all__ = ["Flags2", "StatusVars", "read_status_vars"]

_TOO_MANY_DBS = 254
_ALTER_ENDS = 4 | 8  # FL_COMMIT_ALTER_E1, FL_ROLLBACK_ALTER_E1


@dataclass(frozen=True, slots=True)
class StatusVars:
    """Each is None where the event does not carry it; the code in front of each line.

    Collations and locales by their ids. ``flags2``: bits of :class:`Flags2`; ``sql_mode``: bit
    mask; ``table_map_for_update``: a bit per table of a multi-table UPDATE;
    ``source_data_written``: size of the event that a 4.x source sent, in relay logs;
    ``invoker_user``, ``invoker_host``: CURRENT_USER() of account and definer statements;
    ``updated_dbs``: databases changed, empty when more than 16; ``microseconds``: fraction of the
    statement's start; ``commit_seq_no``: 5.7.2 to 5.7.4; ``ddl_xid``: of an atomic DDL statement.
    ``repeated``: code and bytes of a variable that a later one of its name replaces; ``order``: the
    codes as stored.
    """

    flags2: int | None = None  # 0, 5.0.0
    sql_mode: int | None = None  # 1, 5.0.0
    catalog: str | None = None  # 2 up to 5.0.3, 6 from 5.0.4 on
    auto_increment_increment: int | None = None  # 3, 5.0.2
    auto_increment_offset: int | None = None
    client_collation: int | None = None  # 4, 5.0.3
    connection_collation: int | None = None
    server_collation: int | None = None
    time_zone: str | None = None  # 5, 5.0.3
    lc_time_names: int | None = None  # 7, 5.0.25
    database_collation: int | None = None  # 8, 5.0.36
    table_map_for_update: int | None = None  # 9, 5.0.54
    source_data_written: int | None = None  # 10, 5.1.37
    invoker_user: str | None = None  # 11, 5.5.3
    invoker_host: str | None = None
    updated_dbs: tuple[str, ...] | None = None  # 12, 5.6.3
    microseconds: int | None = None  # 13, 5.6.4; MariaDB: 128
    commit_seq_no: int | None = None  # 14
    explicit_defaults_for_timestamp: bool | None = None  # 16, 8.0.2
    ddl_xid: int | None = None  # 17, 8.0.3
    utf8mb4_collation: int | None = None  # 18, 8.0.11
    sql_require_primary_key: bool | None = None  # 19, 8.0.13
    default_table_encryption: bool | None = None  # 20, 8.0.16
    enable_cascade_triggers: bool | None = None  # 21, 9.7
    ddl_skip_rewrite: bool | None = None  # 21, Percona 8.0
    wsrep_skip_readonly_checks: bool | None = None  # 128, Percona's cluster 8.0
    mariadb_xid: int | None = None  # 129
    mariadb_gtid_flags3: int | None = None  # 130
    mariadb_sa_seq_no: int | None = None  # of an ALTER that ends, with flags 4 and 8 of that
    mariadb_collations: tuple[tuple[int, int], ...] | None = None  # 131
    repeated: tuple[tuple[int, bytes], ...] | None = None
    rest: bytes | None = None
    order: tuple[int, ...] = hidden()


class Flags2(IntFlag):
    """``OPTIONS_WRITTEN_TO_BIN_LOG``: settings of the session that a bit turns off or on."""

    AUTO_IS_NULL = 0x00004000
    NOT_AUTOCOMMIT = 0x00080000
    NO_FOREIGN_KEY_CHECKS = 0x04000000
    RELAXED_UNIQUE_CHECKS = 0x08000000


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


def _gtid_flags3(cursor: Cursor) -> dict[str, Any]:
    flags = cursor.uint(1, "mariadb_gtid_flags3")
    if not flags & _ALTER_ENDS:
        return {"mariadb_gtid_flags3": flags}
    return {"mariadb_gtid_flags3": flags, "mariadb_sa_seq_no": cursor.uint(8, "mariadb_sa_seq_no")}


def _collations(cursor: Cursor) -> dict[str, Any]:
    count = cursor.uint(1, "mariadb_collations_count")
    names = ("mariadb_charset", "mariadb_collation")
    pairs = (tuple(cursor.uint(2, name) for name in names) for _ in range(count))
    return {"mariadb_collations": tuple(pairs)}


_READERS: dict[int, Callable[[Cursor], dict[str, Any]]] = {
    0: _uint(4, "flags2"),
    1: _uint(8, "sql_mode"),
    2: _string("catalog", terminated=True),
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
    13: _uint(3, "microseconds"),
    14: _uint(8, "commit_seq_no"),
    16: _flag("explicit_defaults_for_timestamp"),
    17: _uint(8, "ddl_xid"),
    18: _uint(2, "utf8mb4_collation"),
    19: _flag("sql_require_primary_key"),
    20: _flag("default_table_encryption"),
    21: _flag("enable_cascade_triggers"),
    128: _uint(3, "microseconds"),
    129: _uint(8, "mariadb_xid"),
    130: _gtid_flags3,
    131: _collations,
}
_PERCONA = _READERS | {
    21: _flag("ddl_skip_rewrite"),
    128: _flag("wsrep_skip_readonly_checks"),
}
_FIRST_CASCADE = (9, 0, 0)


def _readers(server_version: str) -> dict[int, Callable[[Cursor], dict[str, Any]]]:
    """MySQL itself wrote neither 21 nor 128 before 9.x: there they are Percona's."""
    if not server_version or is_mariadb(server_version):
        return _READERS
    return _READERS if version_tuple(server_version) >= _FIRST_CASCADE else _PERCONA


def read_status_vars(cursor: Cursor, server_version: str = "") -> StatusVars:
    """All variables in the bytes of ``cursor``, as this server wrote them."""
    readers = _readers(server_version)
    values: dict[str, Any] = {}
    stored: list[tuple[int, bytes]] = []
    owner: dict[str, int] = {}
    repeated: list[int] = []
    while cursor.left:
        start = cursor.pos
        code = cursor.uint(1, "status_var_code")
        reader = readers.get(code)
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
