"""Row or statement, and which error: each case quotes the MySQL internals manual."""

from __future__ import annotations

import itertools

import pytest

from binlogkit.analyses.logging_rules import RULES, Engine, Statement, decide, innodb
from binlogkit.errors import UsageError

INNODB = innodb()
COMMITTED = innodb("READ COMMITTED")
TEXT_ONLY = Engine("Text", row=False)
ROWS_ONLY = Engine("Rows", statement=False)
NDB = Engine("NDB", self_logging=True)
UNSAFE = ("UUID()",)

ERRORS = [
    (
        "both row-incapable engines and statement-incapable engines are involved",
        Statement([TEXT_ONLY, ROWS_ONLY]), ("row", "statement", "mixed"),
        "ER_BINLOG_ROW_ENGINE_AND_STMT_ENGINE", 1661,
    ),
    (
        "BINLOG_FORMAT = ROW and at least one table uses a storage engine limited to"
        " statement-logging",
        Statement([INNODB, TEXT_ONLY]), ("row",), "ER_BINLOG_ROW_MODE_AND_STMT_ENGINE", 1662,
    ),
    (
        "statement is unsafe, BINLOG_FORMAT = MIXED, and storage engine is limited to"
        " statement-logging",
        Statement([TEXT_ONLY], unsafe=UNSAFE), ("mixed",), "ER_BINLOG_UNSAFE_AND_STMT_ENGINE", 1663,
    ),
    (
        "statement is a row injection … and at least one table uses a storage engine limited to"
        " statement-logging",
        Statement([TEXT_ONLY], row_injection=True), ("row", "statement", "mixed"),
        "ER_BINLOG_ROW_INJECTION_AND_STMT_ENGINE", 1664,
    ),
    (
        "BINLOG_FORMAT = STATEMENT and at least one table uses a storage engine limited to"
        " row-logging",
        Statement([COMMITTED]), ("statement",), "ER_BINLOG_STMT_MODE_AND_ROW_ENGINE", 1665,
    ),
    (
        "statement is a row injection … and BINLOG_FORMAT = STATEMENT",
        Statement([INNODB], row_injection=True), ("statement",),
        "ER_BINLOG_ROW_INJECTION_AND_STMT_MODE", 1666,
    ),
    (
        "more than one engine is involved and at least one engine is self-logging",
        Statement([NDB, INNODB]), ("row", "statement", "mixed"),
        "ER_BINLOG_MULTIPLE_ENGINES_AND_SELF_LOGGING_ENGINE", 1667,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "statement", "formats", "error", "number"), ERRORS)
def test_impossible_to_log(
    sentence: str, statement: Statement, formats: tuple[str, ...], error: str, number: int
) -> None:
    for binlog_format in formats:
        decision = decide(statement, binlog_format)
        assert (decision.format, decision.error, decision.errno) == (None, error, number)
        assert all(part in decision.rule for part in sentence.split(" … ")), sentence


@pytest.mark.parametrize(
    ("statement", "by_format"),
    [
        # "An unsafe statement will be logged in row format if binlog_format=MIXED and will
        # generate a warning if binlog_format=STATEMENT."
        (Statement([INNODB], unsafe=UNSAFE), ("row", "row", "statement")),
        (Statement([INNODB]), ("row", "statement", "statement")),
        # "(3) S is of DDL type, that is, CREATE TEMPORARY TABLE"
        (Statement([COMMITTED], ddl=True), ("statement", "statement", "statement")),
        # An engine limited to row logging makes MIXED log rows.
        (Statement([COMMITTED]), ("row", "row", None)),
        (Statement([INNODB], row_injection=True), ("row", "row", None)),
        (Statement([TEXT_ONLY]), (None, "statement", "statement")),
    ],
)
def test_the_format_of_what_can_be_logged(
    statement: Statement, by_format: tuple[str | None, ...]
) -> None:
    assert tuple(decide(statement, f).format for f in ("row", "mixed", "statement")) == by_format


def test_a_warning_for_unsafe_statements_only_in_statement_format() -> None:
    """ "A warning is issued for unsafe statements if binlog_format=STATEMENT." """
    unsafe = Statement([INNODB], unsafe=UNSAFE)
    assert decide(unsafe, "STATEMENT").warning == "ER_BINLOG_UNSAFE_STATEMENT"
    assert decide(unsafe, "STATEMENT").warning_number == 1592
    assert decide(unsafe, "MIXED").warning is decide(unsafe, "ROW").warning is None
    assert decide(Statement([INNODB]), "STATEMENT").warning is None


def test_every_combination_has_exactly_one_outcome() -> None:
    engines = (INNODB, COMMITTED, TEXT_ONLY, ROWS_ONLY, NDB)
    seen = set()
    for chosen in itertools.product(engines, repeat=2):
        for unsafe, injection, ddl in itertools.product((False, True), repeat=3):
            statement = Statement(chosen, (), UNSAFE if unsafe else (), injection, ddl)
            for binlog_format in ("row", "statement", "mixed"):
                decision = decide(statement, binlog_format)
                assert (decision.format is None) == (decision.error is not None)
                seen.add(decision.rule)
    assert seen == {rule.sentence for rule in RULES}


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="binlog_format"):
        decide(Statement([INNODB]), "rows")
