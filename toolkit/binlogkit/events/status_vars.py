"""The status variables of a QUERY_EVENT: the session settings that the statement ran with.

Codes and lengths: internals manual, "QUERY_EVENT", up to 0x0d, the server's sources
(``statement_events.h``) up to 9.7 for the rest; from 128 on MariaDB's own (its ``log_event.cc``,
``Q_HRNOW`` and on), of which Percona's cluster uses the first otherwise. A variable of an unknown
code ends the list, since its length is unknown; it and what follows are kept in ``rest``. So does
``Q_COMMIT_TS2`` (15), which no server that was released writes or reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from binlogkit._kernel.cursor import Cursor, decoded
from binlogkit.errors import MalformedEventError
from binlogkit.events.base import FieldReader, ended_text, hidden, readers_of, stored
from binlogkit.sources.log_format import is_mariadb, version_tuple

_TOO_MANY_DBS = 254
_PERCONA = "Percona"
_USUAL = 256  # bytes that are kept
_ALTER_ENDS = 4 | 8  # FL_COMMIT_ALTER_E1, FL_ROLLBACK_ALTER_E1


def _uint(width: int) -> FieldReader:
    return lambda cursor, name: cursor.uint(width, name)


def _flag(cursor: Cursor, name: str) -> bool:
    return bool(cursor.uint(1, name))


def _string(cursor: Cursor, name: str) -> str:
    return cursor.text(cursor.uint(1, f"{name}_length"), name)


def _terminated(cursor: Cursor, name: str) -> str:
    return ended_text(cursor, cursor.uint(1, f"{name}_length"), name)


def _names(cursor: Cursor, name: str) -> tuple[str, ...]:
    count = cursor.uint(1, f"{name}_count")
    count = 0 if count == _TOO_MANY_DBS else count
    return tuple(decoded(cursor.c_string(name)) for _ in range(count))


def _sa_seq_no(cursor: Cursor, name: str) -> int | None:
    flags = cursor.data[cursor.pos - 1]
    return cursor.uint(8, name) if flags & _ALTER_ENDS else None


def _collations(cursor: Cursor, name: str) -> tuple[tuple[int, int], ...]:
    count = cursor.uint(1, f"{name}_count")
    return tuple(
        (cursor.uint(2, "mariadb_charset"), cursor.uint(2, "mariadb_collation"))
        for _ in range(count)
    )


@dataclass(frozen=True, slots=True)
class StatusVars:
    """Each is None where the event does not carry it.

    Collations and locales by their ids. ``flags2``, ``sql_mode``: bit masks;
    ``table_map_for_update``: a bit per table of a multi-table UPDATE;
    ``source_data_written``: size of the event that a 4.x source sent, in relay logs;
    ``invoker_user``, ``invoker_host``: CURRENT_USER() of account and definer statements;
    ``updated_dbs``: databases changed, empty when more than 16; ``microseconds``: fraction of the
    statement's start; ``commit_seq_no``: 5.7.2 to 5.7.4; ``ddl_xid``: of an atomic DDL statement.
    ``repeated``: code and bytes of a variable that a later one of its name replaces; ``order``: the
    codes as stored.
    """

    flags2: int | None = stored((0, _uint(4)))  # 5.0.0
    sql_mode: int | None = stored((1, _uint(8)))  # 5.0.0
    catalog: str | None = stored((2, _terminated), (6, _string))  # 2 up to 5.0.3, 6 from 5.0.4 on
    auto_increment_increment: int | None = stored((3, _uint(2)))  # 5.0.2
    auto_increment_offset: int | None = stored((3, _uint(2)))
    client_collation: int | None = stored((4, _uint(2)))  # 5.0.3
    connection_collation: int | None = stored((4, _uint(2)))
    server_collation: int | None = stored((4, _uint(2)))
    time_zone: str | None = stored((5, _string))  # 5.0.3
    lc_time_names: int | None = stored((7, _uint(2)))  # 5.0.25
    database_collation: int | None = stored((8, _uint(2)))  # 5.0.36
    table_map_for_update: int | None = stored((9, _uint(8)))  # 5.0.54
    source_data_written: int | None = stored((10, _uint(4)))  # 5.1.37
    invoker_user: str | None = stored((11, _string))  # 5.5.3
    invoker_host: str | None = stored((11, _string))
    updated_dbs: tuple[str, ...] | None = stored((12, _names))  # 5.6.3
    microseconds: int | None = stored((13, _uint(3)), (128, _uint(3)))  # 5.6.4; MariaDB: 128
    commit_seq_no: int | None = stored((14, _uint(8)))
    explicit_defaults_for_timestamp: bool | None = stored((16, _flag))  # 8.0.2
    ddl_xid: int | None = stored((17, _uint(8)))  # 8.0.3
    utf8mb4_collation: int | None = stored((18, _uint(2)))  # 8.0.11
    sql_require_primary_key: bool | None = stored((19, _flag))  # 8.0.13
    default_table_encryption: bool | None = stored((20, _flag))  # 8.0.16
    enable_cascade_triggers: bool | None = stored((21, _flag))  # 9.7
    ddl_skip_rewrite: bool | None = stored((21, _flag), variant=_PERCONA)  # 8.0
    wsrep_skip_readonly_checks: bool | None = stored((128, _flag), variant=_PERCONA)  # cluster 8.0
    mariadb_xid: int | None = stored((129, _uint(8)))
    mariadb_gtid_flags3: int | None = stored((130, _uint(1)))
    mariadb_sa_seq_no: int | None = stored((130, _sa_seq_no))  # of an ALTER that ends
    mariadb_collations: tuple[tuple[int, int], ...] | None = stored((131, _collations))
    repeated: tuple[tuple[int, bytes], ...] | None = None
    rest: bytes | None = None
    order: tuple[int, ...] = hidden()


_FIRST_CASCADE = (9, 0, 0)
_READERS = {variant: readers_of(StatusVars, variant) for variant in ("", _PERCONA)}


def _variant(server_version: str) -> str:
    """MySQL itself wrote neither 21 nor 128 before 9.x: there they are Percona's."""
    if not server_version or is_mariadb(server_version):
        return ""
    return "" if version_tuple(server_version) >= _FIRST_CASCADE else _PERCONA


