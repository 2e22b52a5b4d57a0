"""A decision explained: every rule that was asked, whether it holds, and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from binlogkit.analyses.logging_rules.caches import Cache, Caches, Logged
from binlogkit.analyses.logging_rules.contradictions import names_of
from binlogkit.analyses.logging_rules.decision import ERRORS, Case, Decision, Outcome
from binlogkit.analyses.logging_rules.document import sentence_of
from binlogkit.analyses.logging_rules.images import images_of
from binlogkit.analyses.logging_rules.model import (
    Settings,
    Statement,
    TableUse,
    Transaction,
    settings_after,
)
from binlogkit.analyses.logging_rules.reasons import REASONS, reasons
from binlogkit.frames.fields.field import fields

#: One record for each rule that was asked.
EXPLAINED = fields(
    ("statement", "int64", "number of the statement; those of a CALL are numbered one by one"),
    ("text", "string", "the statement"),
    ("step", "string", "table, unsafe, impossible, format, warning, cache or image"),
    ("rule", "string", "the rule's id in docs/logging-rules.md, or the server's own"),
    ("holds", "bool", "whether it holds of this statement"),
    ("sentence", "string", "what the document says, or what the servers do"),
    ("result", "string?", "what follows from it"),
)


def explain(statements: Sequence[Statement], settings: Settings) -> Iterator[dict[str, Any]]:
    """The rules of each statement of a session (:data:`EXPLAINED`), one after the other, as if each
    succeeded and changed rows."""
    caches = Caches(settings)
    for number, statement in enumerate(statements, 1):
        statement, decision = caches.decided(statement)
        head = {"statement": number, "text": statement.text.strip()}
        transaction = caches.transaction
        unsafe = reasons(statement, settings, transaction)
        case = Case(statement, settings, transaction, unsafe)
        logged = caches.take(statement, decision, changed=decision.outcome != Outcome.ERROR)
        caches.settings = settings_after(settings, statement.text)
        steps = (
            *_tables(statement),
            *_unsafe(statement, settings, transaction, decision),
            *(
                ("impossible", rule.id, rule.holds(case), f"error {rule.errno} ({rule.error})")
                for rule in ERRORS
            ),
            ("format", decision.rule, True, str(decision.outcome)),
            *(("warning", "warning", True, f"1592: {name}") for name in decision.warnings),
            *_caches(statement, logged),
            *_images(statement, settings, decision),
        )
        settings = caches.settings
        for step, rule, holds, result in steps:
            yield head | {
                "step": step,
                "rule": rule,
                "holds": holds,
                "sentence": sentence_of(rule),
                "result": result,
            }


_Step = tuple[str, str, bool, str | None]


def _tables(statement: Statement) -> Iterator[_Step]:
    for use in statement.uses:
        rule = "D-T-table" if use.engine.transactional else "D-N-table"
        yield "table", rule, True, _use(use)


def _use(use: TableUse) -> str:
    does = " and ".join(["writes"] * use.write + ["reads"] * use.read) or "opens"
    temporary = "temporary " if use.temporary else ""
    by = ", by a trigger or function" if use.substatement else ""
    known = "" if use.definition else "; its definition is not known"
    return f"{does} {temporary}{use.db}.{use.table} ({use.engine.name}){by}{known}"


def _unsafe(
    statement: Statement, settings: Settings, transaction: Transaction, decision: Decision
) -> Iterator[_Step]:
    for reason in REASONS:
        if not reason.since <= settings.version < reason.until:
            continue
        holds = reason.name in decision.unsafe
        names = sorted(
            trait.partition(":")[2]
            for trait in statement.traits
            if trait.startswith((f"{reason.name.removeprefix('system_')}:", f"{reason.name}:"))
        )
        result = reason.name + (f": {', '.join(names)}" if holds and names else "")
        if holds and not reason.holds(statement, settings, transaction):
            result += ", kept from an earlier time in this session"
        yield "unsafe", reason.rule or f"server-{reason.name}", holds, result


def _caches(statement: Statement, logged: Logged) -> Iterator[_Step]:
    for cache in logged.caches:
        direct = cache == Cache.NONE and statement.kind == "expression"
        rule = "server-expression" if direct else _CACHE_RULES[cache]
        yield "cache", rule, True, f"to the {cache}"
    if logged.written:
        yield "cache", "D-log-target", True, "written: " + " | ".join(logged.written)


_CACHE_RULES = {
    "transaction cache": "PR-causality",
    "statement cache": "R-flush-SC",
    "binary log": "R-log-commit-statement",
}


def _images(statement: Statement, settings: Settings, decision: Decision) -> Iterator[_Step]:
    if decision.outcome != Outcome.ROWS:
        return
    for use in statement.changed:
        if use.definition is None or use.substatement or use.temporary:
            continue
        for op, duplicate in _changes(statement):
            columns = images_of(statement, use, settings, op, after_duplicate=duplicate)
            before, after = map(names_of, (columns.before, columns.after))
            image = settings.binlog_row_image
            rule = "image-update-duplicate" if duplicate else f"image-{op}-{image}"
            after_key = " after a duplicate key" * duplicate
            text = f"{op} of {use.db}.{use.table}{after_key}: {before} > {after}"
            yield "image", rule, True, text


def _changes(statement: Statement) -> Iterator[tuple[str, bool]]:
    """The sorts of row changes of a statement, and whether a duplicate key is why."""
    kind = statement.kind
    if kind in ("insert", "replace", "load"):
        yield "insert", False
        if kind == "replace" or statement.has("replace"):
            yield from (("update", True), ("delete", True), ("insert", True))
        elif statement.has("on_duplicate"):
            yield "update", True
    elif kind in ("update", "delete"):
        yield kind, False
