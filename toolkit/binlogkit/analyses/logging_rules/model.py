"""What the decision depends on: a statement, the session's settings, its transaction so far."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from binlogkit.analyses.logging_rules.engines import Engine
from binlogkit.errors import UsageError
from binlogkit.rows.ddl.session import version_number
from binlogkit.rows.schema import TableDefinition


class BinlogFormat(StrEnum):
    """``binlog_format``."""

    ROW = "row"
    STATEMENT = "statement"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Settings:
    """The server and its session. ``direct``: binlog_direct_non_transactional_updates."""

    server: str = "8.0"
    binlog_format: BinlogFormat = BinlogFormat.ROW
    binlog_row_image: str = "full"
    isolation: str = "REPEATABLE-READ"
    direct: bool = False
    sql_log_bin: bool = True
    autocommit: bool = True

    @property
    def version(self) -> int:
        """MYSQL_VERSION_ID."""
        return version_number(self.release)

    @property
    def release(self) -> str:
        """The version with three numbers; of a series the release that was tried."""
        text = _TRIED.get(self.server, self.server)
        return text + ".0" * (2 - text.count("."))

    @property
    def repeatable(self) -> bool:
        """Whether the isolation level is at least REPEATABLE READ."""
        return self.isolation.upper().replace(" ", "-") in ("REPEATABLE-READ", "SERIALIZABLE")


_TRIED = {"5.6": "5.6.24", "5.7": "5.7.22", "8.0": "8.0.31", "9": "9.7.4", "9.7": "9.7.4"}
_LEVELS = ("READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE")
_ON = {"1": True, "on": True, "true": True, "0": False, "off": False, "false": False}


def settings_of(values: Mapping[str, str], server: str = "8.0") -> Settings:
    """Settings by the names of the server's variables. UsageError: one that nothing here asks, or
    a value that it cannot have."""
    made = Settings(server)
    for name, value in values.items():
        key = name.lower().replace("-", "_").removeprefix("session.").removeprefix("global.")
        made = replace(made, **_setting(key, value.strip()))
    return made


_ASSIGNED = re.compile(
    r"(?:\bSESSION\s+|\bLOCAL\s+|@@(?:SESSION\.|LOCAL\.)?|[\s,])\b(binlog_format|binlog_row_image|"
    r"transaction_isolation|tx_isolation|binlog_direct_non_transactional_updates|sql_log_bin)"
    r"\s*:?=\s*'?([\w-]+)",
    re.I,
)
_LEVEL = re.compile(
    r"\s*SET\s+SESSION\s+TRANSACTION\b.*\bISOLATION\s+LEVEL\s+(\w+(?:\s+(?:READ|COMMITTED|"
    r"UNCOMMITTED))?)",
    re.I | re.S,
)
_GLOBAL = re.compile(r"\s*SET\s+(GLOBAL|PERSIST|PERSIST_ONLY)\b", re.I)


def settings_after(settings: Settings, sql: str) -> Settings:
    """The session's settings after a statement: SET may change them."""
    if sql.lstrip()[:3].upper() != "SET" or _GLOBAL.match(sql):
        return settings
    values = dict(_ASSIGNED.findall(sql))
    if (level := _LEVEL.match(sql)) is not None:
        values["transaction_isolation"] = "-".join(level[1].split())
    for name, value in values.items():
        settings = replace(settings, **_setting(name.lower(), value))
    return settings


