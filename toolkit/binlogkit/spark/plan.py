"""Logs -> splits: what each worker needs to read its part as if it had read all before it.

Spark is not in here: landing, the batch source and a stream share it. The plan is made once, where
the query is planned, with one light walk; it is plain data. What a part cannot tell by itself is
what stood before it: the tables as DDL there left them (:class:`Known`), and the numbers of events
and transactions, so that ``seq`` and ``tx`` are those of a :class:`binlogkit.Log` over all files.
A large file whose row changes are asked for is cut at starts of transactions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.constants import EventType
from binlogkit.errors import DamageError, InputError
from binlogkit.events.base import Event
from binlogkit.log import open_log
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.stretches import ROWS_EVENTS, Stretch
from binlogkit.rows.transactions import Outcome, Transaction, track_transactions
from binlogkit.rows.walk import Step
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.sources.carriers.up_to import can_seek
from binlogkit.spark.options import ScanOptions
from binlogkit.spark.split_walk import Known, Split, SplitWalk

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Plan", "make_plan"]

_SLOT_BITS = 32
_SLOTS = (1 << _SLOT_BITS) - 1

# An outcome, and the file and position that brought it.
Decision = tuple[Outcome, str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A scan, its splits, and what they share.

    ``options``: how the logs are read, with the catalog of a schema file or a server; ``known``:
    one state for each change between splits; ``changes``: the canonical batch schema of the scan's
    table, its versions united by name; None without a table, where the log has no change of it, and
    where it was not asked for; ``columns``: the names of the table's columns over all versions;
    ``decisions``: what became of prepared transactions, by their number.
    """

    scan: ScanOptions
    options: ReadOptions = field(default_factory=ReadOptions)
    splits: tuple[Split, ...] = ()
    known: tuple[Known, ...] = ()
    changes: pa.Schema | None = None
    columns: tuple[str, ...] = ()
    decisions: Mapping[int, Decision] = field(default_factory=dict)

    def walk(self, split: Split) -> SplitWalk:
        """A walk over one split that starts with what is known there."""
        known = None if split.known is None else self.known[split.known]
        carriers = resolve(split.location or split.file, self.scan.keys)
        options = replace(self.options, threads=1)  # Spark gives a task one core
        return SplitWalk(carriers, options, split=split, known=known)


def make_plan(scan: ScanOptions, *, unite: bool = True) -> Plan:
    """The splits of a scan; with a table its columns are learned on the way.

    ``unite``: whether one schema for all versions of the table is wanted. Damage and unreadable
    files are left to whoever reads the split. Errors: InputError, EmptyInputError (nothing is
    there), SchemaError (versions of the table that do not unite), ServerError, UsageError.
    """
    log = open_log(
        list(scan.paths),
        schema=scan.schema,
        schema_from=scan.schema_from,
        charset=scan.charset,
        on_damage=scan.on_damage,
        name=scan.name,
        keyring=scan.keyring,
        key_file=scan.key_file,
    )
    last = len(log.files) - 1
    splits = [
        Split(carrier.name, i == 0, i == last, location=carrier.location)
        for i, carrier in enumerate(log.carriers)
    ]
    planner = _Planner(scan, log.options, log.carriers)
    walked = planner.run(splits)
    versions = planner.versions() if scan.typed else []
    changes = _united(versions, str(scan.table)) if versions and unite else None
    names = dict.fromkeys(column.name for schema in versions for column in schema.columns)
    return Plan(
        scan,
        log.options,
        walked,
        tuple(planner.known),
        changes,
        tuple(names),
        planner.decisions,
    )


