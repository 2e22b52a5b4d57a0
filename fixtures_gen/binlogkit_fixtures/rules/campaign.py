"""Statements that are made up, played on a server, and every prediction compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from binlogkit.analyses.logging_rules import (
    Decision,
    Definitions,
    Outcome,
    Settings,
    Statement,
    read_definitions,
    settings_of,
    unrolled,
)
from binlogkit.analyses.logging_rules.caches import Caches
from binlogkit.rows.ddl.scan import ScriptStatements
from binlogkit_fixtures.rules.differences import Seen, differences
from binlogkit_fixtures.rules.image_differences import image_differences
from binlogkit_fixtures.rules.play import Played, Session
from binlogkit_fixtures.rules.statements import PREPARED, SCHEMA, Made, make
from binlogkit_fixtures.servers import Server

__all__ = ["Difference", "Result", "compare", "run"]

_TEMPORARY = (
    "CREATE TEMPORARY TABLE tt (id INT PRIMARY KEY, a INT, b VARCHAR(200))",
    "CREATE TEMPORARY TABLE tn (id INT PRIMARY KEY, a INT, b VARCHAR(200)) ENGINE=MyISAM",
)
_FILLED = (
    "i1",
    "i2",
    "ik",
    "ia",
    "iu",
    "ip",
    "m1",
    "ma",
    "mf",
    "me",
    "tg1",
    "tg2",
    "tg3",
    "tg4",
    "fp",
    "fc",
)
_MADE = re.compile(r"TABLE c(\d+)")
_BATCH = 200  # statements between two readings of the log


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a server does otherwise than predicted."""

    what: str
    made: Made
    predicted: Any
    found: Any


@dataclass(slots=True)
class Result:
    """``outcomes``: how many statements had each outcome; ``images``: how many were compared;
    ``other``: statements that failed for another reason."""

    statements: int
    outcomes: dict[str, int]
    images: int
    warnings: int
    differences: list[Difference]


def run(server: Server, count: int, seed: int = 1) -> Result:
    """Play ``count`` statements, and compare."""
    result = Result(0, {}, 0, 0, [])
    first = 0
    file = f"{server.query('SELECT @@datadir')[0][0]}rules.txt"
    server.query(f"SELECT 7000, 1 INTO OUTFILE '{file}'")
    while first < count:
        size = min(_BATCH, count - first)
        _batch(server, list(make(seed + first, size, first, file)), result)
        first += size
    return result


def _batch(server: Server, made: Sequence[Made], result: Result) -> None:
    session = Session(server)
    session.run_all(["DROP DATABASE IF EXISTS rules"])
    session.run("SET binlog_format = 'STATEMENT', sql_mode = ''")
    session.run_all(ScriptStatements(SCHEMA))
    definitions = read_definitions(SCHEMA, server.version)
    for name in _FILLED:
        rows = ", ".join(f"({n}, {n}, 'r{n}')" for n in range(1, 6))
        session.run_all([f"INSERT INTO {name} (id, a, b) VALUES {rows}"])
    session.run_all(["SET @u = 'user'", *PREPARED])
    for sql in PREPARED:
        definitions.apply(sql, "rules")
    isolation = "transaction_isolation" if server.version >= "8" else "tx_isolation"
    played: list[tuple[Made, Played]] = []
    for one in made:
        temporary = _uses_temporary(one.sql)
        session.run("DROP TEMPORARY TABLE IF EXISTS tt, tn")
        for name, value in one.settings.items():
            name = isolation if name == "transaction_isolation" else name
            quoted = value if value in ("ON", "OFF") else f"'{value}'"
            session.run_all([f"SET SESSION {name} = {quoted}"])
        if temporary:
            session.run_all(_TEMPORARY)
        session.run_all(one.before)
        step = session.run(one.sql)
        end = session.run("COMMIT")
        step.end = end.end
        session.run(f"DROP TEMPORARY TABLE IF EXISTS c{_number(one.sql)}")
        played.append((one, step))
    session.read()
    caches = Caches(Settings(server.version))
    for one, step in played:
        # What is open ended with COMMIT; what a statement kept stays with the session.
        settings = settings_of(one.settings, server.version)
        caches = Caches(settings, marks=caches.marks, reread=caches.reread)
        compare(one, step, definitions, caches, result)
    session.close()


def _number(sql: str) -> str:
    made = _MADE.search(sql)
    return made[1] if made else "0"


def _uses_temporary(sql: str) -> bool:
    return any(name in sql.replace(",", " ").split() for name in ("tt", "tn"))


def compare(
    made: Made, played: Played, definitions: Definitions, caches: Caches, result: Result
) -> None:
    """One statement's predictions with what was found; the session continues with ``caches``."""
    settings = caches.settings
    definitions.catalog.temporary.clear()
    for sql in (*(_TEMPORARY if _uses_temporary(made.sql) else ()), *made.before):
        definitions.apply(sql, "rules")
        _decided(unrolled(sql, definitions, settings, "rules"), caches)
    statements = unrolled(made.sql, definitions, settings, "rules")
    changed = {(change["db"], change["table"]) for change in played.changes}
    decisions = _decided(statements, caches, changed if len(statements) > 1 else None)
    seen = Seen(made, played, statements, decisions, settings)
    for what, predicted, found in differences(seen):
        result.differences.append(Difference(what, made, predicted, found))
    for what, predicted, found in image_differences(seen, definitions):
        if predicted != found:
            result.differences.append(Difference(what, made, predicted, found))
        result.images += 1
    if played.error is None:
        definitions.apply(made.sql, "rules")
    result.statements += 1
    result.warnings += sum(number == 1592 for number, _ in played.warnings)
    result.outcomes[seen.found] = result.outcomes.get(seen.found, 0) + 1


def _decided(
    statements: list[Statement], caches: Caches, changed: set[tuple[str, str]] | None = None
) -> list[Decision]:
    """The decisions up to the first error: what each statement leaves is what the next finds.

    ``statements`` become those that the session has; ``changed``: the tables that got rows in the
    log, None if all that are written did.
    """
    decisions = []
    for i, one in enumerate(statements):
        statement, decision = caches.decided(one)
        statements[i] = statement
        decisions.append(decision)
        if changed is not None and decision.outcome == Outcome.ROWS:
            uses = (u for u in statement.uses if not u.write or (u.db, u.table) in changed)
            statement = replace(statement, uses=tuple(uses))
        caches.take(statement, decision)
        if decision.outcome == Outcome.ERROR:
            break
    return decisions
