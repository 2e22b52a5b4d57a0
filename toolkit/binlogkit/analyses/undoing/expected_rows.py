"""What an undo did to a server's tables and what it should have done: rows as JSON texts.

Rows are compared as records (docs/records.md), so that tables of servers, states of logs and images
of changes have the same form.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.plans import PlanColumns, Plans
from binlogkit.constants import TableId
from binlogkit.frames.fields.field import fields
from binlogkit.frames.records import struct_records
from binlogkit.frames.schema import generated_columns

DIFFERENCES = fields(
    ("between", "string", "`undo`: before and after it; `play`: the log and the server that played "
     "it; `images`: what the undone changes' images demand and the result; `replay`: a replay "
     "without the undone transactions and the result"),
    ("db", "string", "database"),
    ("table", "string", "table"),
    ("kind", "string", "insert, update or delete: what leads from before to after"),
    ("key", "json?", "the row's key, null in a table without one"),
    ("before", "image?", "the row in the first of both, null where it is not there"),
    ("after", "image?", "the row in the second of both, likewise"),
)  # fmt: skip

Row: TypeAlias = dict[str, Any]
Texts: TypeAlias = "Counter[str]"


def differing(
    first: Texts, second: Texts, key: Sequence[str]
) -> Iterator[tuple[Row | None, Row | None]]:
    """The rows that differ between two tables, paired by key; all as JSON texts."""
    one, other = (
        [json.loads(text) for text in (a - b).elements()]
        for a, b in ((first, second), (second, first))
    )
    yield from paired(one, other, key)


def paired(
    one: Iterable[Row], other: Iterable[Row], key: Sequence[str]
) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows of two tables by key, or by the whole row if there is none or a row lacks it.

    Equal rows are left out.
    """
    waiting: dict[str, list[Row]] = {}
    for row in one:
        waiting.setdefault(_key(row, key), []).append(row)
    for row in other:
        found = waiting.get(_key(row, key))
        before = found.pop() if found else None
        if before != row:
            yield before, row
    yield from ((row, None) for rows in waiting.values() for row in rows)


def _key(row: Row, key: Sequence[str]) -> str:
    named = key and all(name in row for name in key)
    return json.dumps([row[name] for name in key] if named else sorted(row.items()))


def difference(between: str, name: TableId, key: Sequence[str], pair: Sequence[Row | None]) -> Row:
    """A record of :data:`DIFFERENCES`."""
    before, after = pair
    kind = "insert" if before is None else "delete" if after is None else "update"
    row = before or after or {}
    key_values = {column: row[column] for column in key if column in row} or None
    return {
        "between": between, "db": name[0], "table": name[1], "kind": kind, "key": key_values,
        "before": before, "after": after,
    }  # fmt: skip