def read_status_vars(cursor: Cursor, server_version: str = "") -> StatusVars:
    """All variables in the bytes of ``cursor``, as this server wrote them; those of a session are
    the same in most of its events."""
    data = cursor.data
    # Other cursors note what each field is read from (events/explain/cursor.py).
    if type(cursor) is Cursor and cursor.pos == 0 and len(data) <= _USUAL:
        try:
            found = _usual(data, server_version)
        except MalformedEventError:
            pass  # read again, to tell where it stands
        else:
            cursor.rest("status_vars")
            return found
    return _read(cursor, server_version)


@lru_cache(256)
def _usual(data: bytes, server_version: str) -> StatusVars:
    return _read(Cursor(data), server_version)


def _read(cursor: Cursor, server_version: str) -> StatusVars:
    readers = _READERS[_variant(server_version)]
    values: dict[str, Any] = {}
    kept: list[tuple[int, bytes]] = []
    owner: dict[str, int] = {}
    repeated: list[int] = []
    while cursor.left:
        start = cursor.pos
        code = cursor.uint(1, "status_var_code")
        if code not in readers:
            cursor.pos = start
            values["rest"] = cursor.rest("status_vars")
            break
        found = {name: read(cursor, name) for name, read in readers[code]}
        name = readers[code][0][0]
        if name in owner:
            repeated.append(owner[name])
        owner[name] = len(kept)
        kept.append((code, cursor.data[start + 1 : cursor.pos]))
        values.update(found)
    if repeated:
        values["repeated"] = tuple(kept[i] for i in sorted(repeated))
    return StatusVars(**values, order=tuple(code for code, _ in kept))
