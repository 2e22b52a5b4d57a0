"""Why a statement is unsafe in statement format: each reason, when it holds, what the server says.

Reasons: ``LEX::enum_binlog_stmt_unsafe`` of 5.6 to 9.7. The document lists some of them and says
that its list is incomplete; the others are the server's alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from binlogkit.analyses.logging_rules.model import BinlogFormat, Settings, Statement, Transaction

Holds = Callable[[Statement, Settings, Transaction], bool]


@dataclass(frozen=True, slots=True)
class Reason:
    """``rule``: the document's sentence, by its id, None where it has none; ``says``: words of the
    server's warning that no other reason has; ``since``, ``until``: MYSQL_VERSION_ID."""

    name: str
    holds: Holds
    says: str
    rule: str | None = None
    since: int = 0
    until: int = 10**6


def _trait(*names: str) -> Holds:
    return lambda statement, _, __: all(statement.has(name) for name in names)


def _kind(kind: str, *traits: str) -> Holds:
    return lambda statement, _, __: statement.kind == kind and all(map(statement.has, traits))


def _into_auto_increment(statement: Statement) -> bool:
    written = any(use.auto_increment for use in statement.written)
    return written and any(use.read for use in statement.uses)


def _in_substatement(statement: Statement) -> bool:
    return any(use.substatement and use.auto_increment for use in statement.written)


# Combinations of what a statement writes (w) and accesses (r): N or T tables, temporary ones small
# (binlog_unsafe_map in sql/sql_lex.cc); whether they count with and without
# binlog_direct_non_transactional_updates, and only after T-tables were written.
_MIXED = (
    ("wT", "wN", (True, False), False),
    ("wT", "rN", (True, False), False),
    ("wN", "wt", (True, False), False),
    ("wt", "rN", (True, False), False),
    ("wT", "wn", (True,), False),
    ("wT", "rn", (True,), False),
    ("wt", "wn", (True,), False),
    ("wt", "rn", (True,), False),
    ("wN", "rT", (True, False), True),
    ("wN", "rt", (True, False), True),
    ("wn", "rT", (True,), True),
    ("wn", "rt", (True,), True),
    ("wn", "rN", (False,), True),
)


def accesses(statement: Statement) -> set[str]:
    """What the statement does to which sort of table: ``wT`` writes a T-table, ``rn`` accesses a
    temporary N-table; a table that is written is accessed too, but for one that it creates."""
    found = set()
    for use in statement.accessed:
        sort = "T" if use.engine.transactional else "N"
        sort = sort.lower() if use.temporary else sort
        if use.write:
            found.add("w" + sort)
        if not (use.write and statement.kind == "create_select" and not statement.temporary):
            found.add("r" + sort)
    return found


def _mixed(statement: Statement, settings: Settings, transaction: Transaction) -> bool:
    """Tables that ROLLBACK undoes and tables that it does not, in one statement."""
    found = accesses(statement)
    if statement.kind == "create_select" and settings.version < 80000 and not statement.temporary:
        return False
    if not settings.repeatable and "rT" in found and found & {"wN", "wn"}:
        return True
    if not transaction.open or not _in_transaction(statement, settings):
        return False
    return any(
        one in found
        and other in found
        and settings.direct in direct
        and (transaction.wrote_transactional or not after)
        for one, other, direct, after in _MIXED
    )


def _in_transaction(statement: Statement, settings: Settings) -> bool:
    """Whether an open transaction continues: CREATE … SELECT ends it, and one of a temporary table
    is judged alone from 8.0 on."""
    return statement.kind != "create_select" or (statement.temporary and settings.version < 80000)


def _after(statement: Statement, settings: Settings, transaction: Transaction) -> bool:
    """An N-table is written after a T-table was."""
    if _mixed(statement, settings, transaction) or not _in_transaction(statement, settings):
        return False
    begun = transaction.open and transaction.wrote_transactional and not settings.direct
    return begun and "wN" in accesses(statement)


def _with_self_logging(statement: Statement, _: Settings, __: Transaction) -> bool:
    engines = {use.engine.name: use.engine for use in statement.accessed}
    return len(engines) > 1 and any(engine.self_logging for engine in engines.values())


def _formats(holds: Callable[[Statement], bool]) -> Holds:
    """What the server only looks for while it may log statements."""
    return lambda s, settings, _: settings.binlog_format != BinlogFormat.ROW and holds(s)


