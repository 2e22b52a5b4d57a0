"""What a log tells of every table besides its rows: boundaries, layouts, engines."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from operator import attrgetter
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
_SEQ = attrgetter("seq")


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

    seq: int
    name: tuple[str, str]
    tx: int | None
    file: str
    pos: int


@dataclass(slots=True)
class History:
    """What one walk tells of every table: boundaries, and layouts in log order.

    ``merged``: the first change of each MERGE table in each transaction, in log order;
    ``folded``: names are in small letters, as the server showed to store them; ``ends``: where the
    last event of each file that was read ends; ``latest``: the latest second of an event.
    """

    found: list[Boundary] = field(default_factory=list)
    layouts: dict[tuple[str, str], list[Layout]] = field(default_factory=dict)
    version: tuple[int, int, int] = (0, 0, 0)
    merged: dict[tuple[tuple[str, str], int | None], Merged] = field(default_factory=dict)
    folded: bool = False
    ends: dict[str, int] = field(default_factory=dict)
    latest: int = 0

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
        body, raw = step.event.body, step.event.raw
        self.ends[raw.file] = raw.end_pos
        self.latest = max(self.latest, raw.header.timestamp)
        number = step.transaction.number if step.transaction else None
        if isinstance(body, FormatDescription):
            self.version = max(self.version, version_tuple(body.server_version))
        for told, change in zip(boundaries_of(step), step.changes, strict=True):
            boundary = in_small_letters(told) if self.folded else told
            self.found.append(boundary)
            if boundary.action == "statement_write":
                self._note_merge(_write(boundary))
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
        name = self._stored(schema.name)
        self._note_merge(Merged(step.seq, name, number, raw.file, raw.pos))
        columns = tuple(c.name for c in schema.columns)
        before = self.layouts.get(name)
        known = before[-1] if before else Layout(-1, None, None, ())
        if known.columns != columns or known.key != schema.key:
            engine, parents = known.engine, schema.cascades or known.parents
            layout = Layout(step.seq, number, columns, schema.key, engine, parents)
            self._add(name, layout)

    def fold(self) -> None:
        """Take names, those met before as well, as the server shows here to store them."""
        self.folded = True
        self.found = [in_small_letters(boundary) for boundary in self.found]
        layouts = self.layouts
        self.layouts = {}
        for name, known in layouts.items():
            self.layouts.setdefault(self._stored(name), []).extend(known)
        for known in self.layouts.values():
            known.sort(key=_SEQ)
        noted = [replace(m, name=self._stored(m.name)) for m in self.merged.values()]
        noted += (_write(b) for b in self.found if b.action == "statement_write")
        self.merged = {}
        for change in sorted(noted, key=_SEQ):
            self._note_merge(change)

    def _note_merge(self, change: Merged) -> None:
        """Keep a change of a table that is a MERGE table there."""
        known = self.layouts.get(change.name, ())
        before = bisect_left(known, change.seq, key=_SEQ)
        if before and known[before - 1].engine == MERGE:
            self.merged.setdefault((change.name, change.tx), change)

    def _stored(self, name: tuple[str, str]) -> tuple[str, str]:
        return (name[0].lower(), name[1].lower()) if self.folded else name

    def _add(self, name: tuple[str, str], layout: Layout) -> None:
        self.layouts.setdefault(name, []).append(layout)


def history_of(log: Log) -> History:
    """What the log tells up to damage."""
    history, walk = History(), log.walk()
    for step in log.until_damage(walk):
        if walk.folded and not history.folded:
            history.fold()
        history.take(step)
    return history


def _write(boundary: Boundary) -> Merged:
    """A write that is logged as a statement."""
    name = (boundary.db or "", boundary.table or "")
    return Merged(boundary.seq, name, boundary.tx, boundary.file, boundary.pos)


def _name_after(boundary: Boundary) -> tuple[str | None, str | None]:
    if boundary.action == "rename":
        return (boundary.new_db or boundary.db, boundary.new_table)
    return (boundary.db, boundary.table)
