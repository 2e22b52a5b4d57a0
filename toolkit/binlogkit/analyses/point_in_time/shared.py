"""States on Spark: tasks read the changes, exchange them by shares of keys, and fold each share.

Canonical batches cross between tasks as bytes (parcels.py); they are folded as on one machine
(inputs.py). The driver gets only where parcels begin and end, which keys updates connect, and each
share's result; changes and rows stay with the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses._frames import canonical_schema, image_fields, lazy
from binlogkit.analyses._tasks import Batches, SparkTasks, Tasks, packed, row, rows, unpacked
from binlogkit.analyses.point_in_time.batches import needed_columns
from binlogkit.analyses.point_in_time.codes import decoded
from binlogkit.analyses.point_in_time.divided import (
    ShareResult,
    Switch,
    findings_of,
    fold_share,
    merged,
)
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.parcels import in_order, parcels
from binlogkit.analyses.point_in_time.replay_inputs import ReplayInputs
from binlogkit.analyses.point_in_time.shares import Connected, divisible, may_divide, touched
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.arrow_types import carried_schema

#: What tasks hand on: parcels, the places of a table's in one layout, their columns, keys that
#: updates connect; then rows of a state, and a share's other results.
PARCEL, PLACE, LAYOUT, EDGES = "parcel", "place", "layout", "edges"
ROWS, RESULT = "rows", "result"
_PARCELS = pa.schema(
    [
        ("what", pa.string()), ("at", pa.int64()), ("last", pa.int64()), ("db", pa.string()),
        ("name", pa.string()), ("layout", pa.string()), ("size", pa.int64()),
        ("data", pa.binary()),
    ]
)  # fmt: skip
SHARES = pa.schema(  # a part of a share: ``at`` and ``last`` order it
    [("share", pa.int64()), ("at", pa.int64()), ("last", pa.int64()), ("data", pa.binary())]
)
_FOLDED = pa.schema([("what", pa.string()), ("text", pa.string()), ("data", pa.binary())])
_ORDER = "_order"
_MOST_EDGES = 1 << 17  # of one task
_SHARE_BYTES = 64 << 20  # of changes, as parcels


@dataclass(frozen=True, slots=True)
class Shared:
    """Changes held by a cluster's tasks.

    ``changes`` makes canonical batches of ``tasks``' batches, of any columns; ``schema``: of one of
    them.
    """

    tasks: Tasks
    changes: Callable[[Batches], Batches]
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class FoldedState:
    """A state held by the tasks: its facts in ``result``, and where its rows are, in how many
    shares."""

    result: ShareResult
    tasks: Tasks
    shares: int

    @property
    def divided(self) -> bool:
        """Whether rows were folded apart."""
        return self.shares > 1

    def tell(self, findings: StateFindings) -> None:
        """The findings, after those about transactions."""
        findings_of(self.result, findings)

    def rows(self) -> Any:
        """The rows as a frame (STATE) in types that Spark carries, sorted by the key, else as first
        seen."""
        assert self.result.schema is not None
        return self.made(lambda batch: batch, self.result.schema)

    def made(self, function: Callable[[pa.RecordBatch], Any], schema: pa.Schema) -> Any:
        """The result of ``function`` on the rows, each one's own columns, in order, as a frame.

        ``schema``: of the result.
        """
        assert self.result.schema is not None
        types = {one.name: one.type for one in self.result.schema.field("values").type}
        keys = [name for name in self.result.key if self.divided and name in types]
        plain = carried_schema(
            pa.schema([pa.field(f"{_ORDER}{i}", types[k]) for i, k in enumerate(keys)])
        )
        own = carried_schema(schema)
        ordered = pa.schema([*own, *plain, pa.field(_ORDER, pa.int64())])

        def unpack(batches: Batches) -> Iterator[pa.RecordBatch]:
            for at, batch in rows_of(batches):
                made = function(batch)
                columns = [made[f.name].cast(f.type) for f in own]
                by = [batch["values"].field(name) for name in keys]
                columns += [decoded(c).cast(f.type) for c, f in zip(by, plain, strict=True)]
                order = pa.array(np.arange(at, at + len(batch)))
                yield pa.RecordBatch.from_arrays([*columns, order], schema=ordered)

        found = self.tasks.where("what", ROWS).map(unpack, ordered)
        parts = max(self.shares, self.tasks.shares)
        return found.ordered(own.names, ordered.names[len(own) :], parts)


def shared(changes: Any, inputs: ReplayInputs) -> Shared:
    """A Spark frame of typed changes. UsageError: it is none."""
    if isinstance(changes, Shared):
        return changes
    from pyspark.sql import functions as sql

    rows = lazy(changes, ("before", "after", "db", "table"))
    image_fields(rows, "after", inputs.key)
    if "seq" not in changes.columns:
        raise UsageError("a Spark frame has no order: the column seq is needed")
    if inputs.numbers is not None and "tx" not in changes.columns:
        raise UsageError("the changes have no column tx: their transactions are not known")
    wanted = sql.lit(False)
    for db, table in inputs.followed:
        wanted = wanted | ((sql.col("db") == db) & (sql.col("table") == table))
    frame = changes.where(wanted).select(*needed_columns(changes.columns))
    schema = canonical_schema(frame)

    def canonical(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                columns = [_as(batch[field.name], field.type) for field in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return Shared(SparkTasks(frame), canonical, schema)


def _as(column: Any, kind: pa.DataType) -> Any:
    """A column in its canonical type."""
    if pa.types.is_struct(kind) and column.type != kind:
        children = [_as(column.field(i), child.type) for i, child in enumerate(kind)]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=column.is_null())
    if pa.types.is_dictionary(kind) and column.type != kind:
        return column.cast(kind.value_type).dictionary_encode().cast(kind)
    return column.cast(kind)


def fold_shared(changes: Any, inputs: ReplayInputs) -> FoldedState:
    """The state after changes that a cluster's tasks hold.

    If rows can be folded apart there are as many shares as the cluster's shuffles have partitions,
    or one for each 64 MB of packed changes, else one task folds everything. Memory of a task: twice
    the rows of its share, and its changes.
    """
    given = shared(changes, inputs)
    alone = not inputs.key or inputs.family is not None or inputs.bases
    apart = not alone and divisible(inputs.key, given.schema)
    parcelled = given.tasks.map(_parcelling(given.changes, inputs, apart=apart), _PARCELS).kept()
    records = parcelled.where("what", PLACE, LAYOUT, EDGES).records() if apart else []
    plan = _planned(records, inputs, parcelled.shares)
    shares = parcelled.where("what", PARCEL).map(_sharing(inputs.key, plan), SHARES)
    folded = shares.together(plan.count).map(_folding(inputs, plan.switches), _FOLDED).kept()
    ended = [ShareResult.read(one["text"]) for one in folded.where("what", RESULT).records()]
    ended = ended or [one for one in fold_share(inputs, [], []) if isinstance(one, ShareResult)]
    return FoldedState(merged(ended), folded, plan.count)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The number of shares, which keys belong together, and where the columns of changes begin."""

    count: int
    connected: Connected
    switches: tuple[Switch, ...] = ()


