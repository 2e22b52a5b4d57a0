"""Where row changes come from, as the columns that a batch begins with.

The kernel gives each row its event's facts as integers; what belongs to the row's transaction, log
or original statement is kept once and joined here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit._kernel.native.runs import FACT_NAMES, RUN, Runs, gtid_texts
from binlogkit.frames.arrays import (
    buffer,
    constant,
    integers,
    nothing,
    places_of,
    text_array,
)
from binlogkit.frames.batches import schema_of
from binlogkit.frames.schema import PROVENANCE
from binlogkit.rows.filters import Filters
from binlogkit.rows.pieces import Piece
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.stretches import Facts
from binlogkit.rows.transactions import Transaction

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Known", "Provenance"]

_GTID, _COMMIT, _THREAD, _XID = 1, 4, 8, 16
_SEQ_SHIFT = 32
_MICROSECOND = 1_000_000
_NONE = -1
_MOST = (1 << 63) - 1
_KEPT = 64  # schemas
_RUN = np.dtype(list(RUN))
_JOINED = ("gtid", "commit_timestamp", "thread_id", "xid", "xa")
_NAMES = (*PROVENANCE, "seq", "tx", "before", "after", "before_state", "after_state", "raw")


class Known:
    """What is known of transactions, by number."""

    def __init__(self) -> None:
        # In order, without gaps: what each piece told, less a last one that came again.
        self._parts: list[np.ndarray[Any, Any]] = []
        self._ends: dict[int, tuple[int, int]] = {}  # number -> (has, xid) that was read ahead
        self._told: dict[int, Transaction] = {}
        self._facts = Facts()
        self._closed = False
        self._open = _NONE  # the last transaction, where it is open

    def add(self, records: np.ndarray[Any, Any], facts: Facts) -> None:
        """Take what a piece tells; a transaction that was open comes again."""
        self._facts = facts
        self._closed = False
        if not len(records):
            return
        while self._parts and self._parts[-1]["number"][-1] >= records["number"][0]:
            last = self._parts.pop()
            kept = last[: int(records["number"][0]) - int(last["number"][0])]
            if len(kept):
                self._parts.append(kept)
                break
        self._parts.append(records)
        self._open = int(records["number"][-1]) if records["open"][-1] else _NONE

    def take(self, transaction: Transaction) -> None:
        """Take a transaction that was read event by event, beyond its part that was scanned."""
        self._told[transaction.number] = transaction

    def take_ahead(self, found: np.ndarray[Any, Any] | Transaction, number: int) -> bool:
        """Take what was read ahead of a transaction; whether it has ended there."""
        if isinstance(found, Transaction):
            if found.number == number:
                self._ends[number] = (0 if found.xid is None else _XID, found.xid or 0)
            return found.number >= number
        ended = found[(found["number"] == number) & (found["open"] == 0)]
        for record in ended:
            self._ends[number] = (int(record["has"]), int(record["xid"]))
        return bool(len(ended))

    def close(self) -> None:
        """No more is known of any."""
        self._closed = True

    def reset(self) -> None:
        """Nothing of what was told is asked for any more."""
        self._parts.clear()
        self._ends.clear()
        self._told.clear()

    def ended(self, number: int) -> bool:
        """Whether all that can be known of a transaction is."""
        return self._closed or number != self._open or number < 0 or number in self._ends

    def forget(self, number: int) -> None:
        """Nothing before this transaction is asked for any more, but for a last one."""
        while len(self._parts) > 1 and self._parts[1]["number"][0] <= number:
            del self._parts[0]
        if not self._parts:
            return
        number = min(number, int(self._parts[0]["number"][0]))
        for kept in (self._ends, self._facts.gtids, self._facts.xa):
            for old in [n for n in kept if n < number]:
                del kept[old]

    def _of(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Their records; the numbers are sorted, and known."""
        first, last = int(numbers[0]), int(numbers[-1])
        found = []
        for part in self._parts:
            start = int(part["number"][0])
            if start <= last and start + len(part) > first:
                found.append(part[max(first - start, 0) : last - start + 1])
        records: np.ndarray[Any, Any] = found[0] if len(found) == 1 else np.concatenate(found)
        return records if len(records) == len(numbers) else records[numbers - first]

    def columns(self, numbers: np.ndarray[Any, Any]) -> dict[str, _PerTransaction]:
        """``gtid``, ``commit_timestamp``, ``thread_id``, ``xid``, ``xa`` of transactions that are
        sorted by number."""
        if not len(numbers):
            return {name: _PerTransaction.of([]) for name in _JOINED}
        records = self._of(numbers)
        has = records["has"]
        columns = {
            "gtid": _gtids(records),
            "commit_timestamp": _PerTransaction(records["commit_timestamp"], has & _COMMIT),
            "thread_id": _PerTransaction(records["thread_id"], has & _THREAD),
            "xid": _PerTransaction(records["xid"], has & _XID),
            "xa": _PerTransaction(np.zeros(len(numbers), np.int32), np.zeros(len(numbers), bool)),
        }
        if self._ends or self._told or self._facts.gtids or self._facts.xa:
            self._correct(columns, numbers.tolist())
        return columns

    def _correct(self, columns: dict[str, _PerTransaction], numbers: list[int]) -> None:
        """Put into the columns what the kernel does not know of some transactions."""
        facts = self._facts
        rare = facts.gtids.keys() | facts.xa.keys() | self._told.keys() | self._ends.keys()
        if rare.isdisjoint(numbers):
            return
        values = {name: column.to_list() for name, column in columns.items()}
        for i, number in enumerate(numbers):
            if number in facts.gtids:
                values["gtid"][i], values["commit_timestamp"][i] = facts.gtids[number]
            if number in facts.xa:
                values["xa"][i] = facts.xa[number]
            if number in self._ends and self._ends[number][0] & _XID:
                values["xid"][i] = self._ends[number][1]
            for name in values if number in self._told else ():
                values[name][i] = getattr(self._told[number], name)
        columns.update((name, _PerTransaction.of(values[name])) for name in values)

    def wanted(
        self, filters: Filters, tx: np.ndarray[Any, Any], timestamps: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Which events the filters want by their transaction."""
        numbers, places = np.unique(tx, return_inverse=True)
        outside = [None] * int(np.count_nonzero(numbers < 0))
        facts = self.columns(numbers[len(outside) :])
        good = np.ones(len(numbers), bool)
        if filters.gtids is not None:
            texts = outside + facts["gtid"].to_list()
            good &= [text is not None and text in filters.gtids for text in texts]
        if filters.threads:
            threads = outside + facts["thread_id"].to_list()
            good &= [thread in filters.threads for thread in threads]
        wanted = good[places]
        if filters.start_time is not None or filters.stop_time is not None:
            known = outside + facts["commit_timestamp"].to_list()
            commits = np.array([_NONE if moment is None else moment for moment in known])[places]
            moments = np.where(commits < 0, timestamps.astype(np.int64) * _MICROSECOND, commits)
            if filters.start_time is not None:
                wanted &= moments >= filters.start_time
            if filters.stop_time is not None:
                wanted &= moments < filters.stop_time
        return wanted


@dataclass(frozen=True, slots=True)
class _PerTransaction:
    """A value per transaction, where ``there`` is not 0; of ``texts`` the places."""

    values: np.ndarray[Any, Any]
    there: np.ndarray[Any, Any]
    texts: pa.Array | None = None

    @classmethod
    def of(cls, values: list[Any]) -> _PerTransaction:
        there = np.array([value is not None for value in values], bool)
        if any(isinstance(value, str) for value in values):
            coded = text_array(["" if value is None else value for value in values])
            coded = coded.dictionary_encode()
            return cls(places_of(coded), there, coded.dictionary)
        wide = any(value is not None and value > _MOST for value in values)
        numbers = [value or 0 for value in values]
        return cls(np.array(numbers, np.uint64 if wide else np.int64), there)

    def to_list(self) -> list[Any]:
        """The values, None where there is none."""
        values = self.values.tolist()
        if self.texts is not None:
            texts = self.texts.to_pylist()
            values = [texts[i] for i in values]
        return [v if t else None for v, t in zip(values, self.there.tolist(), strict=True)]

    def array(self, runs: Runs, name: str, kind: pa.DataType) -> pa.Array:
        """The values of the rows."""
        import pyarrow as pa

        if not self.there.any():
            return nothing(name, kind, runs.rows)
        flags = np.ascontiguousarray(self.there).view(np.uint8)
        nulls, validity = runs.valid(flags.data)
        bits = None if validity is None else buffer(validity)
        if self.texts is None:
            block = runs.spread(np.ascontiguousarray(self.values).data, 8)
            return pa.Array.from_buffers(kind, runs.rows, [bits, buffer(block)], nulls)
        block = runs.spread(np.ascontiguousarray(self.values).data, 4)
        return pa.DictionaryArray.from_buffers(
            kind, runs.rows, [bits, buffer(block)], self.texts, nulls
        )


def _gtids(records: np.ndarray[Any, Any]) -> _PerTransaction:
    """``uuid:number`` of each, none for an anonymous one."""
    import pyarrow as pa

    count = len(records)
    there = records["has"] & _GTID
    if not there.any():
        return _PerTransaction(np.zeros(count, np.int32), there)
    offsets, characters = gtid_texts(records.tobytes(), _GTID)
    texts = pa.Array.from_buffers(
        pa.string(), count, [None, buffer(offsets), buffer(characters)], 0
    )
    if there.all() and _ascend(records):
        return _PerTransaction(np.arange(count, dtype=np.int32), there, texts)
    coded = texts.dictionary_encode()
    return _PerTransaction(places_of(coded), there, coded.dictionary)


def _ascend(records: np.ndarray[Any, Any]) -> bool:
    """Whether all are of one source, their numbers growing: then none is there twice."""
    sids = np.ascontiguousarray(records["sid"]).view("<u8").reshape(-1, 2)
    return bool((sids == sids[0]).all() and (np.diff(records["gno"]) > 0).all())


class Provenance:
    """The logs and original statements that rows came from, by the ordinals of their events."""

    def __init__(self, source: str | None, columns: frozenset[str] | None = None) -> None:
        self._source = source
        self._columns = columns
        self._schemas: dict[int, tuple[TableSchema, pa.Schema]] = {}
        self._files: list[tuple[int, str]] = []
        self._queries: list[tuple[int, str | None]] = []  # from this ordinal on
        self._query: str | None = None
        self._tx = _NONE

    def add(self, piece: Piece) -> None:
        """Take what a piece tells."""
        stretch = piece.stretch
        assert stretch is not None
        if not self._files or self._files[-1][1] != piece.carrier.name:
            self._files.append((stretch.ordinal, piece.carrier.name))
        for i, query in stretch.queries(self._query, self._tx):
            self._query = query
            self._queries.append((stretch.ordinal + i, query))
        self._tx = int(stretch.entries["tx"][-1])

    @property
    def size(self) -> int:
        """The characters of the statements that are kept."""
        return sum(len(query) for _, query in self._queries if query is not None)

    def forget(self, ordinal: int) -> None:
        """No event before this one is asked for any more."""
        for known in (self._files, self._queries):
            del known[: max(0, bisect_right(known, ordinal, key=_ordinal) - 1)]

    def batch(
        self, schema: TableSchema, arrays: dict[str, pa.Array], runs: Runs, known: Known
    ) -> pa.RecordBatch:
        """The rows in the canonical schema."""
        import pyarrow as pa

        kind = self._schema(schema)
        rows = runs.rows
        facts = dict(arrays)
        for which, name in enumerate(FACT_NAMES):
            facts[name] = _fact(runs, which, kind.field(name).type)
        numbers = np.frombuffer(runs.numbers(), np.int64)
        for name, column in known.columns(numbers).items():
            facts[name] = column.array(runs, name, kind.field(name).type)
        facts["file"] = _looked_up(self._files, runs)
        facts["query"] = _looked_up(self._queries, runs)
        facts["source"] = constant(self._source, rows)
        facts["db"], facts["table"] = constant(schema.db, rows), constant(schema.table, rows)
        return pa.RecordBatch.from_arrays([facts[name] for name in _NAMES], schema=kind)

    def _schema(self, schema: TableSchema) -> pa.Schema:
        known = self._schemas.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._schemas) > _KEPT:
                self._schemas.clear()
            known = self._schemas[id(schema)] = (schema, schema_of(schema, self._columns))
        return known[1]


def _ordinal(known: tuple[int, str | None]) -> int:
    return known[0]


def _fact(runs: Runs, which: int, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    nulls, validity = runs.missing(which)
    if nulls == runs.rows:
        return nothing(FACT_NAMES[which], kind, nulls)
    bits = None if validity is None else buffer(validity)
    return pa.Array.from_buffers(kind, runs.rows, [bits, buffer(runs.fact(which))], nulls)


def _looked_up(known: Sequence[tuple[int, str | None]], runs: Runs) -> pa.DictionaryArray:
    """The text that counts at each row's event; ``known``: texts from an ordinal on."""
    import pyarrow as pa

    rows = runs.rows
    if not known or not rows:
        return constant(None, rows)
    if len(known) == 1 and known[0][0] <= runs.first_seq >> _SEQ_SHIFT:
        return constant(known[0][1], rows)
    ordinals = np.frombuffer(runs.tobytes(), _RUN)["seq"] >> _SEQ_SHIFT
    starts = np.array([start for start, _ in known])
    places = np.searchsorted(starts, ordinals, side="right") - 1
    used, indices = np.unique(places, return_inverse=True)
    texts = [None if i < 0 else known[i][1] for i in used.tolist()]
    if len(texts) == 1:
        return constant(texts[0], rows)
    coded = text_array(texts).dictionary_encode()
    of_runs = coded.indices.take(integers(indices))
    of_rows = runs.spread_runs(np.arange(runs.count, dtype=np.int32).data)
    every = pa.Array.from_buffers(pa.int32(), rows, [None, buffer(of_rows)])
    return pa.DictionaryArray.from_arrays(of_runs.take(every), coded.dictionary)
