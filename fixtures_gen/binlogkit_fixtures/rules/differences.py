"""Where what a server did of one statement is not what was predicted: outcome, texts, warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from binlogkit.analyses.logging_rules import Decision, Outcome, Settings, Statement
from binlogkit.analyses.logging_rules.model import EVALUATED
from binlogkit.analyses.logging_rules.texts import alike, texts
from binlogkit_fixtures.rules.play import Played
from binlogkit_fixtures.rules.reasons import reason_of
from binlogkit_fixtures.rules.statements import Made

__all__ = ["Seen", "differences"]

_FORMAT_ERRORS = range(1661, 1668)
_BOUNDS = ("BEGIN", "COMMIT", "ROLLBACK")
Difference = tuple[str, Any, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """A statement that was played, and the predictions: those of a CALL statement by statement."""

    made: Made
    played: Played
    statements: Sequence[Statement]
    decisions: Sequence[Decision]
    settings: Settings

    @property
    def texts(self) -> list[str]:
        """What the log has of it as text."""
        return [t for t in self.played.texts if t not in (*_BOUNDS, *self.made.before)]

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The row changes that are not those of what came before; pre_n's were written before."""
        taken = {"pre_t"} if any("INTO pre_t" in sql for sql in self.made.before) else set()
        found = []
        for change in self.played.changes:
            if change["table"] in taken:
                taken.discard(change["table"])
            else:
                found.append(change)
        return found

    @property
    def found(self) -> str:
        """What became of the statement: its outcome as the log and the server's error show it."""
        error = self.played.error
        if error is not None and error[0] in _FORMAT_ERRORS:
            return f"error {error[0]}"
        return (f"failed ({error[0]}), " if error is not None else "") + self._logged

    @property
    def _logged(self) -> str:
        sql, logged = self.made.sql, self.texts
        if self.changes:
            return "rows" if not logged or sql.startswith("CREATE") else "both"
        if sql.startswith("CREATE TABLE") and " SELECT " in sql:  # the table alone: no row
            return "not logged" if not logged else "statement" if logged[-1] == sql else "rows"
        return "statement" if logged else "not logged"


def differences(seen: Seen) -> Iterator[Difference]:
    """What was predicted otherwise than it was found, with both."""
    refused = next((d for d in seen.decisions if d.outcome == Outcome.ERROR), None)
    error = seen.played.error
    if seen.found.startswith("error"):
        if refused is None or seen.found != f"error {refused.errno}":
            yield "error", seen.decisions, (seen.found, error)
    elif error is not None:
        yield from _of_failed(seen)
    elif refused is not None:
        yield "error", refused, seen.found
    elif not _is_nothing(seen):
        yield from _of_done(seen)


def _of_done(seen: Seen) -> Iterator[Difference]:
    logged = {str(d.outcome) for d in seen.decisions} - {"not logged"}
    has = {"both": {"rows", "statement"}, "not logged": set()}.get(seen.found, {seen.found})
    if has != logged:
        yield "outcome", seen.decisions, (seen.found, seen.played.rows, seen.played.texts[:6])
        return
    if len(seen.statements) > 1:
        each, own = _each(seen), _each_found(seen)
        if own - each:
            yield "each", dict(each), dict(own)
    predicted, found = _predicted(seen), _compared(seen)
    if len(predicted) != len(found) or not all(map(alike, predicted, found)):
        yield "texts", predicted, found
    reported, wanted = _reported(seen), _warned(seen.decisions)
    # A server warns once for each time that such a statement calls a function.
    several = any(s.invoked for s in seen.statements)
    if (sorted(set(reported)) if several else sorted(reported)) != sorted(wanted):
        yield "warnings", wanted, (reported, seen.found)


def _of_failed(seen: Seen) -> Iterator[Difference]:
    """A statement that failed by itself: what an N-table kept is logged as predicted, and warned
    of as predicted; of a CALL that much was done up to some statement."""
    changed = not seen.found.endswith("not logged")
    kept = [u for s in seen.statements for u in s.logged_writes if not u.engine.transactional]
    called = len(seen.statements) > 1 or seen.statements[0].in_procedure
    invokes = bool(seen.statements[0].invoked)
    if changed and not kept and not called:
        yield "failed", seen.decisions, seen.found
    if called:
        possible = [set(_warned(seen.decisions[:n])) for n in range(len(seen.decisions) + 1)]
        logged = {str(d.outcome) for d in seen.decisions}
    else:
        (decision,) = seen.decisions
        warned = set(decision.warnings)
        # Before a function was called that warns there may have been an error.
        possible = [warned, set()] if invokes else [warned if changed else set()]
        logged = {str(decision.outcome)}
    if changed and seen.found.partition(", ")[2] not in (*logged, "both"):
        yield "failed", seen.decisions, seen.found
    if set(_reported(seen)) not in possible:
        yield "warnings of what failed", possible, (_reported(seen), seen.found)


def _is_nothing(seen: Seen) -> bool:
    """Whether no row was found, so that there was nothing to log: a statement as text is logged
    without rows, too, but for a SELECT that calls its function for none."""
    logged = {d.outcome for d in seen.decisions} - {Outcome.NOT_LOGGED}
    uncalled = seen.statements[0].kind == "select" and seen.played.rows == 0
    return (
        seen.found == "not logged"
        and bool(logged)
        and (Outcome.STATEMENT not in logged or uncalled)
        and (seen.played.rows <= 0 or any(s.kind in _ROWLESS for s in seen.statements))
    )


_ROWLESS = (*EVALUATED, "create_select", "load", "insert", "replace")


def _reported(seen: Seen) -> list[str]:
    return [reason_of(text) for number, text in seen.played.warnings if number == 1592]


def _warned(decisions: Sequence[Decision]) -> set[str]:
    return {name for decision in decisions for name in decision.warnings}


def _predicted(seen: Seen) -> list[str]:
    found = [
        text
        for statement, decision in zip(seen.statements, seen.decisions, strict=True)
        if decision.outcome == Outcome.STATEMENT or decision.rule == "log-create-select-row"
        for text in texts(statement, seen.settings, as_rows=decision.as_rows)
    ]
    return _once(seen, found)


def _compared(seen: Seen) -> list[str]:
    return _once(seen, seen.texts)


def _once(seen: Seen, found: list[str]) -> list[str]:
    """A function is a SELECT for each row; where there may be several rows, each counts once."""
    several = seen.statements[0].kind in ("select", "expression") and len(seen.statements) == 1
    return sorted(set(found)) if several else sorted(text for text, _ in groupby(found))


def _each(seen: Seen) -> Counter[str]:
    """Of which table rows are logged how often, of what a CALL carries out."""
    return Counter(
        f"{use.db}.{use.table}"
        for statement, decision in zip(seen.statements, seen.decisions, strict=True)
        if decision.outcome == Outcome.ROWS
        for use in statement.changed
    )


def _each_found(seen: Seen) -> Counter[str]:
    found = Counter(
        f"{event['fields']['db']}.{event['fields']['table']}" for event in seen.played.maps
    )
    before = [sql for sql in seen.made.before if "INTO pre_t" in sql]
    if before and before[0] not in seen.played.texts:  # as rows
        found["rules.pre_t"] -= 1
    return found
