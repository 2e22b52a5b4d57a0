"""What a log says about every table besides its rows: boundaries, layouts, engines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from binlogkit.constants import MERGE, TableId
from binlogkit.frames.statements import Boundaries, Record
from binlogkit.rows.ddl import TableChange
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import Supposition, small_name
from binlogkit.rows.window import ROWS_EVENTS, SEQ_SHIFT, Window
from binlogkit.sources.log_format import version_tuple

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.rows.soundness import FileFacts

_SEQ = attrgetter("seq")


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What is known of a table from some point of the log on; ``columns`` None: all that were
    seen."""

    seq: int
    tx: int | None
    columns: tuple[str, ...] | None
    key: tuple[str, ...]
    engine: str | None = None
    parents: tuple[str, ...] = ()
    supposed: tuple[Supposition, ...] = ()


@dataclass(frozen=True, slots=True)
class Merged:
    """Rows that were written to a MERGE table; ``tx``: in which transaction."""

    seq: int
    name: TableId
    tx: int | None
    file: str
    pos: int


class History:
    """Boundaries and layouts of every table in log order, from a reading's windows.

    ``wanted``: the sources whose logs count; ``sources``: by table the sources that changed it;
    ``version``: the newest server's, ``oldest``: the oldest one's; ``merged``: the first change of
    each MERGE table in each transaction, in log order; ``folded``: names are in lower case, as the
    server was seen to store them; ``ends``: where the last event of each file that was read ends;
    ``latest``: the latest event time, in seconds.
    """

    def __init__(self, wanted: Filters) -> None:
        self.layouts: dict[TableId, list[TableFacts]] = {}
        self.sources: dict[TableId, set[str]] = {}
        self.version = (0, 0, 0)
        self._oldest: tuple[int, int, int] | None = None
        self.merged: dict[tuple[TableId, int | None], Merged] = {}
        self.folded = False
        self.ends: dict[str, int] = {}
        self.latest = 0
        self._wanted = wanted
        self._boundaries = Boundaries(wanted)
        self._merging = False  # whether there are MERGE tables

    @property
    def oldest(self) -> tuple[int, int, int]:
        """The oldest server's version."""
        return self._oldest or (0, 0, 0)

    def layout(self, name: TableId, counted: Container[int]) -> TableFacts:
        """The last layout from a transaction that counts."""
        last = TableFacts(-1, None, None, ())
        for layout in self.layouts.get(name, ()):
            if layout.tx is None or layout.tx in counted:
                last = layout
        return last

    def key(self, name: TableId, seq: int) -> tuple[str, ...]:
        """The table's key as known at a place of the log."""
        known = self.layouts.get(name, ())
        before = bisect_right(known, seq, key=_SEQ)
        return known[before - 1].key if before else ()

    def feed(self, window: Window) -> None:
        """Take a window."""
        if window.folded and not self.folded:
            self.fold()
        sources = self._wanted.sources
        if window.stretch is None or (sources and window.source not in sources):
            return
        self.ends[window.carrier.name] = int(window.stretch.ends[-1])
        self.latest = max(self.latest, int(window.stretch.entries["timestamp"].max()))
        version = version_tuple(window.server_version)
        self.version = max(self.version, version)
        self._oldest = version if self._oldest is None else min(self._oldest, version)
        found = self._boundaries.feed(window)
        at = 0
        for i, slot, number in first_rows(window, every=self._merging):
            while at < len(found) and found[at][0] < i:
                self._take_boundary(found[at][1])
                at += 1
            self._take_rows(window, i, slot, number)
        for _, boundary in found[at:]:
            self._take_boundary(boundary)

    def take_files(self, files: Iterable[FileFacts]) -> None:
        """Add what is known of logs of which only some parts were taken."""
        for file in files:
            if self._wanted.sources and file.source not in self._wanted.sources:
                continue
            self.ends[file.name] = file.size
            self.latest = max(self.latest, file.last_timestamp or 0)
            version = version_tuple(file.server_version or "")
            self.version = max(self.version, version)
            self._oldest = version if self._oldest is None else min(self._oldest, version)

    @property
    def changes(self) -> dict[int, TableChange]:
        """What each boundary does, with its definitions, by its ``seq``."""
        return self._boundaries.changes

    @property
    def count(self) -> int:
        """How many boundaries there are so far."""
        return len(self._boundaries.found)

    def table(self, first: int = 0) -> pa.Table:
        """The boundaries as a frame, from this number on."""
        return self._boundaries.finish(first=first)

    def _take_boundary(self, boundary: Record) -> None:
        for name in {(boundary["db"], boundary["table"]), _name_after(boundary)}:
            self.sources.setdefault((name[0] or "", name[1] or ""), set()).add(
                boundary["source"] or ""
            )
        if boundary["action"] == "statement_write":
            self.note_merge(_write(boundary))
        db, table = _name_after(boundary)
        definition = self._boundaries.changes[boundary["seq"]].definition
        if definition is not None and db is not None and table is not None:
            self.add(
                (db, table),
                TableFacts(
                    boundary["seq"],
                    boundary["tx"],
                    boundary["columns"],
                    boundary["key"] or (),
                    definition.engine,
                    definition.cascades,
                    definition.supposed,
                ),
            )

    def _take_rows(self, window: Window, i: int, slot: int, number: int | None) -> None:
        """The first rows of a table in a window, or in a transaction of it."""
        schema, stretch = window.schemas[slot], window.stretch
        assert schema is not None and stretch is not None
        name, seq = self._stored(schema.name), stretch.ordinal + i << SEQ_SHIFT
        pos = int(stretch.positions[i])
        self.sources.setdefault(name, set()).add(window.source or "")
        self.note_merge(Merged(seq, name, number, window.carrier.name, pos))
        columns = tuple(c.name for c in schema.columns)
        before = self.layouts.get(name)
        known = before[-1] if before else TableFacts(-1, None, None, ())
        last = known.columns, known.key, known.supposed
        if last != (columns, schema.key, schema.supposed):
            engine, parents = known.engine, schema.cascades or known.parents
            facts = schema.key, engine, parents, schema.supposed
            self.add(name, TableFacts(seq, number, columns, *facts))

    def fold(self) -> None:
        """Store names as the server is seen here to store them, earlier ones too."""
        self.folded = True
        self._boundaries.fold()
        layouts = self.layouts
        self.layouts = {}
        for name, known in layouts.items():
            small = [replace(k, parents=tuple(map(str.lower, k.parents))) for k in known]
            self.layouts.setdefault(self._stored(name), []).extend(small)
        for known in self.layouts.values():
            known.sort(key=_SEQ)
        noted = [replace(m, name=self._stored(m.name)) for m in self.merged.values()]
        boundaries = self._boundaries.found
        noted += (_write(b) for b in boundaries if b["action"] == "statement_write")
        self.merged = {}
        for change in sorted(noted, key=_SEQ):
            self.note_merge(change)

    def note_merge(self, change: Merged) -> None:
        """Keep a change of a table that is a MERGE table at that place."""
        known = self.layouts.get(change.name, ())
        before = bisect_left(known, change.seq, key=_SEQ)
        if before and known[before - 1].engine == MERGE:
            self.merged.setdefault((change.name, change.tx), change)

    def _stored(self, name: TableId) -> TableId:
        return small_name(name) if self.folded else name

    def add(self, name: TableId, layout: TableFacts) -> None:
        """Add what is known of a table from a place on."""
        self._merging = self._merging or layout.engine == MERGE
        self.layouts.setdefault(name, []).append(layout)