class _Planner:
    """Walks over the logs once and notes where each one starts, and where it can be cut."""

    def __init__(
        self,
        scan: ScanOptions,
        options: ReadOptions,
        carriers: Sequence[Carrier],
    ) -> None:
        self._scan = scan
        self._split_bytes = scan.split_bytes
        self.walk = SplitWalk(carriers, options, ahead=False)
        self.known: list[Known] = []
        self.decisions: dict[int, Decision] = {}
        self._splits: list[Split] = []
        self._prepared: dict[str, int] = {}
        self._transactions = 0
        self._noted = 0  # how many of the walk's declarations are in ``known``
        self._ordered = True
        self._end = 0
        self._cuts = False  # whether the log may be cut
        self._going_on = -1  # the latest transaction that has begun

    def run(self, splits: Sequence[Split]) -> tuple[Split, ...]:
        """The splits with their starts, and the ends of those that were walked to the end."""
        ended = False
        for split, carrier in zip(splits, self.walk.carriers, strict=True):
            self._splits.append(self._from(split, 0, self.walk.ordinal, self._transactions))
            if ended or not self._needed(split, carrier):
                continue
            try:
                # The worker tells of an unreadable file; the others go on, as in a Log.
                with suppress(InputError):
                    self._splits[-1] = self._ended(self._pass(carrier))
            except DamageError:
                ended = True  # the worker tells; nothing behind is delivered, as in a Log
        return tuple(self._splits)

    def _needed(self, split: Split, carrier: Carrier) -> bool:
        """Whether a log must be walked over. The last one matters to none behind it; but a table's
        schema, or what became of a prepared transaction, may be in it, or it may be large."""
        if not split.last or self._scan.typed or self._scan.kind == "transactions":
            return True
        return self._scan.of_rows and (carrier.size or 0) > self._split_bytes

    def _from(self, split: Split, start: int, events: int, transactions: int) -> Split:
        """``split`` from an offset on, with what is known now."""
        if self._noted != self.walk.declared:
            self.known.append(self.walk.known)
            self._noted = self.walk.declared
        known = len(self.known) - 1 if self.known else None
        return replace(split, start=start, events=events, transactions=transactions, known=known)

    def versions(self) -> list[TableSchema]:
        """The versions of the wanted table, in log order."""
        wanted = self._scan.wanted()
        return [
            schema
            for name, schemas in self.walk.schemas.items()
            if wanted.wants_table(*name)
            for schema in schemas
        ]

    # ---- one log --------------------------------------------------------------------------

    def _pass(self, carrier: Carrier) -> int | None:
        """Walk over one log; the offset of its end, None where damage or disorder hides it."""
        self._end, self._ordered, before = 0, True, len(self.walk.damages)
        large = (carrier.size or 0) > self._split_bytes
        self._cuts = self._scan.of_rows and large and can_seek(carrier)
        if self._scan.kind == "transactions":
            for transaction in track_transactions(self._events(carrier), self._transactions):
                self._transactions = transaction.number + 1
                self._decide(transaction)
        else:
            self._scan_over(carrier)
        hidden = any(damage.offset >= self._end for damage in self.walk.damages[before:])
        return self._end if self._ordered and not hidden else None

    def _ended(self, stop: int | None) -> Split:
        """The split that goes on to the log's end."""
        return replace(self._splits[-1], stop=stop)

    def _scan_over(self, carrier: Carrier) -> None:
        """Walk over a log with the kernel, event by event where it gives the log up."""
        whole, uncut, alone = True, len(self._splits), _Alone()
        self._going_on = -1
        try:
            for item in self.walk.parts(carrier, self._transactions):
                if isinstance(item, Step):
                    self._note_end(item.event)
                    self._cuts = False
                elif item.stretch is None:
                    whole = item.whole
                else:
                    self._take(item.stretch, alone)
        finally:
            if not self._cuts:
                del self._splits[uncut:]
        if whole:
            if len(self._splits) > uncut and self._splits[-1].start == self._end:
                self._splits.pop()
            self._transactions = self.walk.next_number or 0
            return
        for transaction in self.walk.transactions_of(carrier, self._transactions):
            self._transactions = transaction.number + 1

    def _take(self, stretch: Stretch, alone: _Alone) -> None:
        self._cuts = self._cuts and alone.still(stretch)
        if stretch.outer is not None:
            return
        last = stretch.entries[-1]
        self._end = stretch.origin + int(last["offset"]) + int(last["size"])
        if self._cuts:
            self._cut(stretch)

    def _cut(self, stretch: Stretch) -> None:
        """Begin other splits at transactions of a stretch, or behind its end, before which enough
        lies, and behind which it declares nothing."""
        offsets = stretch.origin + stretch.entries["offset"]
        numbers, events = np.unique(stretch.entries["tx"], return_index=True)
        for number, event in zip(numbers.tolist(), events.tolist(), strict=True):
            if number > self._going_on:
                self._cut_at(int(offsets[event]), stretch.ordinal + event, number)
        if stretch.scanner.open_transaction is None:
            behind = stretch.ordinal + len(offsets)
            self._cut_at(self._end, behind, stretch.scanner.transactions.number)
        self._going_on = max(self._going_on, int(numbers[-1]))

    def _cut_at(self, pos: int, ordinal: int, number: int) -> None:
        near = pos < self._splits[-1].start + self._split_bytes
        if near or ordinal <= self.walk.declared_at:
            return
        following = self._from(self._splits[-1], pos, ordinal, number)
        self._splits[-1] = self._ended(pos)
        self._splits.append(following)

    # ---- event by event -------------------------------------------------------------------

    def _events(self, carrier: Carrier) -> Iterator[Event]:
        for step in self.walk.steps(carrier):
            self._note_end(step.event)
            yield step.event

    def _note_end(self, event: Event) -> None:
        if event.raw.inner is None:  # events pasted into a text may stand in any order
            self._ordered = self._ordered and event.raw.pos >= self._end
            self._end = max(self._end, event.raw.end_pos)

    def _decide(self, transaction: Transaction) -> None:
        """Note what XA COMMIT and XA ROLLBACK decide (rows/ledger.py, _resolve)."""
        if transaction.outcome == Outcome.PREPARED and transaction.xa is not None:
            self._prepared[transaction.xa] = transaction.number
        elif transaction.resolves is not None:
            decided = self._prepared.pop(transaction.resolves, None)
            if decided is not None:
                where = (transaction.file, transaction.pos)
                self.decisions[decided] = (transaction.outcome, *where)


