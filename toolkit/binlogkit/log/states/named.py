"""The tables that a log names and that may exist at a point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from binlogkit.constants import TableId
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.log.states.gaps import Reach
    from binlogkit.log.states.history import History

_IF_EXISTS = re.compile(r"\bIF\s+EXISTS\b", re.IGNORECASE)
_ENDS = ("drop", "drop_database", "rename")


def tables_at(history: History, boundaries: list[Boundary], reach: Reach) -> list[str]:
    """The tables as ``--table`` takes them, sorted by name.

    Tables are left out if they are gone at the point, if their first mention creates them after it,
    or if it is a DROP TABLE IF EXISTS, which proves no table.
    """
    told: dict[TableId, list[tuple[int, int | None, Boundary | None]]] = {
        name: [(layout.seq, layout.tx, None) for layout in layouts]
        for name, layouts in history.layouts.items()
    }
    for boundary in boundaries:
        for name in _named(boundary, told):
            told.setdefault(name, []).append((boundary.seq, boundary.tx, boundary))
    wanted = []
    for name, mentions in told.items():
        # At the same place DDL comes after the layout that its definition gives.
        ordered = sorted(mentions, key=lambda one: (one[0], one[2] is not None))
        counted = [boundary for _, tx, boundary in ordered if reach.counts(tx)]
        last, first = (counted or [None])[-1], ordered[0][2]
        gone = last is not None and last.action in _ENDS and last.new_name != name
        made = next((b for seq, _, b in ordered if b is not None and seq == ordered[0][0]), first)
        if not (_makes(made, name) if not counted else gone):
            wanted.append(name)
    return [written_table_name(*name) for name in sorted(wanted)]


def _named(boundary: Boundary, known: Iterable[TableId]) -> Iterator[TableId]:
    """The tables that a boundary names."""
    if boundary.action == "drop_database":
        yield from [name for name in known if name[0] == boundary.name[0]]
        return
    for name in (boundary.name, boundary.new_name):
        if name is not None and all(name):
            yield name


def _makes(boundary: Boundary | None, name: TableId) -> bool:
    """Whether the table did not exist before the boundary, as far as it shows."""
    if boundary is None or boundary.conditional:
        return False
    if boundary.action == "drop":
        return _IF_EXISTS.search(boundary.statement) is not None
    return boundary.action == "create" or boundary.new_name == name
