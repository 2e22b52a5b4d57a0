"""Whether a statement is logged as rows, as text or not at all, with which error or warnings.

``THD::decide_logging_format()`` of 5.6 to 9.7, as the MySQL internals manual lists it: what is
impossible first, in the order of ``sql/binlog.cc``, then the format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from binlogkit.analyses.logging_rules.model import (
    DML,
    EVALUATED,
    BinlogFormat,
    Settings,
    Statement,
    Transaction,
)
from binlogkit.analyses.logging_rules.reasons import Reason, accesses, reasons


class Outcome(StrEnum):
    """What becomes of a statement."""

    STATEMENT = "statement"
    ROWS = "rows"
    ERROR = "error"
    NOT_LOGGED = "not logged"


@dataclass(frozen=True, slots=True)
class Case:
    """All that a rule may ask; ``unsafe``: the reasons that hold."""

    statement: Statement
    settings: Settings
    transaction: Transaction
    unsafe: tuple[Reason, ...]

    @property
    def format(self) -> BinlogFormat:
        """``binlog_format``."""
        return self.settings.binlog_format

    @property
    def row_incapable(self) -> bool:
        """A written table's engine is limited to statement logging."""
        return any(not use.engine.row for use in self.statement.logged_writes)

    @property
    def statement_incapable(self) -> bool:
        """A written table's engine is limited to row logging."""
        return any(not use.engine.statement for use in self.statement.logged_writes)

    @property
    def dml(self) -> bool:
        """Whether rows of it can be logged."""
        return self.statement.kind in DML

    @property
    def modern(self) -> bool:
        """From 8.0.4 on MIXED logs nothing that uses a temporary table as a statement."""
        return self.settings.version >= 80004

    @property
    def temporary(self) -> bool:
        """It uses a temporary table."""
        used = accesses(self.statement) & {"rt", "rn"}
        return bool(used) or self.statement.temporary or self.statement.has("like_temporary")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the decision: the first that holds decides.

    ``id``: the document's sentence (``document.py``), or the server's own rule.
    """

    id: str
    holds: Callable[[Case], bool]
    outcome: Outcome
    error: str | None = None
    errno: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a statement.

    ``rule``: what decided it, by its id; ``unsafe``: the reasons that hold, by name;
    ``warnings``: those of which the server warns (1592, once each); ``error``, ``errno``:
    the server's symbol and number where it refuses the statement; ``as_rows``: the session logs
    rows while it carries the statement out, whether there are any or not.
    """

    outcome: Outcome
    rule: str
    unsafe: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str | None = None
    errno: int | None = None
    as_rows: bool = False


WARNING = ("ER_BINLOG_UNSAFE_STATEMENT", 1592)


def _self_logging_written(case: Case) -> bool:
    engines = {use.engine.name: use.engine for use in case.statement.logged_writes}
    return len(engines) > 1 and any(engine.self_logging for engine in engines.values())


def _only_unreplicated(case: Case) -> bool:
    written = case.statement.written
    return bool(written) and not case.statement.logged_writes


def _only_temporary(case: Case) -> bool:
    written = case.statement.written
    return bool(written) and all(use.temporary for use in written)


def _drops_nothing(case: Case) -> bool:
    """From 8.0 on nothing is logged of temporary tables that are not there."""
    statement = case.statement
    return (
        case.modern
        and statement.kind == "drop"
        and statement.has("keyword")
        and statement.has("if_exists")
        and not any(use.temporary for use in statement.dropped)
    )


def _needs_rows(case: Case) -> bool:
    return bool(
        case.unsafe
        or case.statement.kind == "load"  # set_stmt_unsafe_with_mixed_mode
        or case.statement.row_injection
        or case.statement_incapable
        or (case.modern and case.temporary)
    )


def _as_rows(case: Case) -> bool:
    if case.row_incapable:
        return False
    # Nothing set the session back to statements since the last one that needed rows.
    stays = (case.statement.continues and case.transaction.after_rows) or (
        not case.modern and case.transaction.rows_since_temporary
    )
    return case.format == BinlogFormat.ROW or (
        case.format == BinlogFormat.MIXED and (_needs_rows(case) or stays)
    )


#: The statement is impossible to log; by the rules' order in the source.
ERRORS: tuple[Rule, ...] = (
    Rule(
        "error-self-logging", _self_logging_written, Outcome.ERROR,
        "ER_BINLOG_MULTIPLE_ENGINES_AND_SELF_LOGGING_ENGINE", 1667,
    ),
    Rule(
        "error-both-engines", lambda c: c.row_incapable and c.statement_incapable, Outcome.ERROR,
        "ER_BINLOG_ROW_ENGINE_AND_STMT_ENGINE", 1661,
    ),
    Rule(
        "error-injection-engine", lambda c: c.row_incapable and c.statement.row_injection,
        Outcome.ERROR, "ER_BINLOG_ROW_INJECTION_AND_STMT_ENGINE", 1664,
    ),
    Rule(
        "error-row-mode", lambda c: c.row_incapable and c.format == BinlogFormat.ROW and c.dml,
        Outcome.ERROR, "ER_BINLOG_ROW_MODE_AND_STMT_ENGINE", 1662,
    ),
    Rule(
        "error-unsafe-engine",
        lambda c: c.row_incapable and c.format == BinlogFormat.MIXED and bool(c.unsafe),
        Outcome.ERROR, "ER_BINLOG_UNSAFE_AND_STMT_ENGINE", 1663,
    ),
    Rule(
        "error-injection-mode",
        lambda c: c.format == BinlogFormat.STATEMENT and c.statement.row_injection,
        Outcome.ERROR, "ER_BINLOG_ROW_INJECTION_AND_STMT_MODE", 1666,
    ),
    Rule(
        "error-statement-mode",
        lambda c: c.format == BinlogFormat.STATEMENT and c.statement_incapable and c.dml,
        Outcome.ERROR, "ER_BINLOG_STMT_MODE_AND_ROW_ENGINE", 1665,
    ),
)  # fmt: skip