def _parcelling(
    canonical: Callable[[Batches], Batches], inputs: ReplayInputs, *, apart: bool
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Effective changes as parcels, and what the driver needs to know of them."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        layouts: dict[str, bytes] = {}
        places: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        edges: list[Any] = []
        for batch in inputs.counted(canonical(batches)):
            for parcel in parcels(batch, inputs.followed):
                data, of = parcel.data, (*parcel.name, parcel.layout)
                yield row(_PARCELS, PARCEL, parcel.at, parcel.last, *of, len(data), data)
                if apart:
                    changes = parcel.batch()
                    layouts.setdefault(parcel.layout, packed(_empty(changes.schema)))
                    edges.append(touched(changes, inputs.key)[1:])
                    at, last, size = places.get(of, (parcel.at, parcel.last, 0))
                    places[of] = min(at, parcel.at), max(last, parcel.last), size + len(data)
        for of, (at, last, size) in places.items():
            yield row(_PARCELS, PLACE, at, last, *of, size, None)
        for name, empty in layouts.items():
            yield row(_PARCELS, LAYOUT, None, None, None, None, name, None, empty)
        one, other = (np.concatenate([pair[i] for pair in edges] or [[]]) for i in range(2))
        if len(one):
            pairs = np.unique(np.stack([one, other]).astype(np.uint64), axis=1)
            batch = pa.RecordBatch.from_arrays([*map(pa.array, pairs)], names=["one", "other"])
            packed_pairs = packed(batch) if len(batch) <= _MOST_EDGES else None
            yield row(_PARCELS, EDGES, None, None, None, None, None, None, packed_pairs)

    return run


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows, and without the dictionaries of a slice's columns."""
    return pa.RecordBatch.from_pylist([], schema=schema)


def _planned(records: Sequence[Mapping[str, Any]], inputs: ReplayInputs, count: int) -> _Plan:
    """``records``: what the driver needs to know, nothing if rows cannot be folded apart;
    ``count``: the least number of shares then."""
    none = np.empty(0, np.uint64)
    alone = _Plan(1, Connected(none, none))
    places = _places(one for one in records if one["what"] == PLACE)
    if not places or not may_divide(inputs, places[0][0]):
        return alone
    runs = sorted(places, key=lambda place: (place[2], place[0]))
    if any(a[2] == b[2] and b[0] <= a[1] for a, b in pairwise(runs)):
        return alone  # a table's columns may change back and forth
    edges = [one["data"] for one in records if one["what"] == EDGES]
    if None in edges:
        return alone
    pairs = [unpacked(data) for data in edges]
    connected = Connected.by(
        *(np.concatenate([none, *(pair[i].to_numpy() for pair in pairs)]) for i in range(2))
    )
    empties = {one["layout"]: unpacked(one["data"]) for one in records if one["what"] == LAYOUT}
    switches = tuple(Switch(at, name, empties[layout]) for at, _, name, layout in places)
    size = sum(one["size"] for one in records if one["what"] == PLACE)
    return _Plan(max(count, size // _SHARE_BYTES), connected, switches)


def _places(parcelled: Iterable[Any]) -> list[tuple[int, int, TableId, str]]:
    """The stretches in which changes of a table have the same columns: first and last place, table,
    layout."""
    found: dict[tuple[TableId, str], tuple[int, int]] = {}
    for one in parcelled:
        of = (one["db"], one["name"]), one["layout"]
        at, last = found.get(of, (one["at"], one["last"]))
        found[of] = min(at, one["at"]), max(last, one["last"])
    return sorted((at, last, name, layout) for (name, layout), (at, last) in found.items())


def _sharing(key: Sequence[str], plan: _Plan) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Parcels, split by share."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for one in rows(batches):
            if plan.count == 1:
                yield row(SHARES, 0, one["at"], one["last"], one["data"])
                continue
            changes = unpacked(one["data"])
            own = plan.connected.share(touched(changes, key)[0], plan.count)
            seqs = changes["seq"].to_numpy()
            for share in np.unique(own).tolist():
                at = np.flatnonzero(own == share)
                part = packed(changes.take(pa.array(at)))
                yield row(SHARES, share, int(seqs[at[0]]), int(seqs[at[-1]]), part)

    return run


def _folding(
    inputs: ReplayInputs, switches: Sequence[Switch]
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The rows of a share and its other results."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        given = ((r["at"], r["last"], r["data"]) for r in rows(batches))
        at = 0
        for found in fold_share(inputs, switches, in_order(given)):
            if isinstance(found, ShareResult):
                yield row(_FOLDED, RESULT, found.text(), None)
            elif found.num_rows:
                yield row(_FOLDED, ROWS, str(at), packed(found))
                at += found.num_rows

    return run


def rows_of(batches: Batches) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a share as its task keeps them, some at a time, with the place of the first."""
    for one in rows(batches):
        yield int(one["text"]), unpacked(one["data"])
