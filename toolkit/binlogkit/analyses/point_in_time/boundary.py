"""What happens to tables as a whole, in log order, with the definitions that follow from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from binlogkit.analyses._frames import to_arrow
from binlogkit.analyses.point_in_time.structure import Alteration, alteration
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.session import Acted
from binlogkit.rows.schema import TableChange, TableDefinition

Name = tuple[str, str]

_IF_NOT_EXISTS = re.compile(r"\bIF\s+NOT\s+EXISTS\b", re.IGNORECASE)
_ALTER = re.compile(r"\s*ALTER\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Boundary:
    """What happened to a table, in log order among the changes by ``seq``.

    ``definition``: the table's after it, None where the log does not tell; ``alteration``: of an
    ALTER TABLE that was understood; ``before``: the table's definition before an ALTER TABLE;
    ``conditional``: a CREATE TABLE IF NOT EXISTS of which nothing tells whether it did anything;
    ``alone``: a write that is logged as a statement wrote this table and no other;
    ``deletes_all``: it left no row.
    """

    seq: int
    tx: int | None
    file: str
    pos: int
    inner: int | None
    name: Name
    action: str
    new_name: Name | None
    statement: str
    definition: TableDefinition | None = None
    alteration: Alteration | None = None
    before: TableDefinition | None = None
    conditional: bool = False
    alone: bool = False
    deletes_all: bool = False

    @property
    def empties(self) -> bool:
        """Whether the table certainly has no rows afterwards, and exists."""
        return self.action == "truncate" or (self.action == "create" and not self.conditional)

    @property
    def moves_rows(self) -> bool:
        """A write that is DDL on partitions or tablespaces."""
        return self.action == "statement_write" and _ALTER.match(self.statement) is not None

    @property
    def may_write(self) -> bool:
        """Whether it may write any table: by a trigger or routine, or the log is incomplete."""
        if self.action == "incident":
            return True
        return self.action == "statement_write" and not (self.moves_rows or self.alone)

    def concerns(self, name: Name) -> bool:
        """Whether it happens to this table."""
        if self.action == "drop_database":
            return self.name[0] == name[0]
        return name in (self.name, self.new_name)


def read_boundaries(frame: Any, changes: Mapping[int, TableChange] | None = None) -> list[Boundary]:
    """The boundaries of any engine's frame in log order, with definitions.

    What was read once can be given to many states of the same log instead of the frame.
    ``changes``: what each boundary is, by its ``seq``, from a reading that follows the tables;
    where there is only the frame, a catalog follows the statements in it.
    """
    if frame is None:
        return []
    if isinstance(frame, list):
        return frame
    rows = sorted(to_arrow(frame).to_pylist(), key=lambda row: row["seq"])
    if changes is None:
        changes = _followed(rows)
    return [boundary_of(row, changes.get(row["seq"])) for row in rows]


def _followed(rows: Sequence[Mapping[str, Any]]) -> dict[int, TableChange]:
    """What the statements do to tables that begin with them.

    Their frame does not tell explicit_defaults_for_timestamp: a TIMESTAMP that does not say NULL is
    taken as one that may have a default of its own. Nor does it tell whether a DELETE ended with an
    error.
    """
    catalog = Catalog()
    found: dict[int, TableChange] = {}
    for _, group in groupby(rows, _place):
        same = list(group)
        changes = catalog.apply(
            same[0]["statement"] or "",
            default_db=same[0]["db"],
            sql_mode=same[0].get("sql_mode"),
            explicit_defaults_for_timestamp=False,
            acted=Acted.UNTOLD,
        )
        if len(changes) == len(same):
            pairs = zip(same, changes, strict=True)
            found |= {row["seq"]: replace(change, deletes_all=False) for row, change in pairs}
    return found


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("source"), row["file"], row["pos"], row.get("inner")


def boundary_of(row: Mapping[str, Any], change: TableChange | None) -> Boundary:
    """A boundary from its record, and what it is to tables."""
    statement, definition, altered = row["statement"] or "", None, None
    alone = deletes_all = False
    before = None if change is None else change.before
    conditional = row["action"] == "create" and _IF_NOT_EXISTS.search(statement) is not None
    if change is not None:
        definition, conditional = change.definition, change.conditional
        alone, deletes_all = change.alone, change.deletes_all
        if row["action"] == "alter":
            altered = alteration(statement, change.before, definition, row.get("sql_mode"))
            if altered is not None:
                altered.moment = change.moment
    new = None if row["new_table"] is None else (row["new_db"] or row["db"], row["new_table"])
    return Boundary(
        row["seq"], row.get("tx"), row["file"], row["pos"], row.get("inner"), _name(row),
        row["action"], new, statement, definition, altered, before, conditional, alone, deletes_all,
    )  # fmt: skip


def _name(row: Mapping[str, Any]) -> Name:
    return row["db"] or "", row["table"] or ""


def lineage(boundaries: Sequence[Boundary], wanted: Name) -> list[Name]:
    """The tables whose rows may have become ``wanted``'s by renames; ``wanted`` is the last."""
    names = [wanted]
    for boundary in reversed(boundaries):
        renamed = boundary.action == "rename" and boundary.new_name in names
        if renamed and boundary.name not in names:
            names.append(boundary.name)
    return names[::-1]


