"""Where row changes come from, as the columns that a batch begins with.

The kernel gives each row its event's facts as integers; what belongs to the row's transaction, log
or original statement is kept once and joined here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit._kernel.native.runs import FACT_NAMES, RUN, Runs
from binlogkit.constants import TableId
from binlogkit.frames.arrays import FEW, buffer, constant, integers, nothing, one_number, text_array
from binlogkit.frames.fields.field import names
from binlogkit.frames.fields.rows import BATCH
from binlogkit.frames.kernel_columns import TakenBuffers
from binlogkit.frames.log_order import in_log_order
from binlogkit.frames.schema import DIGESTS, common_types
from binlogkit.frames.transaction_facts import TransactionFacts
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.window import Window

_NONE = -1
_SEQ_SHIFT = 32
_KEPT_LAYOUTS = 1000  # of a window's tables: each column takes a kilobyte
_OFTEN_SAME = ("timestamp", "server_id")
_RUN = np.dtype(list(RUN))
_NAMES = names(BATCH)
#: Rows of a version of a table.
Versioned: TypeAlias = tuple[TableSchema, pa.RecordBatch]


class Provenance:
    """The logs and original statements that rows came from, by the ordinals of their events."""

    def __init__(self) -> None:
        self._files: list[tuple[int, str | None]] = []
        self._sources: list[tuple[int, str | None]] = []
        self._queries: list[tuple[int, str | None]] = []  # from this ordinal on
        self._query: str | None = None
        self._tx = _NONE

    def add(self, window: Window) -> None:
        """Take the facts of a window."""
        stretch = window.stretch
        assert stretch is not None
        for known, name in ((self._files, window.carrier.name), (self._sources, window.source)):
            if not known or known[-1][1] != name:
                known.append((stretch.ordinal, name))
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
        for known in (self._files, self._sources, self._queries):
            del known[: max(0, bisect_right(known, ordinal, key=itemgetter(0)) - 1)]

    def batches(self, tables: deque[TakenBuffers], known: TransactionFacts) -> Iterator[Versioned]:
        """Each of the tables' rows in the canonical schema, in log order per table; what was handed
        over is let go."""
        many = len(tables) > _KEPT_LAYOUTS
        versions = Counter(taken.schema.name for taken in tables)
        held: dict[TableId, list[Versioned]] = {}
        while tables:
            taken = tables.popleft()
            found, name = (taken.schema, self._batch(taken, known)), taken.schema.name
            if many:
                taken.plan.layout = None
            if versions[name] == 1:
                yield found
                continue
            held.setdefault(name, []).append(found)
            if len(held[name]) == versions[name]:
                own = held.pop(name)
                for number, batch in in_log_order([batch for _, batch in own]):
                    yield own[number][0], batch

    def _batch(self, taken: TakenBuffers, known: TransactionFacts) -> pa.RecordBatch:
        rows, schema = taken.rows, taken.schema
        facts = _facts(taken.runs, known) | taken.columns()
        facts["file"] = _looked_up(self._files, taken.runs)
        facts["query"] = _looked_up(self._queries, taken.runs)
        facts["source"] = _looked_up(self._sources, taken.runs)
        facts["db"], facts["table"] = constant(schema.db, rows), constant(schema.table, rows)
        arrays, fields = [facts[name] for name in _NAMES], taken.layout.schema
        for name, array in zip(DIGESTS, taken.digests(), strict=False):
            arrays.append(array)
            fields = fields.append(pa.field(name, array.type))
        return pa.RecordBatch.from_arrays(arrays, schema=fields)


def _facts(runs: Runs, known: TransactionFacts) -> dict[str, pa.Array]:
    """The columns that the rows' events and transactions give."""
    types, same = common_types(), _same(runs)
    facts = {
        name: one_number(same[name], runs.rows) if name in same else _fact(runs, which, types[name])
        for which, name in enumerate(FACT_NAMES)
    }
    numbers = np.frombuffer(runs.numbers(), np.int64)
    for name, column in known.columns(numbers).items():
        facts[name] = column.array(runs, name, types[name])
    return facts


def _same(runs: Runs) -> dict[str, int]:
    """What all rows have in common of what often is; not looked for where that takes as long as
    writing it."""
    if runs.rows < FEW * runs.count:
        return {}
    events = np.frombuffer(runs.tobytes(), _RUN)
    return {
        name: int(events[name][0])
        for name in _OFTEN_SAME
        if (events[name] == events[name][0]).all()
    }


def _fact(runs: Runs, which: int, kind: pa.DataType) -> pa.Array:
    nulls, validity = runs.missing(which)
    if nulls == runs.rows:
        return nothing(FACT_NAMES[which], kind, nulls)
    bits = None if validity is None else buffer(validity)
    return pa.Array.from_buffers(kind, runs.rows, [bits, buffer(runs.fact(which))], nulls)


def _looked_up(known: Sequence[tuple[int, str | None]], runs: Runs) -> pa.DictionaryArray:
    """The text that counts at each row's event; ``known``: texts from an ordinal on."""
    rows = runs.rows
    if not known or not rows:
        return constant(None, rows)
    if len(known) == 1 and known[0][0] <= runs.first_seq >> _SEQ_SHIFT:
        return constant(known[0][1], rows)
    events = np.frombuffer(runs.tobytes(), _RUN)
    ordinals = events["seq"] >> _SEQ_SHIFT
    starts = np.array([start for start, _ in known])
    places = np.searchsorted(starts, ordinals, side="right") - 1
    used, indices = np.unique(places, return_inverse=True)
    texts = [None if i < 0 else known[i][1] for i in used.tolist()]
    if len(texts) == 1:
        return constant(texts[0], rows)
    coded = text_array(texts).dictionary_encode()
    of_rows = np.repeat(indices, np.diff(events["first"], append=rows))
    return pa.DictionaryArray.from_arrays(coded.indices.take(integers(of_rows)), coded.dictionary)
