"""Tables as of the end of the last transaction: the replay of ``log.state``, kept open.

Steps of whole transactions are folded as states are (analyses/point_in_time). What was prepared by
XA waits until it is decided: InnoDB's locks keep others from its rows until then. A table that is
created later is followed as well where it may be renamed to one of these (pt-online-schema-change,
gh-ost).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._savepoints import undone_ranges
from binlogkit.analyses.point_in_time.boundary import Boundary, boundary_of
from binlogkit.analyses.point_in_time.findings import KINDS
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.repeats import not_done
from binlogkit.analyses.point_in_time.replay import Replay
from binlogkit.analyses.point_in_time.result import base_changes
from binlogkit.analyses.point_in_time.unlogged import CONTRADICTIONS
from binlogkit.constants import MERGE, TableId
from binlogkit.errors import LimitError, UndeterminedError
from binlogkit.frames.arrays import filtered
from binlogkit.frames.schema import table_of
from binlogkit.log.states.doubts import of_engine
from binlogkit.log.states.forwards import transactional_of
from binlogkit.log.states.history import Merged
from binlogkit.log.states.restarts import ENGINE as MEMORY
from binlogkit.rows.filters import Filters
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import small_name
from binlogkit.rows.transactions import Outcome
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.rows import Delta, Rows
    from binlogkit.log.transactions_as_written import Step
    from binlogkit.rows.ddl import TableChange
    from binlogkit.rows.schema import TableDefinition


_NOT_YET = "no base has it, and its CREATE TABLE was not read so far"


@dataclass(frozen=True, slots=True)
class Base:
    """What a table begins with; ``rows``: as a state's, None where nothing is known of them."""

    definition: TableDefinition | None
    key: tuple[str, ...]
    rows: pa.Table | None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A table as of one moment; ``rows``: which nothing changes any more; ``findings``: as a
    state's; ``doubts``: those of :meth:`LiveTables.doubts` that are no findings."""

    rows: Rows
    key: tuple[str, ...]
    definition: TableDefinition | None
    findings: pa.Table
    doubts: tuple[str, ...]


@dataclass(slots=True)
class TableStep:
    """What a step did to a table: ``before``, ``after``: its rows (Rows.table); ``deltas``: what
    went and what came; ``anew``: it is to be read anew, because its columns changed, or more than
    the deltas say."""

    before: pa.Table
    after: pa.Table
    deltas: list[Delta]
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Watched(Filters):
    """The rows of the tables in ``names``, which grows."""

    names: set[TableId] = field(default_factory=set)

    def wants_table(self, db: str, table: str) -> bool:
        """See :meth:`Filters.wants_table`."""
        return (db, table) in self.names


