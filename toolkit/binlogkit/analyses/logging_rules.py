"""Whether a statement is logged as rows or as text, and with which error or warning.

The rules are ``THD::decide_logging_format()``'s, as the MySQL internals manual lists
them; the order in which they are tried is that of ``sql/binlog.cc`` (5.7, 8.0): first the engines,
then the format. Error numbers: ``errmsg`` of 5.7 and 8.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from binlogkit.errors import UsageError


class BinlogFormat(StrEnum):
    """``binlog_format``."""

    ROW = "row"
    STATEMENT = "statement"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Engine:
    """What a storage engine lets the server log.

    ``row``, ``statement``: capable of that format (HA_BINLOG_ROW_CAPABLE, HA_BINLOG_STMT_CAPABLE);
    ``self_logging``: writes its own events (HA_HAS_OWN_BINLOGGING, NDB);
    ``transactional``: its changes are undone by ROLLBACK.
    """

    name: str
    row: bool = True
    statement: bool = True
    self_logging: bool = False
    transactional: bool = True


def innodb(isolation: str = "REPEATABLE-READ") -> Engine:
    """InnoDB under an isolation level: below REPEATABLE READ it is not statement-capable.

    Manual, "Setting The Binary Log Format": only row-based logging can be used with the levels
    READ COMMITTED and READ UNCOMMITTED.
    """
    level = isolation.upper().replace(" ", "-")
    return Engine("InnoDB", statement=level not in ("READ-COMMITTED", "READ-UNCOMMITTED"))


@dataclass(frozen=True, slots=True)
class Statement:
    """What the decision depends on.

    ``engines``: of the tables that the statement writes; ``accessed``: of all that it touches;
    ``unsafe``: why it is unsafe in statement format, empty when it is safe; ``row_injection``: a
    row event applied by a replica or a BINLOG statement; ``ddl``: never logged as rows.
    """

    engines: Sequence[Engine]
    accessed: Sequence[Engine] = ()
    unsafe: Sequence[str] = ()
    row_injection: bool = False
    ddl: bool = False

    @property
    def row_incapable(self) -> bool:
        """At least one written table's engine is limited to statement logging."""
        return any(not engine.row for engine in self.engines)

    @property
    def statement_incapable(self) -> bool:
        """At least one written table's engine is limited to row logging."""
        return any(not engine.statement for engine in self.engines)

    @property
    def self_logging_among_others(self) -> bool:
        """More than one engine is involved, and one of them logs by itself."""
        involved = {engine.name: engine for engine in (*self.engines, *self.accessed)}
        return len(involved) > 1 and any(e.self_logging for e in involved.values())


@dataclass(frozen=True, slots=True)
class Decision:
    """``format``: ``row`` or ``statement``, None when the statement is refused.

    ``error``, ``warning``: the server's symbol and number; ``rule``: the sentence that decided.
    """

    format: str | None
    rule: str
    error: str | None = None
    errno: int | None = None
    warning: str | None = None
    warning_number: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence of the document, when it holds, and what follows."""

    sentence: str
    holds: Callable[[Statement, BinlogFormat], bool]
    format: str | None = None
    error: str | None = None
    errno: int | None = None
    warns: bool = False


_UNSAFE = ("ER_BINLOG_UNSAFE_STATEMENT", 1592)

RULES: tuple[Rule, ...] = (
    Rule(
        "more than one engine is involved and at least one engine is self-logging",
        lambda s, _: s.self_logging_among_others,
        error="ER_BINLOG_MULTIPLE_ENGINES_AND_SELF_LOGGING_ENGINE",
        errno=1667,
    ),
    Rule(
        "both row-incapable engines and statement-incapable engines are involved",
        lambda s, _: s.row_incapable and s.statement_incapable,
        error="ER_BINLOG_ROW_ENGINE_AND_STMT_ENGINE",
        errno=1661,
    ),
    Rule(
        "statement is a row injection (that is, a row event executed by the slave SQL thread or a"
        " BINLOG statement) and at least one table uses a storage engine limited to"
        " statement-logging",
        lambda s, _: s.row_injection and s.row_incapable,
        error="ER_BINLOG_ROW_INJECTION_AND_STMT_ENGINE",
        errno=1664,
    ),
    Rule(
        "BINLOG_FORMAT = ROW and at least one table uses a storage engine limited to"
        " statement-logging",
        lambda s, f: f == BinlogFormat.ROW and s.row_incapable and not s.ddl,
        error="ER_BINLOG_ROW_MODE_AND_STMT_ENGINE",
        errno=1662,
    ),
    Rule(
        "statement is unsafe, BINLOG_FORMAT = MIXED, and storage engine is limited to"
        " statement-logging",
        lambda s, f: f == BinlogFormat.MIXED and bool(s.unsafe) and s.row_incapable,
        error="ER_BINLOG_UNSAFE_AND_STMT_ENGINE",
        errno=1663,
    ),
    Rule(
        "statement is a row injection (that is, a row event executed by the slave SQL thread or a"
        " BINLOG statement) and BINLOG_FORMAT = STATEMENT",
        lambda s, f: f == BinlogFormat.STATEMENT and s.row_injection,
        error="ER_BINLOG_ROW_INJECTION_AND_STMT_MODE",
        errno=1666,
    ),
    Rule(
        "BINLOG_FORMAT = STATEMENT and at least one table uses a storage engine limited to"
        " row-logging",
        lambda s, f: f == BinlogFormat.STATEMENT and s.statement_incapable and not s.ddl,
        error="ER_BINLOG_STMT_MODE_AND_ROW_ENGINE",
        errno=1665,
    ),
    Rule("S is of DDL type", lambda s, _: s.ddl, format="statement"),
    Rule(
        "A warning is issued for unsafe statements if binlog_format=STATEMENT",
        lambda s, f: f == BinlogFormat.STATEMENT and bool(s.unsafe),
        format="statement",
        warns=True,
    ),
    Rule(
        "@@session.binlog_format=STATEMENT",
        lambda _, f: f == BinlogFormat.STATEMENT,
        format="statement",
    ),
    Rule("@@session.binlog_format=ROW", lambda _, f: f == BinlogFormat.ROW, format="row"),
    Rule(
        "@@session.binlog_format=MIXED and S is unsafe",
        lambda s, _: bool(s.unsafe) or s.row_injection or s.statement_incapable,
        format="row",
    ),
    Rule("@@session.binlog_format=MIXED and S is safe", lambda _, __: True, format="statement"),
)


def decide(statement: Statement, binlog_format: BinlogFormat | str) -> Decision:
    """How the server logs ``statement``, or with which error it refuses it.

    UsageError for an unknown format.
    """
    try:
        setting = BinlogFormat(str(binlog_format).lower())
    except ValueError as exc:
        raise UsageError(f"binlog_format has no value {binlog_format!r}") from exc
    rule = next(rule for rule in RULES if rule.holds(statement, setting))
    warning = _UNSAFE if rule.warns else (None, None)
    return Decision(rule.format, rule.sentence, rule.error, rule.errno, *warning)