#: Where it can be logged: how.
FORMATS: tuple[Rule, ...] = (
    Rule("no-change", lambda c: c.statement.kind == "control", Outcome.NOT_LOGGED),
    Rule(
        "no-change",
        lambda c: c.statement.kind in EVALUATED
        and all(use.foreseen for use in c.statement.written),
        Outcome.NOT_LOGGED,
    ),
    Rule("server-unlogged", lambda c: c.statement.kind == "admin", Outcome.NOT_LOGGED),
    Rule("server-unreplicated", _only_unreplicated, Outcome.NOT_LOGGED),
    # DDL of temporary tables
    Rule(
        "log-create-select-row-temporary",
        lambda c: c.statement.kind == "create_select" and c.statement.temporary and _as_rows(c),
        Outcome.NOT_LOGGED,
    ),
    Rule(
        "server-temporary-ddl",
        lambda c: c.statement.temporary and c.statement.kind != "create_select" and _as_rows(c)
        and (c.modern or c.statement.kind in ("create", "truncate", "ddl")),
        Outcome.NOT_LOGGED,
    ),
    Rule("server-temporary-ddl", _drops_nothing, Outcome.NOT_LOGGED),
    Rule(
        "R-log-commit-statement", lambda c: not c.dml and c.statement.kind not in EVALUATED,
        Outcome.STATEMENT,
    ),
    # rows
    Rule(
        "log-row-temporary", lambda c: _as_rows(c) and _only_temporary(c), Outcome.NOT_LOGGED,
    ),
    Rule(
        "server-blackhole",
        lambda c: _as_rows(c) and c.statement.kind in ("update", "delete")
        and all(use.engine.name == "BLACKHOLE" for use in c.statement.written),
        Outcome.NOT_LOGGED,
    ),
    Rule(
        "log-create-select-row",
        lambda c: c.statement.kind == "create_select" and _as_rows(c), Outcome.ROWS,
    ),
    Rule("row-format", lambda c: _as_rows(c) and c.format == BinlogFormat.ROW, Outcome.ROWS),
    Rule(
        "server-stays-rows", lambda c: _as_rows(c) and not _needs_rows(c), Outcome.ROWS,
    ),
    Rule("row-format-mixed", _as_rows, Outcome.ROWS),
    # statements
    Rule(
        "log-create-select-statement",
        lambda c: c.statement.kind == "create_select", Outcome.STATEMENT,
    ),
    Rule("statement-format-mixed", lambda c: c.format == BinlogFormat.MIXED, Outcome.STATEMENT),
    Rule("statement-format", lambda _: True, Outcome.STATEMENT),
)  # fmt: skip

#: Nothing is done at all.
_IDLE = Rule("server-exists", lambda c: c.statement.has("exists"), Outcome.NOT_LOGGED)
RULES = (_IDLE, *ERRORS, *FORMATS)


def decide(
    statement: Statement,
    settings: Settings | None = None,
    transaction: Transaction | None = None,
) -> Decision:
    """How the server logs ``statement``, or with which error it refuses it.

    What it does when the statement fails by itself, :func:`failed` says.
    """
    settings, transaction = settings or Settings(), transaction or Transaction()
    if not settings.sql_log_bin:
        return Decision(Outcome.NOT_LOGGED, "server-sql-log-bin")
    unsafe = reasons(statement, settings, transaction)
    case = Case(statement, settings, transaction, unsafe)
    rule = next(rule for rule in RULES if rule.holds(case))
    return Decision(
        rule.outcome,
        rule.id,
        tuple(reason.name for reason in unsafe),
        tuple(reason.name for reason in unsafe) if _warns(case, rule) else (),
        rule.error,
        rule.errno,
        rule.outcome != Outcome.ERROR and _as_rows(case),
    )


def _warns(case: Case, rule: Rule) -> bool:
    """Whether the server warns of an unsafe statement: when it logs one as text that writes.

    LOAD DATA is logged past ``binlog_query()``, which is where warnings are given.
    """
    loaded = case.statement.kind == "load"
    return (
        (rule.outcome == Outcome.STATEMENT or case.statement.kind == "call")
        and case.format == BinlogFormat.STATEMENT
        and bool(case.statement.logged_writes)
        and (case.dml or case.statement.kind in EVALUATED)
        and not loaded
    )


def failed(statement: Statement, decision: Decision, *, changed: bool) -> Decision:
    """The same of a statement that fails; ``changed``: rows of N-tables were changed before.

    Of a T-table nothing is logged then, but a procedure's statement is warned of, and what calls a
    function that changes data; what stays of an N-table is, as rows, or as the statement with its
    error's number.
    """
    stays = changed and any(not use.engine.transactional for use in statement.logged_writes)
    if stays or decision.outcome in (Outcome.ERROR, Outcome.NOT_LOGGED):
        return decision
    warned = statement.in_procedure or statement.invoked
    warnings = decision.warnings if warned else ()
    return replace(
        decision, outcome=Outcome.NOT_LOGGED, rule="log-statement-error", warnings=warnings
    )
