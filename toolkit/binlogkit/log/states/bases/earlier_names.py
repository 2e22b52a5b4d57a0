"""The names and definitions that a base's tables had where the logs begin."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from binlogkit.analyses.point_in_time import read_boundaries
from binlogkit.analyses.point_in_time.rewind_steps import stops_way
from binlogkit.log.states.history import History
from binlogkit.log.streams import Streams, viewed
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.filters import Filters, parse_table_name, written_table_name

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.analyses.point_in_time.structure import Alteration
    from binlogkit.log.states.bases.bases import Bases
    from binlogkit.rows.schema import TableDefinition

_KEYS = re.compile(r"\b(PRIMARY|UNIQUE)\b", re.IGNORECASE)
_HARMLESS = ("truncate", "statement_write")


def boundaries_of(log: Streams, sources: frozenset[str]) -> list[Boundary]:
    """What happened to tables by the logs, from a separate reading without rows."""
    history = History(Filters(sources=sources))
    viewed(log, history.feed, sources=sources)
    return read_boundaries(history.table(), history.changes)


def all_names(boundaries: Sequence[Boundary], tables: Collection[str]) -> list[str]:
    """The names of tables, with all names that RENAMEs gave them before or later."""
    names = [parse_table_name(table) for table in tables]
    found: list[tuple[str | None, str]] = [(n.db, n.table) for n in names]
    pairs = [
        (b.name, b.new_name) for b in boundaries if b.action == "rename" and b.new_name is not None
    ]
    for db, table in found:  # which grows
        for one, other in [*pairs, *((b, a) for a, b in pairs)]:
            if one[1] == table and db in (None, one[0]) and other not in found:
                found.append(other)
    more = (written_table_name(db, table) for db, table in found[len(names) :] if db is not None)
    return [*tables, *more]


@dataclass(slots=True)
class EarlierDefinitions:
    """The bases' table definitions where the logs begin.

    ``catalog``: None if the bases define none; ``stops``: the places (``seq``) of statements before
    which definitions are not known: the ones in ``catalog`` are right after these statements.
    """

    catalog: Catalog | None = None
    stops: set[int] = field(default_factory=set)


def definitions_before(
    log: Streams, bases: Bases, boundaries: Sequence[Boundary]
) -> EarlierDefinitions:
    """The bases' definitions, taken back over what happened to the tables."""
    result = EarlierDefinitions()
    if bases.catalog is None:
        return result
    place = bases.since(log).place
    files = {name: i for i, name in enumerate(log.files)}
    result.catalog = Catalog(
        bases.catalog.server_version, lower_case_table_names=bases.catalog.fold
    )
    for definition in bases.catalog.tables():
        held = boundaries
        if place is not None:
            held = [b for b in boundaries if (files[b.file], b.pos) < (place.file, place.pos)]
        first, stops = _before(definition, held, placed=place is not None)
        if first is not None:
            result.catalog.enter(first)
            result.stops |= stops
    return result


def _before(
    definition: TableDefinition, held: Sequence[Boundary], *, placed: bool
) -> tuple[TableDefinition | None, set[int]]:
    """A definition before all of these, and the places before which it is not known; None where the
    logs themselves define it, or nothing does."""
    stops = set[int]()
    for boundary in reversed(held):
        name = (definition.db, definition.table)
        if not boundary.concerns(name) or boundary.action in _HARMLESS or boundary.conditional:
            continue
        if not placed:
            return None, stops
        if boundary.action == "rename" and boundary.new_name == name:
            definition = definition.renamed(boundary.name)
            continue
        done = boundary.alteration if boundary.action == "alter" else None
        if done is None:
            return None, stops
        if done.dropped or done.changed or done.lost or stops_way(boundary):
            stops.add(boundary.seq)
        definition = _undone(definition, done, keys=not _KEYS.search(boundary.statement))
    return definition, stops


def _undone(definition: TableDefinition, done: Alteration, *, keys: bool) -> TableDefinition:
    """A definition before an ALTER.

    Columns that the ALTER changed stay as after it; columns that it dropped get some type.
    ``keys``: whether it left keys as they were.
    """
    old = {new: name for name, new in done.renamed.items()}

    def earlier(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(old.get(name, name) for name in names)

    columns = [c for c in definition.columns if c.name not in done.added]
    columns = [replace(c, name=old.get(c.name, c.name)) for c in columns]
    columns += [replace(definition.columns[0], name=name) for name in sorted(done.dropped)]
    same = keys and not done.added
    return replace(
        definition,
        columns=tuple(columns),
        primary_key=earlier(definition.primary_key) if same else (),
        unique_keys=tuple(map(earlier, definition.unique_keys)) if same else (),
        partial_keys=definition.partial_keys if same else (),
        unique_names=definition.unique_names if same else (),
    )
