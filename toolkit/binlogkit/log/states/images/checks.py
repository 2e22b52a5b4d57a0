"""Changes outside the log: row images that contradict what the log last said of their rows.

A view of a reading whose batches have digests finds them. ``log/states/images/contradictions.py``
then reads such rows again and compares values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.analyses._savepoints import undone_mask
from binlogkit.analyses.continuity import Break, KnownRows
from binlogkit.analyses.point_in_time.batches import pieces
from binlogkit.analyses.point_in_time.boundary import Boundary, read_boundaries
from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.analyses.point_in_time.identity import Renames
from binlogkit.analyses.point_in_time.repeats import once, repeated
from binlogkit.constants import MERGE
from binlogkit.frames.arrays import filtered
from binlogkit.frames.schema import DIGESTS
from binlogkit.frames.statements import Boundaries
from binlogkit.log.states.history import first_rows
from binlogkit.log.states.images.outcomes import COUNTS, LEFT_OUT, Outcomes
from binlogkit.log.states.savepoints import Savepoints
from binlogkit.rows.filters import Filters, written_table_name
from binlogkit.rows.schema import Origin, TableSchema, small_name
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.rows.window import Window

SourceTable = tuple[str | None, str, str]  # source, database, table

NO_ROWS = ("BLACKHOLE", MERGE)
ENGINE_WITHOUT_ROWS = "its engine keeps no rows of its own"
NO_KEY = "without a key, and what rows it had is not known"
KEY_UNKNOWN = "its key is not known: it is neither in metadata nor in a CREATE TABLE"

_KEPT = 1000  # contradictions of one table that are reported one by one
_LACKING = 10_000  # changes of one table that are compared by value
_NEEDED = ("seq", "tx", "xid", "file", "pos", "inner", *DIGESTS)
_KEEPS_COLUMNS = ("truncate", "statement_write")
_NO_IMAGE = "without a key, and of some rows no image has all columns"


@dataclass(frozen=True, slots=True)
class ChangePlace:
    """Where a change is: its file, position, place in the reading, and GTID."""

    file: str
    pos: int
    seq: int
    gtid: str | None


@dataclass(frozen=True, slots=True)
class _Map:
    """A table map's facts: the columns' types with metadata; with FULL metadata also their names
    and the primary key's, else None."""

    types: tuple[Any, ...]
    names: tuple[str, ...] | None
    key: tuple[str, ...] | None

    @classmethod
    def of(cls, schema: TableSchema) -> _Map:
        columns = schema.columns
        named = all(column.name_origin == Origin.METADATA for column in columns)
        return cls(
            tuple((column.type, column.meta) for column in columns),
            tuple(column.name for column in columns) if named else None,
            schema.key if schema.key_origin == Origin.METADATA else None,
        )

    def contradicts(self, other: _Map) -> bool:
        """Whether the two cannot come from one definition."""
        pairs = (self.types, other.types), (self.names, other.names), (self.key, other.key)
        return any(None not in (one, two) and one != two for one, two in pairs)


@dataclass(slots=True)
class Checked:
    """The checks of one table.

    ``changes``: effective row changes; ``compared``: those whose before image could be compared
    with what the log last said of the row; ``broken``: (seq, kind, key's digest) of those that
    contradict it, ``count`` of them in all; ``lacking``: (seq, key's digest, since when its rows
    are known) of changes to be compared by value, since digests are not known of all columns;
    ``reason``: why none was compared, if none was; ``begun``: where the table was known to be
    empty, in order; ``cascades``: tables (``db.table``) whose changes may reach it by foreign keys;
    ``touched``: between which places (``seq``) rows were updated or deleted; ``redefined``: the
    last change with one set of columns in table maps, and the first with another, if no DDL in the
    log lies between.
    """

    name: SourceTable
    changes: int = 0
    compared: int = 0
    count: int = 0
    broken: list[tuple[int, Break, int]] = field(default_factory=list)
    lacking: list[tuple[int, int, int]] = field(default_factory=list)
    reason: str | None = None
    begun: list[ChangePlace] = field(default_factory=list)
    cascades: tuple[str, ...] = ()
    touched: list[tuple[int, int]] = field(default_factory=list)
    redefined: tuple[ChangePlace, ChangePlace] | None = None

    def record(self) -> dict[str, object]:
        """As a record."""
        return {
            "source": self.name[0], "table": written_table_name(*self.name[1:]),
            "changes": self.changes, "compared": self.compared, "contradictions": self.count,
            "reason": self.reason,
        }  # fmt: skip


