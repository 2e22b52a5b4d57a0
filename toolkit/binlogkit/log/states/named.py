"""The tables that a log names and that may exist at a point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from binlogkit.constants import TableId
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.log.states.gaps import Reach
    from binlogkit.log.states.history import TableFacts

_IF_EXISTS = re.compile(r"\bIF\s+EXISTS\b", re.IGNORECASE)
_Mention = tuple[int, int | None, "Boundary | None"]
_ENDS = ("drop", "drop_database", "rename")


class Mentions:
    """Where a log names each table: in the first change of each of its ``layouts``, in DDL, in
    statements."""

    def __init__(
        self, layouts: Mapping[TableId, Sequence[TableFacts]], boundaries: Iterable[Boundary]
    ) -> None:
        found: dict[TableId, list[_Mention]] = {
            name: [(layout.seq, layout.tx, None) for layout in own] for name, own in layouts.items()
        }
        for boundary in boundaries:
            for name in _named(boundary, found):
                found.setdefault(name, []).append((boundary.seq, boundary.tx, boundary))
        # At the same place DDL comes after the layout that its definition gives.
        self._of = {
            name: sorted(mentions, key=lambda one: (one[0], one[2] is not None))
            for name, mentions in found.items()
        }

    def tables(self, reach: Reach) -> list[str]:
        """The tables that may be there, as ``--table`` takes them, sorted by name.

        Tables are left out if they are gone at the point, if their first mention creates them after
        it, or if it is a DROP TABLE IF EXISTS, which proves no table.
        """
        wanted = []
        for name, mentions in self._of.items():
            counted = [boundary for _, tx, boundary in mentions if reach.counts(tx)]
            last = (counted or [None])[-1]
            gone = last is not None and last.action in _ENDS and last.new_name != name
            if not (self._unproved(name) if not counted else gone):
                wanted.append(name)
        return [written_table_name(*name) for name in sorted(wanted)]

    def made_after(self, name: TableId, reach: Reach) -> Boundary | None:
        """What creates the table after the point, where its first mention does: so it was not
        there, unless something between is missing."""
        if any(reach.counts(tx) for _, tx, _ in self._of.get(name, ())):
            return None
        made = self._first(name)
        return made if made is not None and _makes(made, name) else None

    def _unproved(self, name: TableId) -> bool:
        """Whether its first mention shows no table before it."""
        first = self._first(name)
        return first is not None and (_makes(first, name) or _drops_if_there(first))

    def _first(self, name: TableId) -> Boundary | None:
        """The statement that is a table's first mention, None if that is a change, or none is."""
        mentions = self._of.get(name, [])
        return next((b for seq, _, b in mentions if b is not None and seq == mentions[0][0]), None)


def _named(boundary: Boundary, known: Iterable[TableId]) -> Iterator[TableId]:
    """The tables that a boundary names."""
    if boundary.action == "drop_database":
        yield from [name for name in known if name[0] == boundary.name[0]]
        return
    for name in (boundary.name, boundary.new_name):
        if name is not None and all(name):
            yield name


def _makes(boundary: Boundary, name: TableId) -> bool:
    """Whether a statement shows that the table did not exist before it."""
    made = boundary.action == "create" or boundary.new_name == name
    return made and not boundary.conditional


def _drops_if_there(boundary: Boundary) -> bool:
    return boundary.action == "drop" and _IF_EXISTS.search(boundary.statement) is not None
