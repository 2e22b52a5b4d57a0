"""Which table a name means at each place of a log, its key's columns there, and a row's keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.constants import TableId

Key = tuple[str, ...]
Move = tuple[str, str]  # an update's key before and after
Name = TypeVar("Name", bound=tuple[str | None, ...])
#: A table, by its names in order, each with the places between which it has it.
Called = tuple[tuple[Name, int, int], ...]
_LAST = 1 << 63


@dataclass(frozen=True, slots=True)
class Identity:
    """A table through its renames, and those of its key's columns.

    ``since``: sorted places (``seq``), from which on the respective ``names`` and ``keys`` hold; a
    key is empty if rows cannot be found by it, because one of its columns was added later.
    """

    since: tuple[int, ...]
    names: tuple[TableId, ...]
    keys: tuple[Key, ...]

    @classmethod
    def of(cls, boundaries: Sequence[Boundary], wanted: TableId, key: Sequence[str]) -> Identity:
        """The table that has the name at the log's end, else the last one that had it, under its
        later name.

        ``boundaries``: those that count, in order; ``key``: its columns there.
        """
        name, key = last_name(boundaries, wanted), tuple(key)
        found: list[tuple[int, TableId, Key]] = []
        for boundary in reversed(boundaries):
            if boundary.action == "rename" and boundary.new_name == name:
                found.append((boundary.seq, name, key))
                name = boundary.name
            elif boundary.alteration is not None and boundary.name == name:
                done = boundary.alteration
                old = {new: before for before, new in done.renamed.items()}
                found.append((boundary.seq, name, key))
                added = not done.added.keys().isdisjoint(key)
                key = () if added else tuple(old.get(column, column) for column in key)
        since, names, keys = zip(*[(-1, name, key), *found[::-1]], strict=True)
        return cls(since, names, keys)

    def at(self, seq: int) -> tuple[TableId, Key]:
        """The name and the key of the table at a place."""
        i = bisect_right(self.since, seq) - 1
        return self.names[i], self.keys[i]

    def happens(self, boundary: Boundary) -> bool:
        """Whether a boundary happens to the table."""
        i = max(0, bisect_right(self.since, boundary.seq - 1) - 1)
        after = self.at(boundary.seq)[0]
        return boundary.concerns(self.names[i]) or boundary.concerns(after)


@dataclass(frozen=True, slots=True)
class Renames(Generic[Name]):
    """The renames of a log, in order: place, old name, new name."""

    done: Sequence[tuple[int, Name, Name]]

    def table(self, name: Name, at: int) -> Called[Name]:
        """The table that has a name at a place."""
        since = -1
        for seq, old, new in reversed(self.done):
            if seq < at and new == name:
                name = old
            elif seq < at and old == name:
                since = seq  # it was another table's
                break
        found, first = list[tuple[Name, int, int]](), since
        for seq, old, new in self.done:
            if seq > since and old == name:
                found.append((name, first, seq))
                name, first = new, seq
            elif seq > since and new == name:
                return (*found, (name, first, seq))  # it was dropped before
        return (*found, (name, first, _LAST))


def last_name(boundaries: Sequence[Boundary], wanted: TableId) -> TableId:
    """The present name of the last table that had this one."""
    name = wanted
    for boundary in boundaries:
        made = boundary.action == "create" and boundary.name == wanted
        if made or boundary.new_name == wanted:
            name = wanted
        elif boundary.action == "rename" and boundary.name == name:
            name = boundary.new_name or wanted
    return name


def linked(moves: Iterable[Move], asked: Iterable[str]) -> set[str]:
    """The keys that rows with one of the ``asked`` keys had before or got later, possibly more.

    ``moves``: updates of keys in log order.
    """
    wanted, moves = frozenset(asked), list(moves)
    found = set(wanted)
    for steps in (moves, [(now, was) for was, now in reversed(moves)]):
        current = set(wanted)
        for start, end in steps:
            if start in current:
                if start not in wanted:
                    current.discard(start)
                current.add(end)
                found.add(end)
    return found