class ImageChecks:
    """Takes the windows of a reading, and the batches of its rows, with digests.

    ``wanted``: the tables whose rows it takes, all by default.

    Knowledge of rows is dropped after DDL that changes their columns or writes them, after a write
    logged as a statement, and after a rollback that a non-transactional engine may have ignored.
    """

    def __init__(self, wanted: Filters | None = None) -> None:
        self._wanted = Filters() if wanted is None else wanted
        self._unread: set[SourceTable] = set()  # tables with rows that are not taken
        self._outcomes = Outcomes()
        self._fresh = Boundaries(Filters())
        self._boundaries: list[tuple[str | None, Boundary]] = []  # and the sources of their logs
        self._folded = False
        self._next = 0
        self._savepoints = Savepoints()
        self._rows: dict[SourceTable, KnownRows] = {}
        self._shapes: dict[SourceTable, tuple[Any, ...]] = {}
        self._maps: dict[SourceTable, tuple[_Map, ChangePlace]] = {}
        self._ignored: set[SourceTable] = set()  # tables whose engine keeps no rows
        self._renamed: list[tuple[int, SourceTable, SourceTable]] = []
        self.renames: Renames[SourceTable] = Renames(self._renamed)
        self._open: list[tuple[TableSchema, pa.RecordBatch]] = []  # not decided yet
        self.checked: dict[SourceTable, Checked] = {}
        self.version = (0, 0, 0)

    def take_window(self, window: Window) -> None:
        """Take the next window, before its rows."""
        self.version = max(self.version, version_tuple(window.server_version))
        self._outcomes.feed(window)
        self._savepoints.feed(window)
        self._note_unread(window)
        if window.folded and not self._folded:
            self._folded = True
            self._rows.clear()
        if self._fresh.feed(window):
            fresh = self._fresh.finish(first=len(self._boundaries))
            found = read_boundaries(fresh, self._fresh.changes)
            self._boundaries += ((window.source, boundary) for boundary in found)

    def _note_unread(self, window: Window) -> None:
        if window.stretch is None or not self._wanted.tables:
            return
        for _, slot, _ in first_rows(window, every=False):
            schema = window.schemas[slot]
            if schema is not None and not self._wanted.wants_table(*schema.name):
                self._unread.add(self.name_of(schema))

    def watched(
        self, window: Iterable[tuple[TableSchema, pa.RecordBatch]]
    ) -> Iterator[tuple[TableSchema, pa.RecordBatch]]:
        """Pass on the batches of a window and take them at its end.

        Log order holds between them and the batches of other windows.
        """
        found = []
        for schema, batch in window:
            found.append((schema, once(batch).select(_NEEDED)))
            yield schema, batch
        self._take_batches(found)

    def _take_batches(self, found: list[tuple[TableSchema, pa.RecordBatch]]) -> None:
        cuts = [boundary.seq for _, boundary in self._boundaries[self._next :]]
        parts = [
            (first, schema, piece)
            for schema, batch in found
            for first, piece in pieces(batch, cuts)
        ]
        waiting, self._open = self._open, []
        for schema, batch in waiting:
            self._decide(schema, batch)
        for seq, schema, piece in sorted(parts, key=lambda item: item[0]):
            self._happen_before(seq)
            self._take_map(schema, piece)
            self._decide(schema, piece)

    # ---- rows ---------------------------------------------------------------------------------

    def may_cascade(self, names: Collection[SourceTable], since: int, until: int) -> bool:
        """Whether a foreign key may have changed rows of a table with these names between two
        places.

        It may have if its parent was changed there, or the parent's parent, under whatever name.
        """
        own = [self.checked[name] for name in names if name in self.checked]
        above = [parent for one in own for parent in one.cascades]
        if not above or self.version >= CASCADES_LOGGED:
            return False
        source = own[0].name[0]
        tables = {".".join(c.name[1:]): c for c in self.checked.values() if c.name[0] == source}
        renames = [(".".join(old[1:]), ".".join(new[1:])) for _, old, new in self._renamed]
        for parent in above:
            above += [old for old, new in renames if new == parent and old not in above]
            known = tables.get(parent)
            if known is None:
                continue
            if any(first < until and last > since for first, last in known.touched):
                return True
            above += [more for more in known.cascades if more not in above]
        return False

    def name_of(self, schema: TableSchema) -> SourceTable:
        """The table's name as the server stores it."""
        db, table = schema.name
        return (schema.source, *(small_name((db, table)) if self._folded else (db, table)))

    def counts(self, batch: pa.RecordBatch) -> Flags:
        """Which changes count: those of transactions that are decided and committed."""
        tx = np.asarray(batch["tx"].fill_null(-1))
        known = self._outcomes.of(tx, np.asarray(batch["xid"].is_valid()))
        found: Flags = (known == COUNTS) & ~self._taken_back(batch)
        return found & ~repeated(batch)

    def _taken_back(self, batch: pa.RecordBatch) -> Flags:
        """Which changes ROLLBACK TO SAVEPOINT undid."""
        mask = undone_mask(self._savepoints.undone)
        return np.zeros(batch.num_rows, bool) if mask is None else mask(batch)

    def _decide(self, schema: TableSchema, batch: pa.RecordBatch) -> None:
        """Take the changes of counted transactions; keep those of undecided ones."""
        tx = np.asarray(batch["tx"].fill_null(-1))
        known = self._outcomes.of(tx, np.asarray(batch["xid"].is_valid()))
        back = self._taken_back(batch)
        counts, left = (known == COUNTS) & ~back, (known == LEFT_OUT) | back
        name = self.name_of(schema)
        rows = self._of(name, schema)
        if rows is None:
            self.checked[name].changes += int(counts.sum())
            return
        if counts.any():
            self._take(name, rows, filtered(batch, counts))
        if left.any():
            rows.doubt(filtered(batch, left))
        open_ = ~(counts | left)
        if open_.any():
            self._open.append((schema, filtered(batch, open_)))

    def _take_map(self, schema: TableSchema, batch: pa.RecordBatch) -> None:
        """Compare the table map of some changes with the one before."""
        name, mapped = self.name_of(schema), _Map.of(schema)
        before, last = self._maps.get(name), _change(batch, batch.num_rows - 1)
        if before is not None and before[0].contradicts(mapped):
            checked = self.checked.setdefault(name, Checked(name))
            checked.redefined = checked.redefined or (before[1], _change(batch, 0))
        self._maps[name] = mapped, last

    def _of(self, name: SourceTable, schema: TableSchema) -> KnownRows | None:
        """The rows of a table; None if they cannot be distinguished."""
        checked = self.checked.setdefault(name, Checked(name))
        checked.cascades = tuple(dict.fromkeys((*checked.cascades, *schema.cascades)))
        if name in self._ignored:
            checked.reason = ENGINE_WITHOUT_ROWS
            return None
        if not schema.key and schema.key_kind != "none":
            checked.reason = KEY_UNKNOWN
            self._rows.pop(name, None)
            return None
        shape = (
            schema.key,
            *((c.name, c.type, c.meta, c.charset, c.labels) for c in schema.columns),
        )
        rows = self._rows.setdefault(name, KnownRows())
        if self._shapes.setdefault(name, shape) != shape:
            rows.forget()
            self._shapes[name] = shape
        rows.keyless = not schema.key
        checked.reason = None
        if rows.keyless and (not rows.complete or rows.unidentified):
            checked.reason = _NO_IMAGE if rows.complete else NO_KEY
        return rows

    def _take(self, name: SourceTable, rows: KnownRows, batch: pa.RecordBatch) -> None:
        checked, before = self.checked[name], rows.compared
        seqs = batch["seq"].to_numpy()
        rows.since = int(seqs[0]) if rows.since is None else rows.since
        found = rows.feed(batch)
        checked.changes += batch.num_rows
        if batch[DIGESTS[0]].null_count < batch.num_rows:
            checked.touched.append((batch["seq"][0].as_py(), batch["seq"][-1].as_py()))
        checked.compared += rows.compared - before
        checked.count += len(found)
        room = max(0, _KEPT - len(checked.broken))
        checked.broken += ((int(seqs[i]), how, key) for i, how, key in found[:room])
        if not rows.doubted:
            lacking = rows.lacking[: max(0, _LACKING - len(checked.lacking))]
            checked.lacking += ((int(seqs[i]), key, rows.since) for i, key in lacking)

    # ---- what happens to tables -----------------------------------------------------------------

    def _happen_before(self, seq: int) -> None:
        while self._next < len(self._boundaries) and self._boundaries[self._next][1].seq < seq:
            source, boundary = self._boundaries[self._next]
            self._next += 1
            self._happen(source, boundary)

    def _happen(self, source: str | None, boundary: Boundary) -> None:
        definition, done = boundary.definition, boundary.alteration
        if definition is not None and definition.engine is not None:
            ignores = definition.engine.upper() in NO_ROWS
            note = self._ignored.add if ignores else self._ignored.discard
            note((source, definition.db, definition.table))
        if boundary.action not in _KEEPS_COLUMNS:
            for name in [name for name in self._maps if name[0] == source]:
                if boundary.concerns(name[1:]) or not all(boundary.name):
                    del self._maps[name]
        mine = [name for name in self._rows if name[0] == source]
        if boundary.may_write:
            for name in mine:
                self._rows[name].forget()
        elif boundary.empties:
            name = (source, *boundary.name)
            self._rows.setdefault(name, KnownRows()).forget(empty=True)
            self._shapes.pop(name, None)
            checked = self.checked.setdefault(name, Checked(name))
            checked.begun.append(ChangePlace(boundary.file, boundary.pos, boundary.seq, None))
        elif boundary.action == "rename" and boundary.new_name is not None:
            new = (source, *boundary.new_name)
            self._rename(boundary.seq, (source, *boundary.name), new)
        elif not boundary.conditional and not (done is not None and done.harmless):
            for name in mine:
                if boundary.concerns(name[1:]):
                    self._rows[name].forget()

    def _rename(self, seq: int, old: SourceTable, new: SourceTable) -> None:
        self._renamed.append((seq, old, new))
        self._rows.pop(new, None)
        self._shapes.pop(new, None)
        if old in self._rows and old not in self._unread:
            self._rows[new] = self._rows.pop(old)
        if old in self._shapes:
            self._shapes[new] = self._shapes.pop(old)


def _change(batch: pa.RecordBatch, i: int) -> ChangePlace:
    file, pos, seq = (batch[name][i].as_py() for name in ("file", "pos", "seq"))
    return ChangePlace(file, pos, seq, None)
