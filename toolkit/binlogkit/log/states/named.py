"""Which tables a log names that may be there at a point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.log.states.gaps import Reach
    from binlogkit.log.states.history import History

Name = tuple[str, str]
_IF_EXISTS = re.compile(r"\bIF\s+EXISTS\b", re.IGNORECASE)
_ENDS = ("drop", "drop_database", "rename")


def tables_at(history: History, boundaries: list[Boundary], reach: Reach) -> list[str]:
    """The tables as ``--table`` takes them, by name.

    Not those that are gone at the point, or whose first mention is what made them after it, or a
    DROP TABLE IF EXISTS, which tells of no table.
    """
    told: dict[Name, list[tuple[int, int | None, Boundary | None]]] = {
        name: [(layout.seq, layout.tx, None) for layout in layouts]
        for name, layouts in history.layouts.items()
    }
    for boundary in boundaries:
        for name in _named(boundary, told):
            told.setdefault(name, []).append((boundary.seq, boundary.tx, boundary))
    wanted = []
    for name, mentions in told.items():
        # Rows are told of behind the DDL of the same place, which a CREATE's definition follows.
        ordered = sorted(mentions, key=lambda one: (one[0], one[2] is not None))
        counted = [boundary for _, tx, boundary in ordered if reach.counts(tx)]
        last, first = (counted or [None])[-1], ordered[0][2]
        gone = last is not None and last.action in _ENDS and last.new_name != name
        made = next((b for seq, _, b in ordered if b is not None and seq == ordered[0][0]), first)
        if not (_makes(made, name) if not counted else gone):
            wanted.append(name)
    return [written_table_name(*name) for name in sorted(wanted)]


def _named(boundary: Boundary, known: Iterable[Name]) -> Iterator[Name]:
    """The tables that a boundary names."""
    if boundary.action == "drop_database":
        yield from [name for name in known if name[0] == boundary.name[0]]
        return
    for name in (boundary.name, boundary.new_name):
        if name is not None and all(name):
            yield name


def _makes(boundary: Boundary | None, name: Name) -> bool:
    """Whether a table was not there before it, as far as it tells."""
    if boundary is None or boundary.conditional:
        return False
    if boundary.action == "drop":
        return _IF_EXISTS.search(boundary.statement) is not None
    return boundary.action == "create" or boundary.new_name == name