def _setting(name: str, value: str) -> dict[str, Any]:
    if name == "binlog_format":
        try:
            return {"binlog_format": BinlogFormat(value.lower())}
        except ValueError as exc:
            raise UsageError(f"binlog_format has no value {value!r}") from exc
    if name == "binlog_row_image" and value.lower() in ("full", "minimal", "noblob"):
        return {"binlog_row_image": value.lower()}
    if name in ("transaction_isolation", "tx_isolation"):
        level = value.upper().replace(" ", "-")
        if level in _LEVELS:
            return {"isolation": level}
    flag = {
        "binlog_direct_non_transactional_updates": "direct",
        "sql_log_bin": "sql_log_bin",
        "autocommit": "autocommit",
    }.get(name)
    if flag is not None and value.lower() in _ON:
        return {flag: _ON[value.lower()]}
    raise UsageError(f"no rule asks for {name}={value!r}")


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table that a statement uses.

    ``write``, ``read``: what it does; UPDATE and DELETE do not read what they write; ``view``: it
    is written through a view.
    ``substatement``: by a trigger or a stored function; ``unreplicated``: a table whose content is
    the server's own (logs, performance_schema); ``grants``: one of the grant tables;
    ``not_first``: its AUTO_INCREMENT column is not the first of its key; ``foreseen``: only the
    procedure uses it whose CALL calls functions in its arguments (they are evaluated first), or a
    trigger of what a foreign key changes.
    """

    db: str
    table: str
    engine: Engine
    write: bool = False
    read: bool = False
    temporary: bool = False
    substatement: bool = False
    unreplicated: bool = False
    grants: bool = False
    auto_increment: bool = False
    not_first: bool = False
    unique_keys: int = 0
    unsafe_default: bool = False
    view: bool = False
    foreseen: bool = False
    definition: TableDefinition | None = None


@dataclass(frozen=True, slots=True)
class Invoked:
    """A function that changes data and that a statement calls itself, not from another one.

    ``arguments``: it has some; ``transactional``: it writes T-tables; ``lasting``: N-tables.
    """

    db: str
    name: str
    arguments: bool = False
    transactional: bool = False
    lasting: bool = False


#: Statements that the server logs as the functions that they call, each as a SELECT of its own.
EVALUATED = frozenset(("select", "do", "set", "call", "expression"))
#: Statements whose rows can be logged (CF_CAN_GENERATE_ROW_EVENTS).
DML = frozenset(
    (
        "insert", "replace", "update", "delete", "load", "create_select", "select", "do", "set",
        "call", "binlog",
    )
)  # fmt: skip


#: The state of the definitions for which a text was read: how often programs had been defined, and
#: tables.
Read = tuple[int, Hashable]
#: Which statement of a session's procedures and prepared ones it is, and when it was read.
StatementPlace = tuple[str, Read]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement by what the rules ask of it.

    ``kind``: insert, replace, update, delete, load, select, do, set, create_select, create, drop,
    truncate, ddl, admin (CHECK TABLE, FLUSH LOGS …), call (the arguments of a CALL), binlog (a
    BINLOG statement), expression (what a routine evaluates outside of a statement: DECLARE …
    DEFAULT, IF, CASE, WHILE, UNTIL; and SHOW … WHERE), or control (BEGIN, COMMIT …);
    ``temporary``: CREATE, DROP or TRUNCATE of temporary tables alone; ``traits``: limit, delayed,
    ignore, on_duplicate, replace, query (it has a SELECT), skip_locked, nowait, function (it calls
    a stored function), if_exists (also IF NOT EXISTS), keyword (it says TEMPORARY), exists (what
    CREATE … SELECT makes is there), like_temporary (CREATE … LIKE a temporary table), and names of
    functions, variables and UDFs that make it unsafe, each as ``function:NAME``,
    ``variable:NAME``, ``udf:NAME``; ``specified``: the columns that it gives a value, by the
    written table; ``triggers``: likewise those that BEFORE triggers name;
    ``temporaries``: the temporary tables that it makes, drops or makes anew; ``dropped``: all
    tables that DROP TABLE names, and those that DROP DATABASE finds; ``invoked``: the functions
    that it calls and that change data; ``db``: the session's database;
    ``logged``: of a routine's statement, its text with … for its variables, whose values stand
    there;
    ``place``: of a statement in a procedure or a prepared one, which it is, and what it was read
    for; ``continues``: the same CALL carried out another one before it.
    """

    kind: str
    uses: tuple[TableUse, ...] = ()
    temporary: bool = False
    traits: frozenset[str] = frozenset()
    specified: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    triggers: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    text: str = ""
    temporaries: tuple[TableUse, ...] = ()
    dropped: tuple[TableUse, ...] = ()
    invoked: tuple[Invoked, ...] = ()
    db: str = ""
    logged: str = ""
    place: StatementPlace | None = None
    continues: bool = False

    @property
    def written(self) -> tuple[TableUse, ...]:
        """The tables that it writes."""
        return tuple(use for use in self.uses if use.write)

    @property
    def logged_writes(self) -> tuple[TableUse, ...]:
        """Those that replicas have too."""
        return tuple(use for use in self.uses if use.write and not use.unreplicated)

    @property
    def changed(self) -> tuple[TableUse, ...]:
        """Those of them that the statement itself and what it invokes change."""
        return tuple(use for use in self.logged_writes if not use.foreseen)

    @property
    def accessed(self) -> tuple[TableUse, ...]:
        """All tables that engines are asked for, the server's own that it writes left out."""
        return tuple(use for use in self.uses if not (use.write and use.unreplicated))

    @property
    def row_injection(self) -> bool:
        """A row event that a replica applies, or a BINLOG statement."""
        return self.kind == "binlog"

    @property
    def in_procedure(self) -> bool:
        """Whether a CALL carries it out."""
        return self.place is not None and self.place[0].startswith("CALL")

    def has(self, prefix: str) -> bool:
        """Whether a trait begins so."""
        return any(trait.startswith(prefix) for trait in self.traits)


@dataclass(frozen=True, slots=True)
class Transaction:
    """The session's transaction so far.

    ``open``: several statements are in it (BEGIN, or autocommit=0); ``wrote_transactional``:
    T-tables were written in it; ``xa``: it is an XA transaction; ``rows_since_temporary``: up to
    5.7, a statement was logged as rows while the session had temporary tables; ``after_rows``: the
    statement before was carried out as rows; ``marked``: the reasons that a procedure's or prepared
    statement has from having been carried out before.
    """

    open: bool = False
    wrote_transactional: bool = False
    xa: bool = False
    rows_since_temporary: bool = False
    after_rows: bool = False
    marked: Mapping[StatementPlace, frozenset[str]] = field(default_factory=dict)