class Reversed:
    """Tables without the changes that plans undo, by the images of these.

    ``tables``: the rows as they were before. In columns that the images lack, rows stay as they
    were, and restored rows may have any value. ``cascading``: foreign keys by which the server
    changes children with their parents' rows. ``free``: by table the columns computed from others
    (generated ones); ``touched``: by table the keys of the undone rows.
    """

    def __init__(
        self,
        tables: Mapping[TableId, Texts],
        keys: Mapping[TableId, Sequence[str]],
        cascading: Iterable[Reference] = (),
    ) -> None:
        self._keys, self._tables = keys, tables
        self._cascading = [key for key in cascading if key.on_update == "CASCADE"]
        self._rows: dict[TableId, dict[str, list[Row]]] = {}
        self.free: dict[TableId, set[str]] = {}
        self.touched: dict[TableId, set[str]] = {}

    def take(self, plans: Plans) -> None:
        """Undo what plans do not refuse."""
        for chunk in plans.chunks():
            ordered: list[tuple[int, TableId, Row | None, Row | None]] = []
            for places, made in chunk:
                if not made.changes.num_rows or made.refused.null_count == 0:
                    continue
                name, stay = made.table, np.asarray(made.refused.is_null())
                images = [self._images(made.changes, name, image) for image in (0, 1)]
                self._merge(made, *images)
                for at, kept, before, after in zip(places.tolist(), stay, *images, strict=True):
                    if kept:
                        ordered.append((at, name, before, after))
            for _, name, before, after in sorted(ordered, key=lambda one: one[0]):
                self._undo(name, before, after)

    def _images(self, changes: pa.RecordBatch, name: TableId, image: int) -> list[Row | None]:
        side = ("before", "after")[image]
        struct = changes[side]
        self.free.setdefault(name, set()).update(generated_columns(struct.type))
        return struct_records(struct, changes[f"{side}_state"], changes["raw"], image)

    def _merge(self, made: PlanColumns, old: list[Row | None], new: list[Row | None]) -> None:
        """Leave out of images what plans do not restore, and find the rows by their present keys
        (mode merge)."""
        if made.kind != "update":
            return
        for column, rows in (*made.keep, *((found.name, found.rows) for found in made.later)):
            for i in np.flatnonzero(rows):
                (old[i] or {}).pop(column, None)
        written = {column.name: column.rows for column in made.set}
        for found in made.where:
            if found.name not in self._keys.get(made.table, ()):
                continue
            own = written.get(found.name, np.zeros(len(old), np.bool_))
            for i, text in zip(np.flatnonzero(found.rows), found.json().to_pylist(), strict=True):
                for row in (new[i], None if own[i] else old[i]):
                    (row or {})[found.name] = json.loads(text)

    def key_of(self, name: TableId, *rows: Row | None) -> str:
        """The identity of a row of a table, by the last of its versions that exists."""
        return _key({c: v for row in rows for c, v in (row or {}).items()}, self._keys[name])

    def keys_of(self, name: TableId, changes: pa.RecordBatch) -> set[str]:
        """The identity of the rows of changes, before and after."""
        images = [self._images(changes, name, image) for image in (0, 1)]
        both = zip(*images, strict=True)
        return {self.key_of(name, *rows) for one in both for rows in (one[:1], one) if any(rows)}

    def _undo(self, name: TableId, before: Row | None, after: Row | None) -> None:
        for some in ((before,), (before, after)):
            if any(some):
                self.touched.setdefault(name, set()).add(self.key_of(name, *some))
        row: Row | None = None
        if after is not None:
            row = self._taken(name, {**(before or {}), **after})
            if row is None:
                return
        if before is not None:
            changed = {
                column: value
                for column, value in before.items()
                if after is None or (column in after and after[column] != value)
            }
            self._put(name, row, {**(row or {}), **changed})

    def _taken(self, name: TableId, row: Row) -> Row | None:
        """Take a row out of its table."""
        found = self._of(name).get(self.key_of(name, row))
        return found.pop() if found else None

    def _put(self, name: TableId, old: Row | None, new: Row) -> None:
        """Put a row into its table in place of another one, and apply that to children."""
        self._of(name).setdefault(self.key_of(name, new), []).append(new)
        if old is None:
            return
        for key in self._cascading:
            pairs = list(zip(key.columns, key.referenced, strict=True))
            if key.parent != name or all(old.get(r) == new.get(r) for _, r in pairs):
                continue
            children = [row for rows in self._of(key.child).values() for row in rows]
            for child in children:
                if all(child.get(c) == old.get(r) is not None for c, r in pairs):
                    self.touched.setdefault(key.child, set()).add(self.key_of(key.child, child))
                    self._taken(key.child, child)
                    self._put(key.child, child, child | {c: new[r] for c, r in pairs})

    def _of(self, name: TableId) -> dict[str, list[Row]]:
        if name not in self._rows:
            found: dict[str, list[Row]] = {}
            for text in self._tables.get(name, Counter()).elements():
                row = json.loads(text)
                found.setdefault(_key(row, self._keys.get(name, ())), []).append(row)
            self._rows[name] = found
        return self._rows[name]

    def wrong(self, name: TableId, after: Texts) -> Iterator[tuple[Row | None, Row | None]]:
        """Where an existing table afterwards is not what the images demand."""
        key, free = self._keys.get(name, ()), self.free.get(name, set())
        if name not in self._rows:
            yield from differing(self._tables.get(name, Counter()), after, key)
            return
        wanted = [row for rows in self._rows[name].values() for row in rows]
        there = [json.loads(text) for text in after.elements()]
        columns = set(there[0]) if there else {c for row in wanted for c in row}
        for one, other in paired(
            ({c: v for c, v in row.items() if c not in free and c in columns} for row in wanted),
            ({c: v for c, v in row.items() if c not in free} for row in there),
            key,
        ):
            if one is not None and other is not None:
                other = {c: v for c, v in other.items() if c in one}
                if one == other:
                    continue
            yield one, other