class _Alone:
    """Whether each transaction of a log can be read without those before it.

    A server's can; but rows for a table id whose map stands in an earlier transaction are read, and
    a second format description may change how. What stands behind damage needs what is before it.
    """

    def __init__(self) -> None:
        self._formats = 0
        self._tx = -1
        self._mapped: set[int] = set()

    def still(self, stretch: Stretch) -> bool:
        """Whether that holds up to the stretch's end."""
        entries = stretch.entries
        self._formats += int((entries["type"] == EventType.FORMAT_DESCRIPTION_EVENT).sum())
        rows = entries[ROWS_EVENTS[entries["type"]]]
        maps = entries[entries["type"] == EventType.TABLE_MAP_EVENT]
        going_on = entries["tx"] == self._tx
        mapped = np.unique(_table_in_transaction(maps))
        needed = np.setdiff1d(_table_in_transaction(rows), mapped)
        known = self._mapped if going_on.any() else set()
        last = int(entries["tx"][-1])
        own = set(mapped[mapped >> _SLOT_BITS == last].tolist())
        self._mapped = own | known if last == self._tx else own
        self._tx = last
        return self._formats == 1 and known.issuperset(needed.tolist())


def _table_in_transaction(entries: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A number for each slot in each transaction."""
    slots = entries["slot"].astype(np.int64)
    return entries["tx"].astype(np.int64) << _SLOT_BITS | slots & _SLOTS


def _united(versions: Sequence[TableSchema], table: str) -> pa.Schema:
    """One schema for all versions of a table."""
    import pyarrow as pa

    from binlogkit.frames.batches import schema_of
    from binlogkit.frames.tables import united

    empty = [pa.RecordBatch.from_pylist([], schema=schema_of(v)) for v in versions]
    return united(empty, table).schema
