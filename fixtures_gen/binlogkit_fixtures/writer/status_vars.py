"""Writes the status variables of a QUERY_EVENT (codes: ``binlogkit.events.status_vars``).

Servers write them in the order of ``Query_log_event::write`` (5.0 to 9.x): by code, but the catalog
(6) after ``sql_mode`` (1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from binlogkit.events.status_vars import StatusVars
from binlogkit.sources.log_format import is_mariadb, version_tuple
from binlogkit_fixtures.writer.packer import Packer

__all__ = ["write_status_vars"]

_TOO_MANY_DBS = 254
_ALTER_ENDS = 4 | 8
_FIRST_CASCADE = (9, 0, 0)
_Table = dict[int, tuple[str, Callable[[Packer, StatusVars], None]]]


def _uint(width: int, name: str) -> tuple[str, Callable[[Packer, StatusVars], None]]:
    return name, lambda p, v: p.uint(width, getattr(v, name), name)


def _flag(name: str) -> tuple[str, Callable[[Packer, StatusVars], None]]:
    return name, lambda p, v: p.flag(getattr(v, name), name)


def _string(name: str, end: bytes = b"") -> tuple[str, Callable[[Packer, StatusVars], None]]:
    def write(packer: Packer, values: StatusVars) -> None:
        packer.sized(1, packer.text(getattr(values, name)), name)
        packer.raw(end)

    return name, write


def _together(width: int, *names: str) -> tuple[str, Callable[[Packer, StatusVars], None]]:
    def write(packer: Packer, values: StatusVars) -> None:
        for name in names:
            value = getattr(values, name)
            if value is None:
                raise packer.fail(name, f"it goes together with {names[0]}")
            packer.uint(width, value, name)

    return names[0], write


def _invoker(packer: Packer, values: StatusVars) -> None:
    for name in ("invoker_user", "invoker_host"):
        value = getattr(values, name)
        if value is None:
            raise packer.fail(name, "the invoker's user and host go together")
        packer.sized(1, packer.text(value), name)


def _updated_dbs(packer: Packer, values: StatusVars) -> None:
    names = values.updated_dbs or ()
    if len(names) >= _TOO_MANY_DBS:
        raise packer.fail("updated_dbs", "too many to be named; give none")
    packer.uint(1, len(names) or _TOO_MANY_DBS, "updated_dbs_count")
    for name in names:
        packer.c_string(packer.text(name), "updated_dbs")


def _gtid_flags3(packer: Packer, values: StatusVars) -> None:
    flags = values.mariadb_gtid_flags3 or 0
    packer.uint(1, flags, "mariadb_gtid_flags3")
    if bool(flags & _ALTER_ENDS) is (values.mariadb_sa_seq_no is None):
        raise packer.fail("mariadb_sa_seq_no", "an ALTER that ends has one, and nothing else has")
    if values.mariadb_sa_seq_no is not None:
        packer.uint(8, values.mariadb_sa_seq_no, "mariadb_sa_seq_no")


def _collations(packer: Packer, values: StatusVars) -> None:
    pairs = values.mariadb_collations or ()
    packer.uint(1, len(pairs), "mariadb_collations_count")
    for pair in pairs:
        for value in pair:
            packer.uint(2, value, "mariadb_collations")


# In the order in which servers write them; of two codes for one variable the usual one first.
_WRITERS: _Table = {
    0: _uint(4, "flags2"),
    1: _uint(8, "sql_mode"),
    6: _string("catalog"),
    2: _string("catalog", b"\0"),
    3: _together(2, "auto_increment_increment", "auto_increment_offset"),
    4: _together(2, "client_collation", "connection_collation", "server_collation"),
    5: _string("time_zone"),
    7: _uint(2, "lc_time_names"),
    8: _uint(2, "database_collation"),
    9: _uint(8, "table_map_for_update"),
    10: _uint(4, "source_data_written"),
    11: ("invoker_user", _invoker),
    12: ("updated_dbs", _updated_dbs),
    13: _uint(3, "microseconds"),
    128: _uint(3, "microseconds"),
    14: _uint(8, "commit_seq_no"),
    16: _flag("explicit_defaults_for_timestamp"),
    17: _uint(8, "ddl_xid"),
    18: _uint(2, "utf8mb4_collation"),
    19: _flag("sql_require_primary_key"),
    20: _flag("default_table_encryption"),
    21: _flag("enable_cascade_triggers"),
    129: _uint(8, "mariadb_xid"),
    130: ("mariadb_gtid_flags3", _gtid_flags3),
    131: ("mariadb_collations", _collations),
}
# Percona's server and cluster of 8.0 use two codes otherwise.
_PERCONA = {
    21: _flag("ddl_skip_rewrite"),
    128: _flag("wsrep_skip_readonly_checks"),
}


# Values that have no code of their own.
_TOGETHER = {
    "auto_increment_offset": "auto_increment_increment",
    "connection_collation": "client_collation",
    "server_collation": "client_collation",
    "invoker_host": "invoker_user",
    "mariadb_sa_seq_no": "mariadb_gtid_flags3",
}


def _usual_order(values: StatusVars, writers: _Table) -> tuple[int, ...]:
    names: set[str] = set()
    order = []
    for code, (name, _) in writers.items():
        if getattr(values, name) is not None and name not in names:
            names.add(name)
            order.append(code)
    return tuple(order)


def _table(server_version: str) -> _Table:
    """MySQL itself wrote neither 21 nor 128 before 9.x: there they are Percona's."""
    if not server_version or is_mariadb(server_version):
        return _WRITERS
    return _WRITERS if version_tuple(server_version) >= _FIRST_CASCADE else _WRITERS | _PERCONA


def write_status_vars(packer: Packer, values: StatusVars, server_version: str) -> bytes:
    """Their bytes, as this server writes them.

    :class:`UnwritableError`: ``order`` contradicts what is there, or such a server has no code for
    a variable.
    """
    for second, first in _TOGETHER.items():
        if getattr(values, second) is not None and getattr(values, first) is None:
            raise packer.fail(second, f"it goes together with {first}")
    part = packer.sub()
    writers = _table(server_version)
    order = values.order or _usual_order(values, writers)
    repeated = list(values.repeated or ())
    names = [writers[code][0] if code in writers else None for code in order]
    for i, code in enumerate(order):
        name = names[i]
        part.uint(1, code, "status_var_code")
        if name is None or getattr(values, name) is None:
            raise packer.fail("order", f"it names a variable {code} that is not there")
        if name not in names[i + 1 :]:
            writers[code][1](part, values)
        elif repeated and repeated[0][0] == code:
            part.raw(repeated.pop(0)[1])
        else:
            raise packer.fail("order", f"it names a variable {code} too often")
    for item in fields(values):
        without = {*names, *_TOGETHER, "repeated", "rest", "order"}
        if item.name not in without and getattr(values, item.name) is not None:
            raise packer.fail(item.name, "neither the order nor such a server has a place for it")
    if repeated:
        raise packer.fail("order", "it leaves out what is repeated")
    part.raw(values.rest or b"")
    return bytes(part.data)