def first_rows(window: Window, *, every: bool) -> Iterator[tuple[int, int, int | None]]:
    """(entry, slot, transaction) of the first rows of each table; with ``every``, for each
    transaction."""
    stretch = window.stretch
    assert stretch is not None
    entries = stretch.entries
    rows = ROWS_EVENTS[entries["type"]] & (entries["slot"] >= 0)
    if window.repeated is not None:
        rows &= ~np.isin(entries["tx"], window.repeated)
    here = np.flatnonzero(rows)
    keys = entries["slot"][here].astype(np.int64)
    if every:
        keys = keys << 32 | entries["tx"][here] + 1
    _, firsts = np.unique(keys, return_index=True)
    for i in np.sort(here[firsts]).tolist():
        slot, number = int(entries["slot"][i]), int(entries["tx"][i])
        if slot < len(window.schemas) and window.schemas[slot] is not None:
            yield i, slot, None if number < 0 else number


def _write(boundary: Record) -> Merged:
    """A write that is logged as a statement."""
    name = (boundary["db"] or "", boundary["table"] or "")
    return Merged(boundary["seq"], name, boundary["tx"], boundary["file"], boundary["pos"])


def _name_after(boundary: Record) -> tuple[str | None, str | None]:
    if boundary["action"] == "rename":
        return (boundary["new_db"] or boundary["db"], boundary["new_table"])
    return (boundary["db"], boundary["table"])
