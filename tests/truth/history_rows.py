"""The rows of a history's tables, followed through the events of its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from binlogkit_fixtures.manifest import Table

Cells = Mapping[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What an event says of a row: its cells before and after, None where it was not there.

    ``later``: whether the event comes after the changes that are undone; ``undone``: whether the
    script undoes it; ``left``: whether it is left out on request.
    """

    pos: int
    before: Cells | None
    after: Cells | None
    later: bool
    undone: bool
    left: bool


def keyed(table: Table) -> dict[Key, Cells]:
    """The rows by their keys."""
    return {key_of(row, table): row for row in table.records()}


def key_of(row: Cells, table: Table) -> Key:
    """The value of the table's primary key."""
    return tuple(row.get(k) for k in table.primary_key)


def completed(
    changes: Iterable[Change], table: Table, said: Sequence[tuple[int, Table | None]]
) -> Iterator[Change]:
    """The changes with all cells; ``said``: the tables that SELECT gave, with their positions."""
    rows, waiting, changes = dict[Key, Cells](), list(said), list(changes)
    for number, one in enumerate(changes):
        while waiting and waiting[0][0] <= one.pos:
            found = waiting.pop(0)[1]
            same = found is not None and found.create == table.create
            rows = keyed(found) if found is not None and same else {}
        before, after = one.before, one.after
        if before is not None:
            before = {**rows.pop(key_of(before, table), {}), **before}
        if after is not None:
            after = {**(before or {}), **after}
            if None in key_of(after, table):
                after = {**_key_found(after, changes[number + 1 :], waiting, table), **after}
            rows[key_of(after, table)] = after
        yield Change(one.pos, before, after, one.later, one.undone, one.left)


def _key_found(
    row: Cells,
    changes: Iterable[Change],
    waiting: Iterable[tuple[int, Table | None]],
    table: Table,
) -> Cells:
    """The key of a row that got DEFAULTs in it, which MINIMAL images do not log: by the first row
    after it that has what is known of the key."""
    known = {c: row[c] for c in table.primary_key if c in row}
    images = (one.before for one in changes if one.before is not None)
    kept = (
        r for _, t in waiting if t is not None and t.create == table.create for r in t.records()
    )
    for found in (*images, *kept):
        if known.items() <= found.items():
            return {c: found[c] for c in table.primary_key}
    return {}


@dataclass(frozen=True, slots=True)
class Followed:
    """``now``: the keys that rows have after some changes, by those before; ``set``: by the same
    the columns that the changes set. Rows that the changes made or removed are not there."""

    now: Mapping[Key, Key]
    set: Mapping[Key, set[str]]

    @classmethod
    def of(cls, keys: Iterable[Key], changes: Iterable[Change], table: Table) -> Followed:
        """``keys``: of the rows before the changes."""
        first: dict[Key, Key | None] = {key: key for key in keys}
        touched = dict[Key, set[str]]()
        for one in changes:
            key = None if one.before is None else first.pop(key_of(one.before, table), None)
            if one.after is not None:
                first[key_of(one.after, table)] = key
            if key is not None and one.before is not None and one.after is not None:
                names = {c for c, v in one.after.items() if one.before.get(c, v) != v}
                touched.setdefault(key, set()).update(names)
        return cls({key: now for now, key in first.items() if key is not None}, touched)
