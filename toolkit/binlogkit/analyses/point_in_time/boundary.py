"""What happens to whole tables, in log order, with the resulting definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from binlogkit.analyses._frames import to_arrow
from binlogkit.analyses.point_in_time.structure import Alteration, alteration
from binlogkit.constants import TableId
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.session import Acted
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import TableChange, TableDefinition

_IF_NOT_EXISTS = re.compile(r"\bIF\s+NOT\s+EXISTS\b", re.IGNORECASE)
_ALTER = re.compile(r"\s*ALTER\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Boundary:
    """What happened to a table, in log order among the changes by ``seq``.

    ``definition``: the table's after it, None if the log does not define it; ``alteration``: the
    effect of an understood ALTER TABLE; ``before``: the table's definition before an ALTER TABLE;
    ``conditional``: a CREATE TABLE IF NOT EXISTS that may have done nothing; ``alone``: a write
    logged as a statement wrote only this table; ``deletes_all``: it deleted all rows.
    """

    seq: int
    tx: int | None
    file: str
    pos: int
    inner: int | None
    name: TableId
    action: str
    new_name: TableId | None
    statement: str
    definition: TableDefinition | None = None
    alteration: Alteration | None = None
    before: TableDefinition | None = None
    conditional: bool = False
    alone: bool = False
    deletes_all: bool = False

    @property
    def empties(self) -> bool:
        """Whether the table certainly exists afterwards and has no rows."""
        return self.action == "truncate" or (self.action == "create" and not self.conditional)

    @property
    def removes_rows(self) -> bool:
        """Whether all of the table's rows go with it, without row events."""
        return self.action in ("truncate", "drop")

    @property
    def unchecked(self) -> bool:
        """Whether it may have added a foreign key that rows do not hold: with foreign_key_checks
        off."""
        return self.alteration is not None and self.alteration.unchecked

    @property
    def renamed(self) -> dict[str, str]:
        """The new names of columns, by the old ones in small letters."""
        done = {} if self.alteration is None else self.alteration.renamed
        return {old.lower(): new for old, new in done.items()}

    @property
    def replaced_key(self) -> tuple[str, ...] | None:
        """The key before an ALTER TABLE that gave the table another; None without one, or if the
        definitions are not known."""
        if self.alteration is None or self.before is None or self.definition is None:
            return None
        key, names = key_of(self.before)[0], self.renamed
        old = [names.get(name.lower(), name).lower() for name in key]
        return None if old == [*map(str.lower, key_of(self.definition)[0])] else key

    @property
    def recasts(self) -> bool:
        """Whether an ALTER TABLE added, renamed or dropped columns of a table that the log does not
        define."""
        done = self.alteration
        return (
            self.definition is None
            and done is not None
            and bool(done.added or done.renamed or done.dropped)
        )

    @property
    def moves_rows(self) -> bool:
        """A write that is DDL on partitions or tablespaces."""
        return self.action == "statement_write" and _ALTER.match(self.statement) is not None

    @property
    def may_write(self) -> bool:
        """Whether it may write any table: through a trigger or routine, or the log is
        incomplete."""
        if self.action == "incident":
            return True
        return self.action == "statement_write" and not (self.moves_rows or self.alone)

    def concerns(self, name: TableId) -> bool:
        """Whether it happens to this table."""
        if self.action == "drop_database":
            return self.name[0] == name[0]
        return name in (self.name, self.new_name)


def read_boundaries(frame: Any, changes: Mapping[int, TableChange] | None = None) -> list[Boundary]:
    """The boundaries of any engine's frame in log order, with definitions.

    The result can be given to many states of the same log instead of the frame. ``changes``: the
    effect of each boundary, by its ``seq``, from a reading that follows the tables; without it a
    catalog follows the frame's statements.
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
    """The effects of statements on tables, by which boundaries begin.

    The frame lacks explicit_defaults_for_timestamp: a TIMESTAMP without NULL is treated as one that
    may have a default of its own. It also lacks the statement's error, so that a DELETE may have
    failed, and CREATE TRIGGER, so that a write may have fired one, but for tables of ``mysql``.
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
            acted=Acted.UNKNOWN,
        )
        if len(changes) == len(same):
            pairs = zip(same, changes, strict=True)
            found |= {
                row["seq"]: replace(
                    change, deletes_all=False, alone=change.alone and change.db == "mysql"
                )
                for row, change in pairs
            }
    return found


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("source"), row["file"], row["pos"], row.get("inner")


