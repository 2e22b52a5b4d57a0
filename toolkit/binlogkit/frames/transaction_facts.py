"""What is known of transactions, by number: the facts that all their rows share.

A piece of the log names those that begin or continue in it; how one ends stands after its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.native.runs import Runs, gtid_texts
from binlogkit.frames.arrays import FEW, buffer, nothing, one_number, places_of, text_array
from binlogkit.rows.filters import Filters
from binlogkit.rows.window import TRANSACTIONS, PythonFacts

#: What a transaction of the kernel's has: bits of ``has``.
GTID, COMMIT, THREAD, XID = 1, 4, 8, 16
_MICROSECOND = 1_000_000
_NONE = -1
_MOST = (1 << 63) - 1
_JOINED = ("gtid", "commit_timestamp", "thread_id", "xid", "xa")


class TransactionFacts:
    """What is known of transactions, by number."""

    def __init__(self) -> None:
        self._records = np.zeros(0, TRANSACTIONS)  # in order
        self._ends: dict[int, tuple[int, int]] = {}  # number -> (has, xid) that was read ahead
        self._facts = PythonFacts()
        self._open = _NONE  # the last transaction, where it is open

    def add(self, records: np.ndarray[Any, Any], facts: PythonFacts) -> None:
        """Take the facts of a piece; a transaction that was open comes again."""
        self._facts.gtids.update(facts.gtids)
        self._facts.xa.update(facts.xa)
        if not len(records):
            return
        kept = self._records[: self._at(int(records["number"][0]))]
        self._records = joined([kept, records]) if len(kept) else records
        self._open = self.last if records["open"][-1] else _NONE

    def take_xid(self, number: int, xid: int | None) -> None:
        """Take the XID of a transaction that was read ahead, None where it has none."""
        self._ends[number] = (0 if xid is None else XID, xid or 0)

    def record(self, number: int) -> np.void:
        """What the kernel knows of a transaction."""
        record: np.void = self._records[self._at(number)]
        return record

    def _at(self, number: int) -> int:
        """Where a transaction's record stands, or would stand."""
        return int(self._places(np.array([number]))[0])

    def _places(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The same of several; a reading that leaves parts of logs out has gaps."""
        known, count = self._records["number"], len(self._records)
        if count and int(known[-1]) - int(known[0]) == count - 1:
            near: np.ndarray[Any, Any] = np.clip(numbers - int(known[0]), 0, count)
            return near
        return np.searchsorted(known, numbers)

    @property
    def last(self) -> int:
        """The last transaction, -1 where none is known."""
        return int(self._records["number"][-1]) if len(self._records) else _NONE

    def reset(self) -> None:
        """Nothing of what was said is asked for any more."""
        self._records = self._records[:0]
        self._ends.clear()

    def ended(self, number: int) -> bool:
        """Whether all that can be known of a transaction is."""
        return number != self._open or number < 0 or number in self._ends

    def forget(self, number: int) -> None:
        """Nothing before this transaction is asked for any more, but for a last one."""
        if not len(self._records):
            return
        number = min(number, self.last)
        self._records = self._records[self._at(number) :]
        for old in [n for n in self._ends if n < number]:
            del self._ends[old]
        self._facts.forget(number)

    def columns(self, numbers: np.ndarray[Any, Any]) -> dict[str, PerTransaction]:
        """``gtid``, ``commit_timestamp``, ``thread_id``, ``xid``, ``xa`` of transactions that are
        sorted by number."""
        if not len(numbers):
            return {name: PerTransaction.of([]) for name in _JOINED}
        places = self._places(numbers)
        first, last = int(places[0]), int(places[-1])
        whole = last - first == len(numbers) - 1
        records = self._records[slice(first, last + 1) if whole else places]
        has = records["has"]
        columns = {
            "gtid": _gtids(records),
            "commit_timestamp": PerTransaction(records["commit_timestamp"], has & COMMIT),
            "thread_id": PerTransaction(records["thread_id"], has & THREAD),
            "xid": PerTransaction(records["xid"], has & XID),
            "xa": PerTransaction(np.zeros(len(numbers), np.int32), np.zeros(len(numbers), bool)),
        }
        if self._ends or self._facts.gtids or self._facts.xa:
            self._correct(columns, numbers.tolist())
        return columns

    def of_events(self, name: str, tx: np.ndarray[Any, Any]) -> list[Any]:
        """One of these facts of each event's transaction, None outside of any."""
        numbers, places = np.unique(tx, return_inverse=True)
        outside = [None] * int(np.count_nonzero(numbers < 0))
        known = outside + self.columns(numbers[len(outside) :])[name].to_list()
        return [known[i] for i in places.tolist()]

    def _correct(self, columns: dict[str, PerTransaction], numbers: list[int]) -> None:
        """Put into the columns what the kernel does not know of some transactions."""
        facts = self._facts
        rare = (facts.gtids, facts.xa, self._ends)
        if all(known.keys().isdisjoint(numbers) for known in rare):
            return
        values = {name: column.to_list() for name, column in columns.items()}
        for i, number in enumerate(numbers):
            if number in facts.gtids:
                values["gtid"][i], values["commit_timestamp"][i] = facts.gtids[number]
            if number in facts.xa:
                values["xa"][i] = facts.xa[number]
            if number in self._ends and self._ends[number][0] & XID:
                values["xid"][i] = self._ends[number][1]
        columns.update((name, PerTransaction.of(values[name])) for name in values)

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
        if filters.at is not None:
            begins = self._records["pos"][self._places(numbers[len(outside) :])]
            good &= np.append(np.zeros(len(outside), bool), begins == filters.at[1])
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
class PerTransaction:
    """A value per transaction, where ``there`` is not 0; of ``texts`` the places."""

    values: np.ndarray[Any, Any]
    there: np.ndarray[Any, Any]
    texts: pa.Array | None = None

    @classmethod
    def of(cls, values: list[Any]) -> PerTransaction:
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
        if not self.there.any():
            return nothing(name, kind, runs.rows)
        flags = np.ascontiguousarray(self.there).view(np.uint8)
        nulls, validity = runs.valid(flags.data)
        values = self.values
        often = not nulls and kind == pa.int64() and runs.rows >= FEW * len(values)
        if often and (values == values[0]).all():
            return one_number(int(values[0]), runs.rows)
        bits = None if validity is None else buffer(validity)
        if self.texts is None:
            block = runs.spread(np.ascontiguousarray(self.values).data, 8)
            return pa.Array.from_buffers(kind, runs.rows, [bits, buffer(block)], nulls)
        block = runs.spread(np.ascontiguousarray(self.values).data, 4)
        return pa.DictionaryArray.from_buffers(
            kind, runs.rows, [bits, buffer(block)], self.texts, nulls
        )


def joined(parts: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Records in one array, as bytes: numpy copies them field by field, which takes long."""
    return np.concatenate([part.view(np.uint8) for part in parts]).view(TRANSACTIONS)


def _gtids(records: np.ndarray[Any, Any]) -> PerTransaction:
    """``uuid:number`` of each, none for an anonymous one."""
    count = len(records)
    there = records["has"] & GTID
    if not there.any():
        return PerTransaction(np.zeros(count, np.int32), there)
    texts = gtid_array(records)
    one_source = (records["sid"][1:] == records["sid"][:-1]).all()
    if there.all() and one_source and (np.diff(records["gno"]) > 0).all():  # none is there twice
        return PerTransaction(np.arange(count, dtype=np.int32), there, texts)
    coded = texts.dictionary_encode()
    return PerTransaction(places_of(coded), there, coded.dictionary)


def gtid_array(records: np.ndarray[Any, Any]) -> pa.Array:
    """``uuid:number`` of each transaction; empty for an anonymous one."""
    offsets, characters = gtid_texts(np.ascontiguousarray(records).data, GTID)
    buffers = [None, buffer(offsets), buffer(characters)]
    return pa.Array.from_buffers(pa.string(), len(records), buffers, 0)