class LiveTables:
    """Tables, each with what it begins with; ``most``: bytes that each may take.

    The tables that were asked for are ``wanted``; others are followed for their sake.
    """

    def __init__(self, bases: Mapping[TableId, Base], wanted: Iterable[TableId], most: int) -> None:
        self.wanted, self._most, self._bases = list(wanted), most, frozenset(bases)
        *others, last = bases
        keys = {name: base.key for name, base in bases.items()}
        given = {n: b.definition for n, b in bases.items() if b.definition is not None}
        self._replay = Replay(keys[last], [last], [], given, {name: keys[name] for name in others})
        self._replay.history.default = ()
        self.filters = Watched(names=set(bases))  # of what is read, ahead of the replay
        self._doubts = {name: list(base.doubts) for name, base in bases.items()}
        self._all_doubts: list[str] = []
        self._prepared: dict[int, list[pa.RecordBatch]] = {}
        self.undecided: dict[int, str | None] = {}  # XA transactions, by number: their GTIDs
        self._version = (0, 0, 0)
        self._unchecked: list[np.ndarray[Any, Any]] = [np.zeros(0, np.int64)]
        self._cascading = False
        self._merged: dict[TableId, Merged] = {}  # MERGE tables that were written
        for name, base in bases.items():
            if base.rows is not None:
                self._replay.begin(base_changes(base.rows), name)
            self._replay.table(name)

    def _off(self, seqs: np.ndarray[Any, Any]) -> Any:
        return np.isin(seqs >> 32, np.concatenate(self._unchecked))

    # ---- steps --------------------------------------------------------------------------------

    def heard(self, record: Any, change: TableChange) -> None:
        """A statement was met: a table that it creates is followed from there on."""
        name = (record["db"] or "", record["table"] or "")
        if record["action"] == "rename" and name in self.filters.names:
            name = (record["new_db"] or name[0], record["new_table"])
        elif record["action"] != "create" or change.definition is None:
            return
        self.filters.names.update({name, small_name(name)})  # rows may have either

    def _follow_cascades(self) -> None:
        """Apply foreign key cascades, which servers up to 9.5 do not log."""
        if self._cascading or self._version >= CASCADES_LOGGED:
            return
        known = (fold.definition for fold in self._replay.tables.values())
        if any(definition is not None and definition.cascades for definition in known):
            self._cascading = True
            self._replay.follow(self._off, keep=False)

    def _watch(self, name: TableId) -> None:
        self._replay.names.add(name)
        if self._cascading:
            self._replay.follow(self._off, keep=False)

    def apply(self, step: Step) -> dict[TableId, TableStep]:
        """Carry out a step; what it did to the tables that it touched."""
        counted = step.having(Outcome.COMMITTED)
        batches = self._counting(step, counted, step.having(Outcome.ROLLED_BACK))
        self._version = version_tuple(step.server_version)
        self._follow_cascades()
        if self._cascading:
            self._unchecked += step.unchecked
        boundaries = [
            boundary_of(record, change)
            for record, change in step.boundaries
            if record["tx"] is None or record["tx"] in counted
        ]
        changes = self._begin(batches, boundaries, step)
        if step.folded:
            self._fold_names(step, changes)
        happened: list[tuple[int, Boundary | None]] = [(b.seq, b) for b in boundaries]
        happened += [(seq, None) for seq in step.restarts]
        for seq, boundary in sorted(happened, key=itemgetter(0)):
            before, batches = _cut(batches, seq)
            self._take(before)
            for one in self._emptied(seq, step) if boundary is None else [boundary]:
                self._happen(one, changes)
        self._take(batches)
        self._replay.finish()
        return self._end(changes)

    def _fold_names(self, step: Step, changes: dict[TableId, TableStep]) -> None:
        """Call tables as their server stores their names: in small letters, unlike statements."""
        self.wanted = [*dict.fromkeys(map(small_name, self.wanted))]
        self._bases = frozenset(map(small_name, self._bases))
        for name in [one for one in self._replay.tables if one != small_name(one)]:
            if name not in self._replay.absent:
                small = Boundary(0, None, step.file, 0, None, name, "rename", small_name(name), "")
                self._happen(small, changes)

    def _emptied(self, seq: int, step: Step) -> list[Boundary]:
        """What a server's start does to tables of the MEMORY engine: it logs it when they are next
        used."""
        return [
            Boundary(seq, None, step.file, 0, None, name, "truncate", None, "")
            for name, fold in self._replay.tables.items()
            if _engine(fold) == MEMORY
        ]

    def _counting(self, step: Step, counted: set[int], rolled_back: set[int]) -> list[Any]:
        """The changes that count by now, of this step and of those that it decides."""
        kinds = (one["kind"] for one in step.statements)
        odd = any(pc.any(pc.equal(kind, "rollback_to")).as_py() for kind in kinds)
        left_out = not_done(undone_ranges(pa.concat_tables(step.statements) if odd else None))
        gtids = dict(zip(step.numbers, step.gtids, strict=True))
        prepared = step.having(Outcome.PREPARED)
        # Decided in its own step: its rows stay in their order, others cannot have met them.
        decisions = dict(step.decided)
        counted = counted | {n for n in prepared if decisions.get(n) == Outcome.COMMITTED}
        prepared -= decisions.keys()
        for number in prepared:
            self._prepared[number], self.undecided[number] = [], gtids.get(number)
        found = []
        for one in step.batches:
            batch, numbers = one.batch, np.asarray(one.batch["tx"].fill_null(-1))
            if (left := left_out(batch)).any():
                batch, numbers = batch.filter(pa.array(~left)), numbers[~left]
            for number in prepared.intersection(numbers.tolist()):
                self._prepared[number].append(batch.filter(pa.array(numbers == number)))
            counts = np.isin(numbers, [-1, *counted])
            if rolled_back and self._stays(one.table):
                counts |= np.isin(numbers, [*rolled_back])
            found.append(filtered(batch, counts))
        decided: list[Any] = []
        for number, outcome in step.decided:
            held, _ = self._prepared.pop(number, []), self.undecided.pop(number, None)
            decided += held if outcome == Outcome.COMMITTED else []
        self._all_doubts += [
            f"the XA transaction {xa} was prepared before what was read, and then decided"
            for xa in step.unknown_xa
        ]
        return [batch for batch in (*decided, *found) if batch.num_rows]

    def _stays(self, name: TableId) -> bool:
        """Whether what is rolled back stays in a table: its engine has no transactions."""
        definition = self._replay.tables[name].definition if name in self._replay.tables else None
        return definition is not None and transactional_of(definition.engine) is False

    def _begin(
        self, batches: list[Any], boundaries: list[Boundary], step: Step
    ) -> dict[TableId, TableStep]:
        """Note the rows of the tables that are about to be touched."""
        touched = {table_of(b) for b in batches}
        touched |= {n for b in boundaries for n in self._replay.names if b.concerns(n)}
        if self._cascading:
            touched |= set(self._replay.tables)
        changes = {}
        for name in touched & self._replay.tables.keys():
            fold = self._replay.tables[name]
            if _engine(fold) == MERGE:
                self._merged.setdefault(name, Merged(0, name, None, step.file, step.pos))
            rows = fold.settled()
            missing = any(gap.concerns([".".join(name)]) for gap in step.gaps)
            fold.compares = not missing and not self._doubts_of(name, fold, CONTRADICTIONS)
            rows.deltas = []
            changes[name] = TableStep(rows.table, rows.table, rows.deltas)
        return changes

    def _end(self, changes: dict[TableId, TableStep]) -> dict[TableId, TableStep]:
        for name, change in changes.items():
            fold = self._replay.tables.get(name)
            rows = fold.settled() if fold is not None else None
            change.after = pa.table({}) if rows is None else rows.table
            if self._cascading and change.after is not change.before:
                change.anew = True  # a cascade is no delta
            if rows is not None:
                rows.deltas = None
                self._check_size(name, rows)
        return {n: c for n, c in changes.items() if c.anew or c.after is not c.before}

    def _check_size(self, name: TableId, rows: Rows) -> None:
        """LimitError: a table does not fit. One that is followed for another's sake is left."""
        if rows.nbytes <= self._most:
            return
        if name in self.wanted or name in self._bases:
            raise too_large(name, len(rows), rows.nbytes, self._most)
        self._replay.tables.pop(name, None)
        self._replay.names.discard(name)
        self.filters.names.discard(name)

    def _take(self, batches: list[Any]) -> None:
        for batch in batches:
            self._replay.feed(batch)

    def _happen(self, boundary: Boundary, changes: dict[TableId, TableStep]) -> None:
        """Carry out what happens to a table."""
        replay = self._replay
        replay.finish()
        if boundary.action == "create" and boundary.definition is not None:
            self._watch(boundary.name)
        for name in [n for n in replay.names if boundary.concerns(n)]:
            fold = replay.tables.get(name)
            before = pa.table({}) if fold is None else fold.settled().table
            changes.setdefault(name, TableStep(before, before, [])).anew = True
        fresh = not boundary.conditional or boundary.name in replay.absent
        if boundary.action == "create" and boundary.definition is not None and fresh:
            replay.history.keys[boundary.name] = key_of(boundary.definition)[0]
            replay.tables.pop(boundary.name, None)
            self._doubts.pop(boundary.name, None)
        replay.happen(boundary)
        replay.finish()
        if boundary.action == "rename" and boundary.new_name is not None:
            self._renamed(boundary.name, boundary.new_name)
        if boundary.action == "truncate" or boundary.deletes_all:
            self._doubts.pop(boundary.name, None)
        self._follow_cascades()

    def _renamed(self, old: TableId, new: TableId) -> None:
        self._watch(new)
        if old not in self.wanted:
            self._replay.names.discard(old)
        self._doubts[new] = self._doubts.pop(old, [])

    # ---- what is known ------------------------------------------------------------------------

    def fold(self, name: TableId) -> Fold:
        """A table's rows. UndeterminedError: it was dropped, or was never there."""
        fold = self._replay.tables.get(name)
        if fold is None or name in self._replay.absent:
            raise UndeterminedError(".".join(name), (self.why_not(name),))
        return fold

    def why_not(self, name: TableId) -> str:
        """Why a table that is followed is not there, or has no definition."""
        gone = name in self._replay.absent
        return "the table was dropped or renamed" if gone else _NOT_YET

    def doubts(self, name: TableId) -> list[str]:
        """Why a table's rows are not certain, a sentence each."""
        fold = self.fold(name)
        fold.settled()
        return self._doubts_of(name, fold)

    def _doubts_of(self, name: TableId, fold: Fold, apart: Container[str] = ()) -> list[str]:
        """The doubts, apart from some kinds of findings."""
        found = [*self._all_doubts, *self._doubts.get(name, ())]
        if not fold.complete:
            found.append(KINDS["no_beginning"])
        merged = [*self._merged.values()]
        found += [one.meaning for one in of_engine(_engine(fold), merged)]
        found += fold.findings.undetermined(apart)
        for child, parent in self._not_followed(name):
            text = f"{'.'.join(child)} changes with {'.'.join(parent)} by a foreign key, which is"
            found.append(f"{text} not in logs up to 9.5, and {'.'.join(parent)} is not followed")
        return found

    def parents(self, name: TableId) -> list[tuple[TableId, TableId]]:
        """The foreign keys by which unlogged changes reach a table, each as child and parent; the
        parents' own ones, too."""
        found: list[tuple[TableId, TableId]] = []
        below = [name]
        for child in below:
            fold = self._replay.tables.get(child)
            definition = None if fold is None else fold.definition
            for parent in () if definition is None else definition.parents:
                found.append((child, parent))
                if parent not in below:
                    below.append(parent)
        return found

    def _not_followed(self, name: TableId) -> list[tuple[TableId, TableId]]:
        """Those of :meth:`parents` whose parents' changes are not read."""
        if not any(self._version) or self._version >= CASCADES_LOGGED:
            return []
        tables, absent = self._replay.tables, self._replay.absent

        def followed(parent: TableId) -> bool:
            fold = tables.get(parent)
            return parent in absent or (fold is not None and fold.definition is not None)

        return [(child, parent) for child, parent in self.parents(name) if not followed(parent)]

    def show(self, name: TableId, missing: Iterable[str]) -> Shown:
        """A table as it is now; ``missing``: where changes of it may be. UndeterminedError: it was
        dropped, or was never there."""
        fold = self.fold(name)
        rows = fold.settled().copied()
        doubts = (*self._doubts_of(name, fold, KINDS), *missing)
        return Shown(rows, fold.key, fold.definition, fold.findings.table(), doubts)

    def there(self) -> set[TableId]:
        """The tables that are followed and are there."""
        return set(self._replay.tables) - self._replay.absent

    def shown(self) -> Iterator[TableId]:
        """The tables that were asked for and are there."""
        for name in self.wanted:
            if name in self._replay.tables and name not in self._replay.absent:
                yield name


def _engine(fold: Fold) -> str:
    """A table's engine in capitals, "" where it is not known."""
    return ((fold.definition and fold.definition.engine) or "").upper()


def too_large(name: TableId, count: int, size: int, most: int) -> LimitError:
    """Why a table is not kept: its rows take more than ``most`` bytes."""
    return LimitError(
        f"{'.'.join(name)} has {count:,} rows, which take {size:,} bytes here, over {most:,} "
        "(the setting: memory)"
    )


def _cut(batches: list[Any], seq: int) -> tuple[list[Any], list[Any]]:
    """The changes before a place of the log, and those after it."""
    before, after = [], []
    for batch in batches:
        count = int(np.searchsorted(np.asarray(batch["seq"]), seq))
        if count:
            before.append(batch.slice(0, count))
        if count < batch.num_rows:
            after.append(batch.slice(count))
    return before, after
