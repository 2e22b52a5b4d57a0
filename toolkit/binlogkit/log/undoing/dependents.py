"""The changes that depend on undone ones: a second reading of the tables concerned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._savepoints import undone_ranges
from binlogkit.analyses.point_in_time.repeats import not_done
from binlogkit.analyses.references import Reference, connected, references, renamed
from binlogkit.analyses.undoing._later_ddl import with_columns
from binlogkit.analyses.undoing.dependents.found import Dependences, dependences
from binlogkit.analyses.undoing.dependents.gathered import BELOW, Gathered
from binlogkit.analyses.undoing.dependents.touched_rows import TouchedRows, among
from binlogkit.constants import TableId
from binlogkit.frames.arrays import filtered, one_array
from binlogkit.frames.schema import key_columns, table_of
from binlogkit.log.undoing.cascaded import went_later
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import TableDefinition

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.codes import Flags, Integers
    from binlogkit.log.undoing.source import UndoSource

_INNODB = "INNODB"
FEW_BYTES = 1 << 20  # of logs
_NONE: Integers = np.zeros(0, np.int64)


class Others:
    """The changes of a source that may depend on chosen ones; read on first use.

    ``definitions``: of all tables, at any time, in order; ``struck``: whether foreign keys cascade
    without logging; ``merge``: whether the chosen ones are undone by the column. By transaction
    changes depend on each other with all of their transactions, so that any change may.
    """

    def __init__(
        self,
        source: UndoSource,
        definitions: Iterable[TableDefinition],
        *,
        struck: bool,
        merge: bool,
    ) -> None:
        self._source, self._struck = source, struck
        self._whole, self._merge = source.by_transaction, merge
        self._definitions = list(definitions)
        self._renames = [b for b in source.boundaries if b.new_name]
        self._columns = [b for b in source.boundaries if b.alteration and b.alteration.renamed]
        self._read: list[pa.RecordBatch] | None = None
        self._with_below = False

    def dependences(
        self,
        chosen: Sequence[pa.RecordBatch],
        went: Sequence[pa.RecordBatch],
        stay: Integers = _NONE,
    ) -> Dependences:
        """What depends on the changes. The changes have whole rows as far as known and may include
        unlogged ones (``went``). ``stay``: by ``seq``, those that are not undone."""

        below = {id(batch) for batch in went}
        own = [batch for batch in chosen if batch.num_rows and id(batch) not in below]
        keys = self._keys()
        gone = [np.asarray(batch["seq"]) for batch in (*own, *went)]
        seqs = np.unique(np.concatenate([np.zeros(0, np.int64), *gone]))
        if self._read is None:
            self._read = list(self._others(keys, [*own, *went], seqs))
        rest = [_without(batch, seqs) for batch in self._read]
        if not (len(stay) or any(batch.num_rows for batch in rest)):
            return Dependences.none()
        marked = [self._marked(batch) for batch in went if batch.num_rows]
        met = [*own, *marked, *rest]
        given = [self._counted(batch) for batch in met]
        named = [part for batch in given if batch.num_rows for part in self._named(batch)]
        begun = {
            self._last(b.name, b.seq)
            for b in self._source.boundaries
            if b.action == "create" and not b.conditional
        }
        back = np.setdiff1d(seqs, stay)
        return dependences(
            Gathered(named, self._definitions), keys, back,
            struck=self._struck, complete=frozenset() if self._source.gaps else frozenset(begun),
            by_transaction=self._whole and not self._merge, merge=self._merge,
            unsure=self._unsure(keys, met, given, seqs),
        )  # fmt: skip

    def _unsure(
        self,
        keys: Iterable[Reference],
        met: Sequence[pa.RecordBatch],
        counted: Sequence[pa.RecordBatch],
        seqs: Integers,
    ) -> set[TableId]:
        """The tables whose rows may have changed since in other ways than by these changes.

        By changes that do not count in transactional tables, foreign keys, DDL, statements logged
        as text, other engines than InnoDB, or where the log has gaps.
        """
        since = [b for b in self._source.boundaries if len(seqs) and b.seq > seqs[0]]
        found = {table_of(batch) for batch in met if batch.num_rows}
        if not (self._source.gaps or any(b.may_write for b in since)):
            found = {name for name in found if any(b.concerns(name) for b in since)}
        pairs = zip(met, counted, strict=True)
        found |= {table_of(batch) for batch, rest in pairs if rest.num_rows < batch.num_rows}
        found |= {key.child for key in keys if self._struck and key.cascades}
        engines = {(d.db, d.table): d.engine or _INNODB for d in self._definitions}
        found |= {name for name, engine in engines.items() if engine.upper() != _INNODB}
        return found | {self._last(name, b.seq - 1) for name in found for b in self._renames}

    def below(self, overwritten: Integers | None, chosen: Sequence[pa.RecordBatch]) -> bool:
        """Add what foreign keys did to the rows of some chosen changes (None: of all) with other
        changes, without being logged; whether there is any that was not there."""
        children = {key.child for key in self._keys() if self._struck and key.cascades}
        own = [(batch, np.asarray(batch["seq"])) for batch in chosen if batch.num_rows]
        tables = {
            self._last(table_of(batch), int(some[0]))
            for batch, seqs in own
            if len(some := seqs if overwritten is None else np.intersect1d(seqs, overwritten))
        }
        if self._read is None or self._with_below or children.isdisjoint(tables):
            return False
        read = self._read
        found = went_later(self._source, children & tables, read)
        self._read, self._with_below = [*read, *map(self._marked, found)], True
        return bool(found)

    def changes(self, seqs: Integers) -> list[pa.RecordBatch]:
        """Some of the other changes, as they were read."""
        wanted = pa.array(seqs, pa.int64())
        found = [batch.filter(pc.is_in(batch["seq"], wanted)) for batch in self._read or ()]
        return [batch for batch in found if batch.num_rows]

    def struck(self) -> dict[TableId, int]:
        """The tables whose rows foreign keys may have removed or changed with other changes,
        without being logged, by their last names, each with the last of these (``seq``)."""
        found, below = dict[TableId, int](), dict[TableId, int]()
        for batch in self._read or ():
            seqs = np.asarray(batch["seq"])[np.asarray(batch["before"].is_valid())]
            if len(seqs):
                name = self._last(table_of(batch), int(seqs[-1]))
                found[name] = max(int(seqs.max()), found.get(name, 0))
        keys = [key for key in self._keys() if key.cascades and self._struck]
        for _ in keys:  # as deep as they may go
            for key in keys:
                last = max(found.get(key.parent, -1), below.get(key.parent, -1))
                below[key.child] = max(last, below.get(key.child, -1))
        return below

    def _keys(self) -> list[Reference]:
        """The foreign keys that existed at any time, under all names of their tables."""
        last = {(d.db, d.table): d for d in self._definitions}
        found = [*references(last.values())]
        for older in self._definitions:
            name = older.db, older.table
            if older.foreign and older is not last[name]:
                found += references({**last, name: older}.values())
        return renamed(found, [(b.name, b.new_name) for b in self._renames if b.new_name])

    def _others(
        self, keys: Sequence[Reference], chosen: Sequence[pa.RecordBatch], seqs: Integers
    ) -> Iterator[pa.RecordBatch]:
        """The changes that are not chosen and may depend on chosen ones."""
        wanted, names = self._source.wanted, self._concerned(keys, chosen)
        every = self._whole or not _by_table(wanted)
        if not len(seqs) or not (every or any(not wanted.wants_table(*name) for name in names)):
            return
        sieve = _MayDepend(seqs, self._touched(keys, chosen), self._counts)
        found = [*self._source.sifted(None if self._whole else names, sieve)]
        while sieve.add([]):
            found = [*self._source.sifted(names, sieve)]
        yield from found

    def _touched(
        self, keys: Sequence[Reference], chosen: Iterable[pa.RecordBatch]
    ) -> dict[TableId, TouchedRows]:
        """What the chosen changes touched, by table: one for all tables that foreign keys join.
        Nothing where the log holds few changes: they are soon compared.

        Not of tables that had other names, or columns with other names, or whose definition is not
        known, and not where foreign keys act below the log.
        """
        known: dict[TableId, list[TableDefinition]] = {}
        for one in self._definitions:
            known.setdefault((one.db, one.table), []).append(one)
        for b in (*self._renames, *self._columns):
            known.pop(b.name, None)
            known.pop(b.new_name or b.name, None)
        pairs = [(key.child, key.parent) for key in keys]
        found: dict[TableId, TouchedRows | None] = {}
        few = self._source.size < FEW_BYTES
        for batch in chosen if not (self._whole or few) else ():
            if not batch.num_rows:
                continue
            if (name := table_of(batch)) not in found:
                tables = connected([name], pairs)
                own = [key for key in keys if key.child in tables]
                below = self._struck and any(key.cascades for key in own)
                plain = tables <= known.keys() and not below
                rows = TouchedRows({one: known[one] for one in tables}, own) if plain else None
                found |= dict.fromkeys(tables, rows)
            if (mine := found[name]) is not None:
                mine.follow(batch)
        return {name: rows for name, rows in found.items() if rows is not None}

    def _concerned(
        self, keys: Iterable[Reference], changes: Sequence[pa.RecordBatch]
    ) -> set[TableId]:
        """The tables of changes, under all their names, and those that foreign keys connect."""
        pairs = [(key.child, key.parent) for key in keys]
        pairs += [(b.name, b.new_name) for b in self._renames if b.new_name]
        return connected((table_of(batch) for batch in changes if batch.num_rows), pairs)

    def _counted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The changes that were committed, not undone by ROLLBACK TO SAVEPOINT, and are not in
        the log once more."""
        return filtered(batch, self._counts(batch))

    @cached_property
    def _counts(self) -> _Counts:
        transactions = self._source.transactions
        ended = transactions.filter(pc.not_equal(transactions["outcome"], "committed"))["tx"]
        return _Counts(not_done(undone_ranges(self._source.statements)), one_array(ended))

    def _marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.append_column(BELOW, pa.array(np.ones(batch.num_rows, bool)))

    def _named(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The changes of a table under its last name, and those of its columns."""
        name = table_of(batch)
        seq = np.asarray(batch["seq"])
        cuts = sorted({b.seq for b in (*self._renames, *self._columns)})
        stretch = np.searchsorted(cuts, seq, "right") if cuts else np.zeros(len(seq), np.int64)
        for number in np.unique(stretch):
            part = batch.filter(pa.array(stretch == number))
            first = int(part["seq"][0].as_py())
            last = self._last(name, first)
            part = with_columns(part, self._last_columns(name, first))
            for column, text in zip(("db", "table"), last, strict=True):
                at = part.schema.get_field_index(column)
                repeated = pa.array([text] * part.num_rows, pa.string())
                part = part.set_column(at, column, repeated)
            yield part

    def _last_columns(self, name: TableId, seq: int) -> dict[str, str]:
        """The last names of a table's columns that have others since, by those at a place."""
        found = dict[str, str]()
        for boundary in self._columns:
            if boundary.seq > seq and boundary.name == self._last(name, seq, boundary.seq):
                done = boundary.alteration.renamed if boundary.alteration else {}
                old = {new: first for first, new in found.items()}
                found |= {old.get(column, column): new for column, new in done.items()}
        return found

    def _last(self, name: TableId, seq: int, end: int | None = None) -> TableId:
        """The name that a table of a place has at the end, or before another place."""
        for boundary in self._renames:
            within = boundary.seq > seq and (end is None or boundary.seq < end)
            if within and boundary.name == name and boundary.new_name:
                name = boundary.new_name
        return name


@dataclass(frozen=True, slots=True)
class _Counts:
    """Which changes of a batch count: not those that were not done (``left_out``), or are of
    transactions that ended otherwise."""

    left_out: Callable[[pa.RecordBatch], Flags]
    ended: pa.Array

    def __call__(self, batch: pa.RecordBatch) -> Flags:
        found: Flags = ~self.left_out(batch)
        if len(self.ended):
            found &= ~np.asarray(pc.is_in(batch["tx"], self.ended))
        return found


class _MayDepend:
    """Of changes those that may depend on chosen ones (``seqs``, sorted); ``touched``: what these
    touched; ``counts``: which changes count."""

    def __init__(
        self, seqs: Integers, touched: Mapping[TableId, TouchedRows], counts: _Counts
    ) -> None:
        self._seqs, self._touched, self._counts = seqs, touched, counts

    def __call__(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """See :class:`Sieve`."""
        batch = _without(batch, self._seqs)
        if not (whole := batch.num_rows and _keyless_or_partial(batch)):
            batch = batch.filter(pc.greater(batch["seq"], int(self._seqs[0])))
        if batch.num_rows and (mine := self._touched.get(table_of(batch))) is not None:
            those = mine.those(batch, self._counts(batch))
            batch = batch if whole else filtered(batch, those)
        if batch.num_rows:
            yield batch

    @property
    def _several(self) -> list[TouchedRows]:
        return list(dict.fromkeys(self._touched.values()))

    def learned(self) -> list[Any]:
        """What was added, and where it is not known."""
        return [rows.learned() for rows in self._several]

    def add(self, learned: Sequence[Any]) -> bool:
        """Add what other changes touched, whose own dependents may have been passed over."""
        more = [rows.join([one[i] for one in learned]) for i, rows in enumerate(self._several)]
        return any(more)


def _by_table(wanted: Filters) -> bool:
    """Whether only tables and servers were filtered, so that all changes of a table are chosen."""
    plain = Filters(
        tables=wanted.tables, exclude_tables=wanted.exclude_tables, sources=wanted.sources
    )
    return wanted == plain


def _without(batch: pa.RecordBatch, seqs: Integers) -> pa.RecordBatch:
    """The changes without some; ``seqs`` is sorted."""
    if not len(seqs):
        return batch
    return batch.filter(pa.array(~among(np.asarray(batch["seq"]), seqs)))


def _keyless_or_partial(batch: pa.RecordBatch) -> bool:
    """Whether changes before the chosen ones matter, too: to count equal rows, or to complete later
    images."""
    states = (batch["before_state"], batch["after_state"])
    return not key_columns(batch.schema) or any(
        state.null_count < batch.num_rows for state in states
    )
