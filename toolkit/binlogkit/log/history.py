"""What a log tells of every table besides its rows: boundaries, layouts, engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from binlogkit.events.format_description import FormatDescription
from binlogkit.rows.ledger import Boundary, boundaries_of, in_small_letters
from binlogkit.rows.walk import Step
from binlogkit.sources.log_format import version_tuple

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log.log import Log

__all__ = ["MERGE", "History", "Layout", "Merged", "history_of"]

#: The engine of tables whose rows are those of others (manual, "The MERGE Storage Engine").
MERGE = "MRG_MYISAM"


@dataclass(frozen=True, slots=True)
class Layout:
    """What is known of a table from some point of the log on; ``columns`` None: all seen."""

    seq: int
    tx: int | None
    columns: tuple[str, ...] | None
    key: tuple[str, ...]
    engine: str | None = None
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merged:
    """Rows that were written to a MERGE table; ``tx``: in which transaction."""

    name: tuple[str, str]
    tx: int | None
    file: str
    pos: int


@dataclass(slots=True)
class History:
    """What one walk tells of every table: boundaries, and layouts in log order.

    ``merged``: the first change of each MERGE table in each transaction.
    """

    found: list[Boundary] = field(default_factory=list)
    layouts: dict[tuple[str, str], list[Layout]] = field(default_factory=dict)
    version: tuple[int, int, int] = (0, 0, 0)
    merged: list[Merged] = field(default_factory=list)

    def layout(self, name: tuple[str, str], counted: frozenset[int]) -> Layout:
        """The last layout of a transaction that counts."""
        last = Layout(-1, None, None, ())
        for layout in self.layouts.get(name, ()):
            if layout.tx is None or layout.tx in counted:
                last = layout
        return last

    def names(self, name: tuple[str, str]) -> set[tuple[str, str]]:
        """The table's name, and those that it had before."""
        names = {name}
        for boundary in reversed(self.found):
            old = (boundary.db, boundary.table)
            if boundary.action == "rename" and _name_after(boundary) in names and all(old):
                names.add((boundary.db or "", boundary.table or ""))
        return names

    def boundaries(self, log: Log) -> pa.Table:
        """The boundaries as a frame."""
        from binlogkit.frames.ledgers import BOUNDARY_KEYS, plain_record, to_table

        source = log.options.source
        records = (plain_record(b, BOUNDARY_KEYS, source) for b in self.found)
        return to_table(records, BOUNDARY_KEYS)

    def take(self, step: Step) -> None:
        """Add what a step tells."""
        body = step.event.body
        number = step.transaction.number if step.transaction else None
        if isinstance(body, FormatDescription):
            self.version = max(self.version, version_tuple(body.server_version))
        for boundary, change in zip(boundaries_of(step), step.changes, strict=True):
            self.found.append(boundary)
            if boundary.action == "statement_write":
                self._note_merge((boundary.db or "", boundary.table or ""), step, number)
            db, table = _name_after(boundary)
            definition = change.definition
            if definition is not None and db is not None and table is not None:
                self._add(
                    (db, table),
                    Layout(
                        boundary.seq,
                        number,
                        boundary.columns,
                        boundary.key or (),
                        definition.engine,
                        definition.cascades,
                    ),
                )
        schema = step.schema
        if schema is None:
            return
        self._note_merge(schema.name, step, number)
        columns = tuple(c.name for c in schema.columns)
        before = self.layouts.get(schema.name)
        known = before[-1] if before else Layout(-1, None, None, ())
        if known.columns != columns or known.key != schema.key:
            engine, parents = known.engine, schema.cascades or known.parents
            layout = Layout(step.seq, number, columns, schema.key, engine, parents)
            self._add(schema.name, layout)

    def fold(self) -> None:
        """Take the names of statements before it showed as the server stores them."""
        self.found = [in_small_letters(boundary) for boundary in self.found]
        layouts = self.layouts
        self.layouts = {}
        for (db, table), known in layouts.items():
            self.layouts.setdefault((db.lower(), table.lower()), []).extend(known)
        for known in self.layouts.values():
            known.sort(key=lambda layout: layout.seq)

    def _note_merge(self, name: tuple[str, str], step: Step, tx: int | None) -> None:
        known = self.layouts.get(name)
        if not known or known[-1].engine != MERGE:
            return
        if not self.merged or (self.merged[-1].name, self.merged[-1].tx) != (name, tx):
            self.merged.append(Merged(name, tx, step.event.raw.file, step.event.raw.pos))

    def _add(self, name: tuple[str, str], layout: Layout) -> None:
        self.layouts.setdefault(name, []).append(layout)


def history_of(log: Log) -> History:
    """What the log tells up to damage."""
    history, walk = History(), log.walk()
    for step in log.until_damage(walk):
        history.take(step)
    if walk.folded:
        history.fold()
    return history


def _name_after(boundary: Boundary) -> tuple[str | None, str | None]:
    if boundary.action == "rename":
        return (boundary.new_db or boundary.db, boundary.new_table)
    return (boundary.db, boundary.table)
