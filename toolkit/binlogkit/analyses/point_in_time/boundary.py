"""What happens to tables as a whole, in log order, with the definitions that follow from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from binlogkit.analyses._frames import to_arrow
from binlogkit.analyses.point_in_time.structure import Alteration, alteration
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.schema import TableDefinition

Name = tuple[str, str]

_IF_NOT_EXISTS = re.compile(r"\bIF\s+NOT\s+EXISTS\b", re.IGNORECASE)
_ALTER = re.compile(r"\s*ALTER\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Boundary:
    """What happened to a table, in log order among the changes by ``seq``.

    ``definition``: the table's after it, None where the log does not tell; ``alteration``: of an
    ALTER TABLE that was understood.
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

    @property
    def conditional(self) -> bool:
        """CREATE TABLE IF NOT EXISTS: nothing happens to a table that is there."""
        return self.action == "create" and _IF_NOT_EXISTS.search(self.statement) is not None

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
        return self.action == "statement_write" and not self.moves_rows

    def concerns(self, name: Name) -> bool:
        """Whether it happens to this table."""
        if self.action == "drop_database":
            return self.name[0] == name[0]
        return name in (self.name, self.new_name)


def read_boundaries(frame: Any) -> list[Boundary]:
    """The boundaries of any engine's frame in log order, with definitions from their DDL.

    What was read once can be given to many states of the same log instead of the frame.
    """
    if frame is None:
        return []
    if isinstance(frame, list):
        return frame
    return BoundaryReader().read(frame)


class BoundaryReader:
    """Reads boundaries part by part: a catalog follows their statements."""

    def __init__(self) -> None:
        self._catalog = Catalog()

    def read(self, frame: Any) -> list[Boundary]:
        """Those of the next part of a log, with the rows of each statement whole."""
        rows = sorted(to_arrow(frame).to_pylist(), key=lambda row: row["seq"])
        result: list[Boundary] = []
        at = 0
        while at < len(rows):
            place = _place(rows[at])
            end = next((i for i in range(at, len(rows)) if _place(rows[i]) != place), len(rows))
            result.extend(_of_statement(rows[at:end], self._catalog))
            at = end
        return result


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("source"), row["file"], row["pos"], row.get("inner")


def _of_statement(rows: Sequence[Mapping[str, Any]], catalog: Catalog) -> list[Boundary]:
    """The boundaries that one statement makes; the catalog follows it."""
    statement = rows[0]["statement"] or ""
    before = {_name(row): catalog.table(*_name(row)) for row in rows if row["table"]}
    mode = rows[0].get("sql_mode")
    changes = catalog.apply(statement, default_db=rows[0]["db"], sql_mode=mode)
    result = []
    for i, row in enumerate(rows):
        change = changes[i] if len(changes) == len(rows) else None
        definition = None if change is None else change.definition
        altered = None
        if row["action"] == "alter":
            altered = alteration(statement, before[_name(row)], definition, mode)
        new = None if row["new_table"] is None else (row["new_db"] or row["db"], row["new_table"])
        result.append(
            Boundary(
                row["seq"], row.get("tx"), row["file"], row["pos"], row.get("inner"), _name(row),
                row["action"], new, statement, definition, altered,
            )
        )  # fmt: skip
    return result


def _name(row: Mapping[str, Any]) -> Name:
    return row["db"] or "", row["table"] or ""


def lineage(boundaries: Iterable[Boundary], wanted: Name) -> list[Name]:
    """The tables whose rows may have become ``wanted``'s by renames; ``wanted`` is the last."""
    renames = [(b.name, b.new_name) for b in boundaries if b.action == "rename"]
    names = [wanted]
    for name in names:
        names.extend(old for old, new in renames if new == name and old not in names)
    return names[::-1]


def parents(boundaries: Iterable[Boundary], name: Name, known: Iterable[str] = ()) -> list[str]:
    """The tables (``db.table``) whose changes reach ``name`` by foreign keys, over others too.

    ``known``: those that are known from elsewhere.
    """
    above: dict[str, tuple[str, ...]] = {}
    for boundary in boundaries:
        if boundary.definition is not None:
            definition = boundary.definition
            above[f"{definition.db}.{definition.table}"] = definition.cascades
    found = list(known)
    found.extend(p for p in above.get(".".join(name), ()) if p not in found)
    for parent in found:
        found.extend(p for p in above.get(parent, ()) if p not in found)
    return found


@dataclass(slots=True)
class History:
    """The names of the key's columns as time goes on: a column may have been renamed.

    ``keys``: by table, at the point that the replay has reached.
    """

    keys: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    default: tuple[str, ...] = ()

    @classmethod
    def before(cls, boundaries: Sequence[Boundary], wanted: Name, key: Sequence[str]) -> History:
        """The names before the first boundary, of the key that ``wanted`` has after the last."""
        keys = {wanted: tuple(key)}
        for boundary in reversed(boundaries):
            if boundary.action == "rename" and boundary.new_name in keys:
                keys[boundary.name] = keys.pop(boundary.new_name)
            elif boundary.alteration is not None and boundary.name in keys:
                old = {new: name for name, new in boundary.alteration.renamed.items()}
                keys[boundary.name] = tuple(old.get(c, c) for c in keys[boundary.name])
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
