"""What small batches begin with, made for many of them at once.

A log that changes thousands of tables in turns gives batches of a few rows, whose Arrow arrays cost
more than their rows: here the arrays are those of many batches, of which each has its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.native.runs import FACT_NAMES, RUN, Runs
from binlogkit.frames.arrays import nothing, numbers, text_places
from binlogkit.frames.schema import common_types
from binlogkit.frames.transaction_facts import (
    COMMIT,
    GTID,
    THREAD,
    XID,
    TransactionFacts,
    ascending,
    gtid_array,
)

SMALL = 256  # rows of a batch up to which it is small
MOST = 4096  # rows whose arrays are made at once: as long as one batch is kept, all of these are
_RUN = np.dtype(list(RUN))
_GROWING = ("row", "seq")
_OF_TRANSACTIONS = (("commit_timestamp", COMMIT), ("thread_id", THREAD), ("xid", XID))


def facts_of_many(
    many: Sequence[Runs], known: TransactionFacts
) -> Iterator[dict[str, pa.Array]] | None:
    """For each of ``many`` the columns that its events and transactions tell.

    None: they must be made one by one, since some rows stand outside any transaction, or more is
    known of a transaction than the kernel's record.
    """
    runs = np.frombuffer(b"".join([of_one.tobytes() for of_one in many]), _RUN)
    if (runs["tx"] < 0).any():
        return None
    spans = _Spans(many, runs)
    records = known.plain(spans.transactions)
    gtids = None if records is None else _Gtids(records, spans)
    if records is None or gtids is None or not gtids.ascend:
        return None
    columns = _of_events(runs, spans)
    for name, bit in _OF_TRANSACTIONS:
        there = (records["has"] & bit) != 0
        columns[name] = _array(name, records[name][spans.places], there[spans.places])
    columns["xa"] = nothing("xa", text_places(), spans.rows)
    return _cut(columns, gtids, spans)


class _Spans:
    """Where the rows, runs and transactions of each of many begin.

    ``run``: of each row; ``inside``: its place in its run; ``transactions``: the numbers, those of
    each in turn; ``places``: of each row's transaction among them.
    """

    def __init__(self, many: Sequence[Runs], runs: np.ndarray[Any, Any]) -> None:
        counts = np.array([of_one.count for of_one in many])
        self.sizes = [of_one.rows for of_one in many]
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)))
        self.rows = int(self.starts[-1])
        begins = np.cumsum(counts) - counts
        firsts = runs["first"] + np.repeat(self.starts[:-1], counts)
        self.run = np.repeat(np.arange(len(runs)), np.diff(firsts, append=self.rows))
        self.inside = np.arange(self.rows) - firsts[self.run]
        new = np.ones(len(runs), bool)
        new[1:] = runs["tx"][1:] != runs["tx"][:-1]
        new[begins] = True
        self.transactions = runs["tx"][new]
        place = np.cumsum(new) - 1
        self.places = place[self.run]
        self.first_places = [*place[begins].tolist(), len(self.transactions)]


def _of_events(runs: np.ndarray[Any, Any], spans: _Spans) -> dict[str, pa.Array]:
    columns = {}
    for name in FACT_NAMES:
        values = runs[name][spans.run]
        there = values >= 0
        if name in _GROWING:
            values = values + spans.inside
        columns[name] = _array(name, values, there)
    return columns


def _array(name: str, values: np.ndarray[Any, Any], there: np.ndarray[Any, Any]) -> pa.Array:
    kind = common_types()[name]
    return numbers(values, kind, there) if there.any() else nothing(name, kind, len(values))


class _Gtids:
    """The GTIDs of each, as a dictionary of its own."""

    def __init__(self, records: np.ndarray[Any, Any], spans: _Spans) -> None:
        self._there = (records["has"] & GTID) != 0
        self._any = bool(self._there.any())
        self.ascend = True
        if not self._any:
            return
        first = np.zeros(len(records), bool)
        first[spans.first_places[:-1]] = True
        self.ascend = bool(self._there.all()) and ascending(records, first)
        if self.ascend:
            self._texts = gtid_array(records)
            counts = np.diff(spans.first_places)
            begin = np.repeat(spans.first_places[:-1], counts)
            self._places = (spans.places - begin[spans.places]).astype(np.int32)

    def array(self, start: int, rows: int, first: int, last: int) -> pa.Array:
        """Those of ``rows`` rows from ``start`` on, of the transactions first … last - 1."""
        if not self._any:
            return nothing("gtid", text_places(), rows)
        places = pa.py_buffer(self._places[start : start + rows])
        return pa.DictionaryArray.from_buffers(
            text_places(), rows, [None, places], self._texts.slice(first, last - first), 0
        )


def _cut(
    columns: dict[str, pa.Array], gtids: _Gtids, spans: _Spans
) -> Iterator[dict[str, pa.Array]]:
    for i, (start, rows) in enumerate(zip(spans.starts.tolist(), spans.sizes, strict=False)):
        own = {name: array.slice(start, rows) for name, array in columns.items()}
        own["gtid"] = gtids.array(start, rows, *spans.first_places[i : i + 2])
        yield own
