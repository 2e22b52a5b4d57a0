"""The transactions of a reading as an Arrow table: one row each, with rows counted and outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.constants import EventType, TableId
from binlogkit.events.gtid import Gtid
from binlogkit.frames.arrays import bits, flags, integers, numbers, text_array
from binlogkit.frames.fields.field import Fields, arrow_schema
from binlogkit.frames.fields.ledger import TRANSACTION
from binlogkit.frames.transaction_facts import COMMIT, GTID, THREAD, XID, gtid_array, joined
from binlogkit.frames.wanted import operations, wanted_transactions
from binlogkit.rows.filters import OPS, Filters
from binlogkit.rows.prepared import Decision, Prepared
from binlogkit.rows.settling import OUTCOMES
from binlogkit.rows.slots import table_name
from binlogkit.rows.transactions import Transaction
from binlogkit.rows.window import (
    BAD_CHECKSUM,
    COMPRESSED,
    ROWS_EVENTS,
    TRANSACTIONS,
    Stretch,
    Window,
)

_CLOCK = 2
_NAME_BITS = 32
_OF_GTID = (
    "commit_timestamp", "original_commit_timestamp", "last_committed", "sequence_number",
)  # fmt: skip
_FACTS = ("xa", *_OF_GTID)
# What the kernel's records hold as it is, and by which bit of ``has`` they have the rest.
_STORED = (
    "pos", "end_pos", "server_id", "timestamp", "end_timestamp", "events", "size", "digest",
)  # fmt: skip
_WHERE = {
    "thread_id": THREAD, "xid": XID, "commit_timestamp": COMMIT, "last_committed": _CLOCK,
    "sequence_number": _CLOCK,
}  # fmt: skip


def those(transactions: pa.Table, numbers: Iterable[int | None]) -> pa.Table:
    """Those of a table that have one of the numbers."""
    wanted = pa.array([number for number in numbers if number is not None], pa.int64())
    return transactions.filter(pc.is_in(transactions.column("tx"), wanted))


@dataclass(slots=True)
class _Facts:
    """What Python alone knows of a transaction (see rows/transactions.py)."""

    known: Transaction
    first_query: tuple[int, str] | None = None  # and where it stands

    def add(self, facts: Transaction, at: int) -> None:
        """Take the facts of one event."""
        known = self.known
        for name in _FACTS:
            value = getattr(facts, name)
            if value is not None:
                setattr(known, name, value)
        for name in ("statements", "dml_statements", "row_events"):
            setattr(known, name, getattr(known, name) + getattr(facts, name))
        self.add_query(facts.first_query, at)

    def add_query(self, query: str | None, at: int) -> None:
        """Take the text of a statement."""
        if query and (self.first_query is None or at < self.first_query[0]):
            self.first_query = at, query


@dataclass(slots=True)
class _Pairs:
    """Which tables each transaction touched: (transaction, table) in the order of the log."""

    names: dict[TableId, int] = field(default_factory=dict)
    parts: list[np.ndarray[Any, Any]] = field(default_factory=list)

    def add(self, numbers: np.ndarray[Any, Any], tables: np.ndarray[Any, Any]) -> None:
        """Take pairs; those that come again in one call are left out."""
        pairs = numbers << _NAME_BITS | tables
        _, firsts = np.unique(pairs, return_index=True)
        self.parts.append(pairs[np.sort(firsts)])

    def number(self, name: TableId) -> int:
        """That of a table."""
        return self.names.setdefault(name, len(self.names))

    def lists(self, own: np.ndarray[Any, Any]) -> pa.Array:
        """The tables of each transaction, ``db.table``; numbers grow."""
        texts = text_array([".".join(name) for name in self.names])
        pairs = np.concatenate(self.parts) if self.parts else np.zeros(0, np.int64)
        _, firsts = np.unique(pairs, return_index=True)
        pairs = pairs[np.sort(firsts)]
        of, tables = pairs >> _NAME_BITS, pairs & ((1 << _NAME_BITS) - 1)
        order = np.argsort(of, kind="stable")
        of, tables = of[order], tables[order]
        ends = np.append(own, own[-1:] + 1) if len(own) else np.zeros(1, np.int64)
        offsets = np.searchsorted(of, ends)
        return pa.ListArray.from_arrays(integers(offsets), texts.take(numbers(tables)))


class Transactions:
    """A view of a reading's windows: its transactions."""

    def __init__(self) -> None:
        self._records: list[np.ndarray[Any, Any]] = []
        self._files: list[tuple[int, str]] = []  # from this transaction on
        self._sources: list[tuple[int, str]] = []
        self._repeated: set[int] = set()
        self._end_files: dict[int, str] = {}
        self._facts: dict[int, _Facts] = {}
        self._prepared = Prepared()
        self._decisions: dict[int, Decision] = {}
        self._tables = _Pairs()
        self._counts: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self._next = 0

    # ---- windows ------------------------------------------------------------------------------

    def feed(self, window: Window, rows: np.ndarray[Any, Any] | None = None) -> None:
        """Take the next window; ``rows``: of each entry, None where they are not counted."""
        self._take_records(window)
        self._decisions |= {n: decision for n, _, decision in self._prepared.feed(window)}
        at = 0 if window.stretch is None else window.stretch.ordinal
        for item in window.looked:
            if item.transaction is not None and item.number >= 0:
                facts = self._facts_of(item.number)
                facts.add(item.transaction, at + item.i)
                if isinstance(item.event.body, Gtid):
                    facts.known.gtid = item.event.body.gtid
                for name in item.transaction.tables:
                    table = self._tables.number(name)
                    self._tables.add(np.array([item.number]), np.array([table]))
        if window.stretch is not None:
            self._take_tables(window, window.stretch)
            self._take_queries(window.stretch)
            if rows is not None:
                self._take_counts(window.stretch.entries, rows)

    def _facts_of(self, number: int) -> _Facts:
        return self._facts.setdefault(number, _Facts(Transaction(number)))

    def _take_records(self, window: Window) -> None:
        records, file = window.transactions, window.carrier.name
        if not len(records):
            return
        first = int(records["number"][0])
        if self._records and first < self._next:  # one that was open comes again
            last = self._records.pop()
            self._records.append(last[: first - int(last["number"][0])])
            if next(name for start, name in reversed(self._files) if start <= first) != file:
                self._end_files[first] = file
        new = max(first, self._next)
        self._next = first + len(records)
        for known, name in ((self._files, file), (self._sources, window.source or "")):
            if new < self._next and (not known or known[-1][1] != name):
                known.append((new, name))
        self._records.append(records)
        if window.repeated is not None:
            self._repeated.update(window.repeated.tolist())

    def _take_tables(self, window: Window, stretch: Stretch) -> None:
        entries = stretch.entries
        maps = entries[(entries["type"] == EventType.TABLE_MAP_EVENT) & (entries["slot"] >= 0)]
        if not len(maps):
            return
        slots = maps["slot"]
        names = np.zeros(int(slots.max()) + 1, np.int64)
        for slot in np.unique(slots).tolist():
            schema = window.schemas[slot] if slot < len(window.schemas) else None
            name = schema.name if schema is not None else table_name(stretch, slot)
            names[slot] = self._tables.number(name) if all(name) else -1  # cut short by damage
        inside = (maps["tx"] >= 0) & (names[slots] >= 0)
        self._tables.add(maps["tx"][inside], names[slots[inside]])

    def _take_queries(self, stretch: Stretch) -> None:
        """The first original statement of each transaction."""
        entries = stretch.entries
        found = np.flatnonzero(entries["type"] == EventType.ROWS_QUERY_LOG_EVENT)
        bad = entries["notes"][found] & BAD_CHECKSUM > 0
        found = found[(entries["tx"][found] >= 0) & ~bad]
        _, firsts = np.unique(entries["tx"][found], return_index=True)
        for i in found[firsts].tolist():
            facts = self._facts_of(int(entries["tx"][i]))
            if facts.first_query is None or facts.first_query[0] > stretch.ordinal + i:
                facts.add_query(stretch.query(i), stretch.ordinal + i)

    def _take_counts(self, entries: np.ndarray[Any, Any], rows: np.ndarray[Any, Any]) -> None:
        here = np.flatnonzero(ROWS_EVENTS[entries["type"]] & (rows > 0) & (entries["tx"] >= 0))
        if not len(here):
            return
        numbers, places = np.unique(entries["tx"][here], return_inverse=True)
        sums = np.zeros((len(numbers), 3), np.int64)
        np.add.at(sums, (places, operations(entries["type"][here])), rows[here])
        self._counts.append((numbers, sums))

    def count(self, changes: pa.Table) -> None:
        """Take the rows of each transaction from changes (frames/activity.py)."""
        sums = changes.group_by(["tx", "op"]).aggregate([("rows", "sum")])
        sums = sums.filter(sums.column("tx").is_valid())
        numbers = sums.column("tx").to_numpy()
        counts = np.zeros((len(numbers), 3), np.int64)
        codes = [OPS.index(op) for op in sums.column("op").to_pylist()]
        counts[np.arange(len(numbers)), codes] = sums.column("rows_sum").to_numpy()
        for op in range(len(OPS)):
            here = counts[:, op] > 0
            self._counts.append((numbers[here], counts[here] * (np.arange(len(OPS)) == op)))

    # ---- the table ----------------------------------------------------------------------------

    def finish(
        self,
        filters: Filters | None = None,
        files: Sequence[str] = (),
        decisions: Mapping[int, Decision] | None = None,
        fields: Fields = TRANSACTION,
    ) -> pa.Table:
        """The transactions in log order, prepared ones resolved where these logs say how.

        ``filters``: which are wanted; a position counts by the transaction's start; ``files``: the
        names of the logs that were read; ``decisions``: what became of prepared ones elsewhere;
        ``fields``: also those that an index keeps.
        """
        records = joined(self._records or [np.zeros(0, TRANSACTIONS)])
        columns = self._columns(records, decisions or {})
        schema = arrow_schema(fields)
        made = [columns[field.name].cast(field.type) for field in schema]
        table = pa.Table.from_arrays(made, schema=schema)
        if self._repeated:
            table = table.filter(flags(~np.isin(records["number"], list(self._repeated))))
        if filters is None or filters == Filters():
            return table
        return table.filter(wanted_transactions(table, filters, files))

    def _columns(
        self, records: np.ndarray[Any, Any], decisions: Mapping[int, Decision]
    ) -> dict[str, Any]:
        count, own, has = len(records), records["number"], records["has"]
        counts = self._sums(records)
        facts = self._facts
        outcomes = text_array([str(outcome) for outcome in OUTCOMES])
        row_events = records["row_events"].copy()
        dml = np.zeros(count, np.int64)
        statements = np.zeros(count, np.int64)
        first = int(own[0]) if count else 0
        for number, item in facts.items():
            row_events[number - first] += item.known.row_events
            dml[number - first] = item.known.dml_statements
            statements[number - first] = item.known.statements
        format_of = np.where(
            row_events > 0, np.where(dml > 0, 1, 0), np.where(dml > 0, 2, 3)
        ).astype(np.int32)
        formats = text_array(["row", "mixed", "statement", "none"])
        resolved = {
            number: decision
            for number, decision in {**self._decisions, **decisions}.items()
            if first <= number < first + count
        }
        outcome = records["outcome"].astype(np.int32)
        for number, (how, _, _) in resolved.items():
            outcome[number - first] = OUTCOMES.index(how)
        queries = {n: t.first_query[1] for n, t in facts.items() if t.first_query is not None}
        columns: dict[str, Any] = {name: numbers(records[name]) for name in _STORED}
        columns |= {name: numbers(records[name], there=has & bit) for name, bit in _WHERE.items()}
        columns |= {f"{op}s": numbers(counts[:, i]) for i, op in enumerate(OPS)}
        columns |= {
            "tx": numbers(own),
            "source": _names(self._sources, own),
            "file": _names(self._files, own),
            "end_file": _patched(_names(self._files, own), own, self._end_files),
            "gtid": _texts(gtid_array(records), has & GTID),
            "xa": _sparse(own, {n: t.known.xa for n, t in facts.items()}, pa.string()),
            "original_commit_timestamp": numbers(records["original_timestamp"], there=has & COMMIT),
            "outcome": outcomes.take(numbers(outcome)),
            "resolved_file": _sparse(own, {n: r[1] for n, r in resolved.items()}, pa.string()),
            "resolved_pos": _sparse(own, {n: r[2] for n, r in resolved.items()}, pa.int64()),
            "rows": numbers(counts.sum(axis=1)),
            "tables": self._tables.lists(own),
            "statements": numbers(statements),
            "format": formats.take(numbers(format_of)),
            "compressed": flags(records["notes"] & COMPRESSED > 0),
            "first_query": _sparse(own, queries, pa.string()),
        }
        for name in ("gtid", *_OF_GTID):
            found = {n: getattr(t.known, name) for n, t in facts.items()}
            columns[name] = _patched(columns[name], own, found)
        return columns

    def _sums(self, records: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Inserts, updates and deletes of each transaction."""
        sums = np.zeros((len(records), 3), np.int64)
        first = int(records["number"][0]) if len(records) else 0
        for own, counts in self._counts:
            sums[own - first] += counts
        return sums


def _names(known: list[tuple[int, str]], own: np.ndarray[Any, Any]) -> pa.Array:
    """The name that counts at each transaction."""
    starts = np.array([start for start, _ in known], np.int64)
    places = np.searchsorted(starts, own, side="right") - 1
    return text_array([name for _, name in known]).take(numbers(places))


def _texts(texts: pa.Array, there: np.ndarray[Any, Any]) -> pa.Array:
    if there.all():
        return texts
    return pa.Array.from_buffers(pa.string(), len(texts), [bits(there), *texts.buffers()[1:]])


def _sparse(own: np.ndarray[Any, Any], values: dict[int, Any], kind: pa.DataType) -> pa.Array:
    """The values of few transactions, null for the others."""
    return _patched(pa.nulls(len(own), kind), own, values)


def _patched(column: pa.Array, own: np.ndarray[Any, Any], values: dict[int, Any]) -> pa.Array:
    """A column with the values of some transactions, where they have one."""
    known = sorted((n, value) for n, value in values.items() if value is not None)
    if not known:
        return column
    mask = np.isin(own, [n for n, _ in known])
    there = set(own[mask].tolist())
    found = [value for n, value in known if n in there]
    texts = pa.types.is_string(column.type)
    new = text_array(found) if texts else numbers(np.array(found, np.int64))
    return pc.replace_with_mask(column, flags(mask), new)