def parents(
    boundaries: Iterable[Boundary],
    name: Name,
    known: Iterable[str] = (),
    given: Iterable[TableDefinition] = (),
) -> list[str]:
    """The tables (``db.table``) whose changes reach ``name`` by foreign keys at any time, over
    others too, by all their names.

    ``known``: those that are known from elsewhere; ``given``: what else is known of tables.
    """
    above: dict[str, dict[str, None]] = {".".join(name): dict.fromkeys(known)}

    def note(definition: TableDefinition) -> None:
        child = f"{definition.db}.{definition.table}"
        above.setdefault(child, {}).update(dict.fromkeys(definition.cascades))

    for definition in given:
        note(definition)
    for boundary in boundaries:
        for told in (boundary.before, boundary.definition):
            if told is not None:
                note(told)
        if boundary.action == "rename" and boundary.new_name is not None:
            old, new = ".".join(boundary.name), ".".join(boundary.new_name)
            above.setdefault(new, {}).update(above.get(old, {}))
            for named in above.values():
                if old in named:
                    named[new] = None
    found = list(above[".".join(name)])
    for parent in found:
        found.extend(p for p in above.get(parent, ()) if p not in found)
    return found


@dataclass(slots=True)
class KeyNames:
    """The names of the key's columns as time goes on: a column may have been renamed.

    ``keys``: by table, at the point that the replay has reached.
    """

    keys: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    default: tuple[str, ...] = ()

    @classmethod
    def before(
        cls,
        boundaries: Sequence[Boundary],
        wanted: Name,
        key: Sequence[str],
        others: Mapping[Name, Sequence[str]] | None = None,
    ) -> KeyNames:
        """The names before the first boundary, of the key that ``wanted`` has after the last, and
        of those of ``others``."""
        keys = {name: tuple(names) for name, names in (others or {}).items()} | {wanted: tuple(key)}
        for boundary in reversed(boundaries):
            if boundary.action == "rename" and boundary.new_name in keys:
                keys[boundary.name] = keys.pop(boundary.new_name)
            elif boundary.alteration is not None and boundary.name in keys:
                done, after = boundary.alteration, keys[boundary.name]
                old = {new: name for name, new in done.renamed.items()}
                # Rows from before have no value of a key that was added: they are a multiset, and
                # stay one, for nothing tells which row got which.
                added = not done.added.keys().isdisjoint(after)
                keys[boundary.name] = () if added else tuple(old.get(c, c) for c in after)
        return cls(keys, tuple(key))

    def key(self, name: Name) -> tuple[str, ...]:
        """The key of a table now."""
        return self.keys.get(name, self.default)

    def renamed(self, old: Name, new: Name) -> None:
        """A table got another name."""
        self.keys[new] = self.keys.pop(old, self.default)

    def altered(self, name: Name, done: Alteration) -> None:
        """A table's columns got other names."""
        self.keys[name] = tuple(done.renamed.get(c, c) for c in self.key(name))
