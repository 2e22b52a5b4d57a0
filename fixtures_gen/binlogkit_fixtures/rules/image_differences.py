"""Each row image that a statement brought, and what was predicted of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from binlogkit.analyses.logging_rules import Definitions, Settings, Statement, read_statement
from binlogkit.analyses.logging_rules.bodies import parts
from binlogkit.analyses.logging_rules.clauses import text_of
from binlogkit.analyses.logging_rules.images import images_of
from binlogkit.analyses.logging_rules.model import TableUse
from binlogkit_fixtures.rules.differences import Seen

__all__ = ["image_differences"]

_WRITING = ("INSERT", "REPLACE", "UPDATE", "DELETE")
Sides = tuple[tuple[str, ...] | None, tuple[str, ...] | None]


def image_differences(
    seen: Seen, definitions: Definitions
) -> Iterator[tuple[str, Sequence[Sides], Sequence[Sides]]]:
    """``image``, the images that are possible, and the same if the logged one is among them.

    What triggers and functions change in a table is one of their statements' that write it.
    """
    known: dict[tuple[str, str, str], list[Sides]] = {}
    for change in seen.changes:
        key = (change["db"], change["table"], change["op"])
        if key not in known:
            known[key] = sorted(_all_possible(seen, definitions, *key), key=repr)
        if not (possible := known[key]):
            continue
        sides = (change["before"], change["after"])
        before, after = (None if side is None else tuple(side) for side in sides)
        logged = (before, after)
        yield "image", possible, possible if logged in possible else [logged]


def _all_possible(seen: Seen, definitions: Definitions, db: str, table: str, op: str) -> set[Sides]:
    found: set[Sides] = set()
    for statement in seen.statements:
        for use in statement.uses:
            if (use.db, use.table) != (db, table) or not use.write or use.definition is None:
                continue
            inner = _inner(definitions, seen.settings) if use.substatement else []
            for one in (statement, *inner):
                found |= _possible(one, use, seen.settings, op)
    return found


def _inner(definitions: Definitions, settings: Settings) -> list[Statement]:
    """The statements of all triggers and functions that write."""
    bodies = [(t.table[0], t.body) for t in definitions.triggers.values()]
    for (kind, _), routine in definitions.routines.items():
        if kind == "function":
            bodies.append((routine.name[0], routine.body))
    return [
        read_statement(text_of(part), definitions, settings, db)
        for db, body in bodies
        for part in parts(body)
        if part[0].word in _WRITING
    ]


def _possible(statement: Statement, use: TableUse, settings: Settings, op: str) -> set[Sides]:
    """The images of a row that the statement itself changes in a table."""
    name = (use.db, use.table)
    own = [one for one in statement.written if (one.db, one.table) == name]
    if not own or (name not in statement.specified and op != "delete"):
        return set()
    if not _may(statement, op):
        return set()
    duplicate = statement.kind in ("replace", "load") or statement.has("on_duplicate")
    found = set()
    for after in {False, duplicate}:
        columns = images_of(statement, own[0], settings, op, after_duplicate=after)
        found.add((columns.before, columns.after))
    return found


def _may(statement: Statement, op: str) -> bool:
    """Whether a statement of this kind changes rows so."""
    changes = {
        "insert": {"insert", "update"},
        "load": {"insert", "update", "delete"},
        "replace": {"insert", "update", "delete"},
    }
    return op in changes.get(statement.kind, {statement.kind})