#: What depends on the transaction, and yet stays with the text of a procedure's or prepared
#: statement, which the server keeps from one time to the next (``LEX::set_stmt_unsafe``).
KEPT = frozenset(("mixed_statement", "nontrans_after_trans"))
REASONS: tuple[Reason, ...] = (
    Reason("limit", _trait("limit"), "LIMIT clause", "unsafe-limit"),
    Reason(
        "delayed",  # in STATEMENT it is carried out as INSERT
        lambda s, settings, _: s.has("delayed")
        and settings.binlog_format != BinlogFormat.STATEMENT,
        "INSERT DELAYED", "unsafe-delayed", until=50700,
    ),
    Reason(
        "system_table",
        lambda s, _, __: any(use.unreplicated for use in s.uses),
        "general log, slow query log, or performance_schema",
        "unsafe-log-tables",
    ),
    Reason(
        "autoinc_columns", _formats(_in_substatement),
        "trigger or a stored function that inserts into an AUTO_INCREMENT", "unsafe-autoinc",
    ),
    Reason("udf", _trait("udf:"), "uses a UDF", "unsafe-udf"),
    Reason("system_variable", _trait("variable:"), "system variable", "unsafe-variables"),
    Reason("system_function", _trait("function:"), "system function", "unsafe-functions"),
    Reason(
        "nontrans_after_trans", _after, "non-transactional table after accessing",
        "R-unsafe-nontransactional",
    ),
    Reason("self_logging", _with_self_logging, "self-logging", "R-unsafe-self-logging"),
    Reason(
        "mixed_statement", _mixed, "as well as transactional or temporary",
        "R-unsafe-nontransactional",
    ),
    Reason(
        "insert_ignore_select", _kind("insert", "ignore", "query"), "INSERT IGNORE... SELECT"
    ),
    Reason(
        "insert_select_update", _kind("insert", "on_duplicate", "query"),
        "INSERT... SELECT... ON DUPLICATE KEY UPDATE",
    ),
    Reason(
        "write_autoinc_select",
        lambda s, settings, _: settings.binlog_format != BinlogFormat.ROW
        and _into_auto_increment(s)
        and not (s.kind == "create_select" and settings.version < 50700),
        "auto-increment column after selecting",
    ),
    Reason("replace_select", _kind("replace", "query"), "REPLACE... SELECT is unsafe"),
    Reason(
        "create_ignore_select", _kind("create_select", "ignore"), "CREATE... IGNORE SELECT"
    ),
    Reason(
        "create_replace_select", _kind("create_select", "replace"), "CREATE... REPLACE SELECT"
    ),
    Reason(
        "create_select_autoinc",
        lambda s, _, __: s.kind == "create_select" and any(u.auto_increment for u in s.written),
        "CREATE TABLE... SELECT...  on a table with an auto-increment",
    ),
    Reason("update_ignore", _kind("update", "ignore"), "UPDATE IGNORE"),
    Reason(
        "insert_two_keys",
        lambda s, _, __: s.kind == "insert" and s.has("on_duplicate") and not s.has("query")
        and any(use.unique_keys > 1 for use in s.written),
        "more than one UNIQUE KEY", since=50600,
    ),
    Reason(
        "autoinc_not_first", _formats(lambda s: any(use.not_first for use in s.written)),
        "autoincrement field which is not the first part", since=50600,
    ),
    Reason("skip_locked", _trait("skip_locked"), "SKIP LOCKED", since=80001),
    Reason("nowait", _trait("nowait"), "NOWAIT", since=80001),
    Reason("xa", lambda s, _, t: t.xa and bool(s.logged_writes), "XA transaction", since=80000),
    Reason(
        "default_expression",
        _formats(lambda s: any(u.substatement and u.unsafe_default for u in s.written)),
        "DEFAULT expression", since=80013,
    ),
    Reason(
        "acl_table_read",
        _formats(lambda s: any(u.grants and not u.write for u in s.uses)),
        "skipped for ACL table", since=80018,
    ),
)  # fmt: skip


def reasons(
    statement: Statement, settings: Settings, transaction: Transaction
) -> tuple[Reason, ...]:
    """Every reason why the statement is unsafe: those that hold, and those that it kept."""
    kept = frozenset() if statement.place is None else transaction.marked.get(statement.place, ())
    return tuple(
        reason
        for reason in REASONS
        if reason.since <= settings.version < reason.until
        and (reason.name in kept or reason.holds(statement, settings, transaction))
    )