def boundary_of(row: Mapping[str, Any], change: TableChange | None) -> Boundary:
    """A boundary from its record and its effect on tables."""
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
                altered.moment, altered.unchecked = change.moment, change.unchecked
    new = None if row["new_table"] is None else (row["new_db"] or row["db"], row["new_table"])
    return Boundary(
        row["seq"], row.get("tx"), row["file"], row["pos"], row.get("inner"), _name(row),
        row["action"], new, statement, definition, altered, before, conditional, alone, deletes_all,
    )  # fmt: skip


def _name(row: Mapping[str, Any]) -> TableId:
    return row["db"] or "", row["table"] or ""


def lineage(boundaries: Sequence[Boundary], wanted: TableId) -> list[TableId]:
    """The tables whose rows may have become ``wanted``'s by renames; ``wanted`` comes last."""
    names = [wanted]
    for boundary in reversed(boundaries):
        renamed = boundary.action == "rename" and boundary.new_name in names
        if renamed and boundary.name not in names:
            names.append(boundary.name)
    return names[::-1]


def parents(
    boundaries: Iterable[Boundary],
    name: TableId,
    known: Iterable[str] = (),
    given: Iterable[TableDefinition] = (),
) -> list[str]:
    """The tables (``db.table``) whose changes reach ``name`` through foreign keys at any time,
    directly or not, under all their names.

    ``known``: those known from elsewhere; ``given``: further definitions.
    """
    above: dict[str, dict[str, None]] = {".".join(name): dict.fromkeys(known)}

    def note(definition: TableDefinition) -> None:
        child = f"{definition.db}.{definition.table}"
        above.setdefault(child, {}).update(dict.fromkeys(definition.cascades))

    for definition in given:
        note(definition)
    for boundary in boundaries:
        for one_definition in (boundary.before, boundary.definition):
            if one_definition is not None:
                note(one_definition)
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
    """The names of the key's columns over time, since columns may be renamed.

    ``keys``: by table, at the place that the replay has reached; ``created``: by the ``seq`` of a
    CREATE TABLE, the key that the table had after it.
    """

    keys: dict[TableId, tuple[str, ...]] = field(default_factory=dict)
    default: tuple[str, ...] = ()
    created: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def before(
        cls,
        boundaries: Sequence[Boundary],
        wanted: TableId,
        key: Sequence[str],
        others: Mapping[TableId, Sequence[str]] | None = None,
    ) -> KeyNames:
        """The names before the first boundary, for the key that ``wanted`` has after the last, and
        for those of ``others``."""
        keys = {name: tuple(names) for name, names in (others or {}).items()} | {wanted: tuple(key)}
        created = dict[int, tuple[str, ...]]()
        for boundary in reversed(boundaries):
            if boundary.action == "rename" and boundary.new_name in keys:
                keys[boundary.name] = keys.pop(boundary.new_name)
            elif boundary.name in keys and boundary.action == "create":
                created[boundary.seq] = keys[boundary.name]
            elif boundary.name in keys and (replaced := boundary.replaced_key) is not None:
                keys[boundary.name] = replaced
            elif boundary.alteration is not None and boundary.name in keys:
                done, after = boundary.alteration, keys[boundary.name]
                old = {new: name for name, new in done.renamed.items()}
                # Earlier rows have no value of a key that was added. They stay a multiset: it is
                # not known which row got which value.
                added = not done.added.keys().isdisjoint(after)
                keys[boundary.name] = () if added else tuple(old.get(c, c) for c in after)
        return cls(keys, tuple(key), created)

    def key(self, name: TableId) -> tuple[str, ...]:
        """The present key of a table."""
        return self.keys.get(name, self.default)

    def renamed(self, old: TableId, new: TableId) -> None:
        """A table got another name."""
        self.keys[new] = self.keys.pop(old, self.default)

    def altered(self, name: TableId, done: Alteration) -> None:
        """A table's columns got other names."""
        self.keys[name] = tuple(done.renamed.get(c, c) for c in self.key(name))
