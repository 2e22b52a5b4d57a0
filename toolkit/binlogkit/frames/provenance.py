"""Where row changes come from, as the columns that a batch begins with.

The kernel gives each row its event's facts as integers; what belongs to the row's transaction, log
or original statement is kept once and joined here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.events.gtid_set import format_uuid
from binlogkit.frames.batches import schema_of
from binlogkit.frames.schema import PROVENANCE
from binlogkit.rows.filters import Filters
from binlogkit.rows.pieces import Piece
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.stretches import TRANSACTIONS, Facts
from binlogkit.rows.transactions import Transaction

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Known", "Provenance"]

_GTID, _COMMIT, _THREAD, _XID = 1, 4, 8, 16
_SEQ_SHIFT = 32
_MICROSECOND = 1_000_000
_NONE = -1
_MANY = 1024  # transactions that are worth forgetting


class Known:
    """What is known of transactions, by number."""

    def __init__(self) -> None:
        self._records = np.empty(0, TRANSACTIONS)
        self._new: list[np.ndarray[Any, Any]] = []
        self._ends: dict[int, tuple[int, int]] = {}  # number -> (has, xid) that was read ahead
        self._told: dict[int, Transaction] = {}
        self._facts = Facts()
        self._closed = False
        self._open = _NONE  # the last transaction, where it is open

    def add(self, records: np.ndarray[Any, Any], facts: Facts) -> None:
        """Take what a piece tells; a transaction that was open comes again."""
        self._facts = facts
        self._closed = False
        if len(records):
            self._new.append(records)
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
        self._records, self._new = self._records[:0], []
        self._ends.clear()
        self._told.clear()

    def ended(self, number: int) -> bool:
        """Whether all that can be known of a transaction is."""
        return self._closed or number != self._open or number < 0 or number in self._ends

    def forget(self, number: int) -> None:
        """Nothing before this transaction is asked for any more."""
        oldest = self._records if len(self._records) or not self._new else self._new[0]
        old = number - int(oldest["number"][0]) if len(oldest) else 0
        if old < _MANY or 2 * old < sum(map(len, self._new)) + len(self._records):
            return
        self._join()
        self._records = self._records[old:].copy()
        for facts in (self._ends, self._facts.gtids, self._facts.xa):
            for known in [n for n in facts if n < number]:
                del facts[known]

    def _join(self) -> None:
        if not self._new:
            return
        parts = [self._records]
        for records in self._new:
            parts[-1] = parts[-1][parts[-1]["number"] < records["number"][0]]
            parts.append(records)
        self._records, self._new = np.concatenate(parts), []

    def _of(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Their records; numbers follow one another without gaps."""
        self._join()
        records: np.ndarray[Any, Any] = self._records[numbers - int(self._records["number"][0])]
        return records

    def columns(self, numbers: np.ndarray[Any, Any]) -> dict[str, pa.Array]:
        """``gtid``, ``commit_timestamp``, ``thread_id``, ``xid``, ``xa`` of transactions, sorted
        by number; -1 for rows outside any."""
        import pyarrow as pa

        records = np.zeros(len(numbers), TRANSACTIONS)
        inside = numbers >= 0
        records[inside] = self._of(numbers[inside]) if inside.any() else records[inside]
        for i, number in enumerate(numbers.tolist()) if self._ends else ():
            if number in self._ends:
                has, records["xid"][i] = self._ends[number]
                records["has"][i] |= has
        columns = {
            "gtid": _gtids(records),
            "commit_timestamp": _nullable(
                records["commit_timestamp"], records["has"] & _COMMIT, pa.int64()
            ),
            "thread_id": _nullable(records["thread_id"], records["has"] & _THREAD, pa.int64()),
            "xid": _nullable(records["xid"], records["has"] & _XID, pa.uint64()),
            "xa": pa.nulls(len(numbers), pa.string()),
        }
        return self._corrected(columns, numbers.tolist())

    def _corrected(self, columns: dict[str, pa.Array], numbers: list[int]) -> dict[str, pa.Array]:
        """The columns with what the kernel does not know of some transactions."""
        import pyarrow as pa

        facts = self._facts
        rare = set(numbers) & (facts.gtids.keys() | facts.xa.keys() | self._told.keys())
        if not rare:
            return columns
        values = {name: array.to_pylist() for name, array in columns.items()}
        for i, number in enumerate(numbers):
            if number in facts.gtids:
                values["gtid"][i], values["commit_timestamp"][i] = facts.gtids[number]
            if number in facts.xa:
                values["xa"][i] = facts.xa[number]
            for name in values if number in self._told else ():
                values[name][i] = getattr(self._told[number], name)
        return {name: pa.array(values[name], array.type) for name, array in columns.items()}

    def wanted(
        self, filters: Filters, tx: np.ndarray[Any, Any], timestamps: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Which events the filters want by their transaction."""
        numbers, places = np.unique(tx, return_inverse=True)
        facts = self.columns(numbers)
        good = np.ones(len(numbers), bool)
        if filters.gtids is not None:
            texts = facts["gtid"].to_pylist()
            good &= [text is not None and text in filters.gtids for text in texts]
        if filters.threads:
            good &= [thread in filters.threads for thread in facts["thread_id"].to_pylist()]
        wanted = good[places]
        if filters.start_time is not None or filters.stop_time is not None:
            commits = np.array(facts["commit_timestamp"].fill_null(_NONE))[places]
            moments = np.where(commits < 0, timestamps.astype(np.int64) * _MICROSECOND, commits)
            if filters.start_time is not None:
                wanted &= moments >= filters.start_time
            if filters.stop_time is not None:
                wanted &= moments < filters.stop_time
        return wanted


def _nullable(values: np.ndarray[Any, Any], has: np.ndarray[Any, Any], kind: Any) -> pa.Array:
    import pyarrow as pa

    return pa.array(np.ascontiguousarray(values), kind, mask=has == 0)


def _gtids(records: np.ndarray[Any, Any]) -> pa.Array:
    """``uuid:number`` of each, null for an anonymous one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    has = (records["has"] & _GTID) != 0
    if not has.any():
        return pa.nulls(len(records), pa.string())
    numbers = pc.cast(pa.array(np.ascontiguousarray(records["gno"]), mask=~has), pa.string())
    sids, places = np.unique(records["sid"], return_inverse=True)
    uuids = pa.array([format_uuid(bytes(sid)) for sid in sids])
    return pc.binary_join_element_wise(uuids.take(pa.array(places)), numbers, ":")


class Provenance:
    """The logs and original statements that rows came from, by the ordinals of their events."""

    def __init__(self, source: str | None) -> None:
        self._source = source
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

    def forget(self, ordinal: int) -> None:
        """No event before this one is asked for any more."""
        for known in (self._files, self._queries):
            del known[: max(0, bisect_right(known, ordinal, key=_ordinal) - 1)]

    def batch(
        self, schema: TableSchema, arrays: dict[str, pa.Array], known: Known
    ) -> pa.RecordBatch:
        """The rows in the canonical schema."""
        import pyarrow as pa

        kind = schema_of(schema)
        rows = len(arrays["op"])
        seq, tx = arrays["seq"].to_numpy(), arrays["tx"].to_numpy()
        facts = dict(arrays)
        numbers, places = np.unique(tx, return_inverse=True)
        indices = pa.array(places.astype(np.int32))
        for name, values in known.columns(numbers).items():
            facts[name] = _spread(values, indices, kind.field(name).type)
        ordinals = seq >> _SEQ_SHIFT
        facts["file"] = _looked_up(self._files, ordinals)
        facts["query"] = _looked_up(self._queries, ordinals)
        facts["source"] = _constant(self._source, rows)
        facts["db"], facts["table"] = _constant(schema.db, rows), _constant(schema.table, rows)
        inner = arrays["inner"].to_numpy()
        facts["inner"] = pa.array(inner.astype(np.int32), mask=inner < 0)
        facts["row"] = pa.array(arrays["row"].to_numpy().astype(np.int32))
        facts["tx"] = pa.array(tx, mask=tx < 0) if len(tx) and tx.min() < 0 else arrays["tx"]
        names = (*PROVENANCE, "seq", "tx", "before", "after", "before_state", "after_state", "raw")
        return pa.RecordBatch.from_arrays([facts[name] for name in names], schema=kind)


def _ordinal(known: tuple[int, str | None]) -> int:
    return known[0]


def _spread(values: pa.Array, indices: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values of transactions, for their rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(kind):
        return values.take(indices)
    coded = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(pc.take(coded.indices, indices), coded.dictionary)


def _constant(text: str | None, rows: int) -> pa.DictionaryArray:
    import pyarrow as pa

    if text is None:
        return pa.nulls(rows, pa.dictionary(pa.int32(), pa.string()))
    zeros = pa.array(np.zeros(rows, np.int32))
    return pa.DictionaryArray.from_arrays(zeros, pa.array([text]))


def _looked_up(
    known: Sequence[tuple[int, str | None]], ordinals: np.ndarray[Any, Any]
) -> pa.DictionaryArray:
    """The text that counts at each ordinal."""
    import pyarrow as pa

    if not known:
        return _constant(None, len(ordinals))
    starts = np.array([start for start, _ in known])
    places = np.searchsorted(starts, ordinals, side="right") - 1
    used, indices = np.unique(places, return_inverse=True)
    texts = pa.array([None if i < 0 else known[i][1] for i in used.tolist()], pa.string())
    coded = texts.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        coded.indices.take(pa.array(indices.astype(np.int32))), coded.dictionary
    )
