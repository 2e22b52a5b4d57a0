"""The base of a stream: a snapshot of its table, whose rows come first, as inserts.

The process that plans the batches knows the snapshot's position and definitions; its rows are read
where the first batch is. Spark is not in here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.errors import EmptyInputError, InputError, UsageError
from binlogkit.frames.arrays import one_array
from binlogkit.frames.schema import batch_schema
from binlogkit.frames.snapshots.reading import read_snapshots
from binlogkit.frames.snapshots.snapshot import Snapshot, TableSnapshot
from binlogkit.frames.tables import united
from binlogkit.log.states.bases.bases import Bases, facts_of
from binlogkit.rows.filters import parse_table_name
from binlogkit.spark.masks import parse_masks
from binlogkit.spark.options import ScanOptions
from binlogkit.spark.splits.changelog import changelog_schema
from binlogkit.spark.splits.commits import POSITION_BITS, Commits, Deciding, file_number
from binlogkit.spark.splits.masked import Masking, masked_schema
from binlogkit.spark.splits.plan import make_plan
from binlogkit.spark.stream.offsets import Offset, SnapshotPosition

_ROWS = 65_536


class StreamBase:
    """A base; ``place``: its position, ``catalog``: its table definitions, None without any.

    Errors: InputError (it cannot be read, or has no position), LimitError, SchemaError.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        found = Bases(_read(base, frozenset()))
        gtids = None if found.gtids is None else str(found.gtids)
        self.place, self.catalog = SnapshotPosition(found.file, found.pos, gtids), found.catalog

    def begun(self, start: Offset) -> bool:
        """Whether its rows have been delivered. UsageError: those of another base were, or of
        none."""
        if start.base is None and not start.series:
            return False
        if start.base != self.place:
            raise UsageError(
                f"the stream began {'without a base' if start.base is None else 'with another one'}"
                f", and cannot resume with {self._base}: its rows would be missing"
            )
        return True


def stream_schema(asked: ScanOptions) -> pa.Schema:
    """The columns of a changelog that begins with a base: those of the base's table, and those that
    the existing logs add. Errors: those of :func:`make_plan` and of
    :func:`inserts`."""
    base = str(asked.base)
    found = _bases_of(base, asked.table)
    own = _table_in(base, asked.table, found)
    known, plan = [_empty(own)], None
    with suppress(EmptyInputError):  # logs may come later
        plan = make_plan(asked, catalog=found.catalog)
        if plan.changes is not None:
            known.append(pa.RecordBatch.from_pylist([], plan.changes))
    flat = changelog_schema(united(known, str(asked.table)).schema.field("before").type)
    if plan is None:
        masks = parse_masks(asked.mask, asked.mask_key_file)
        return masked_schema(flat, masks, [own.name])
    return masked_schema(flat, plan.masks, {own.name, *plan.tables})


def inserts(
    asked: ScanOptions, place: SnapshotPosition, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows of a table in a base as rows of a changelog, with the columns of ``schema``.

    ``_commit_version`` is below that of what follows, ``_sequence`` below all others, there is no
    ``_commit_timestamp``; ``_file`` and ``_pos`` are the base's position. Errors: InputError (rows
    may be missing in it), UsageError (it lacks the table), and those of reading it.
    """
    base = str(asked.base)
    found = _table_in(base, asked.table, _bases_of(base, asked.table))
    masking = Masking(schema, asked)
    if found.doubts:
        raise InputError(base, " ".join(found.doubts))
    rows, begun, canonical = found.rows, _Begun(place), _empty(found).schema
    for first in range(0, rows.num_rows, _ROWS):
        batch = _batch(rows.slice(first, _ROWS), first, place, canonical)
        yield from masking.changelog(batch, begun)


def _empty(found: TableSnapshot) -> pa.RecordBatch:
    """A canonical batch of the table without rows."""
    facts = {
        b"binlogkit:table": json.dumps(found.name).encode(),
        b"binlogkit:key": json.dumps(facts_of(found).key).encode(),
        b"binlogkit:schema_version": b"of the base",
    }
    fields = list(found.rows.schema.field("values").type)
    return pa.RecordBatch.from_pylist([], batch_schema(fields, facts))


def _batch(
    rows: pa.Table, first: int, place: SnapshotPosition, schema: pa.Schema
) -> pa.RecordBatch:
    count = rows.num_rows
    made = {
        "op": pa.repeat("insert", count),
        "file": pa.repeat(pa.scalar(place.file, pa.string()), count),
        "pos": pa.repeat(place.pos or 0, count),
        "row": pa.array(np.arange(first, first + count)),
        "after": one_array(rows["values"]),
        "after_state": one_array(rows["value_state"]),
        "raw": one_array(rows["raw"]),
    }
    columns = [
        made[field.name].cast(field.type) if field.name in made else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class _Begun(Commits):
    """Commits for rows that existed before all changes."""

    def __init__(self, place: SnapshotPosition) -> None:
        super().__init__(Deciding())
        self._version = 0
        if place.file is not None and place.pos is not None:
            self._version = (file_number(place.file) << POSITION_BITS) + place.pos - 1

    def places(self, batch: pa.RecordBatch, into: np.ndarray[Any, Any]) -> None:
        for name in ("begun", "number", "commit"):
            into[name][: len(batch)] = 0

    def versions(self, batch: pa.RecordBatch) -> Any:
        return np.full(batch.num_rows, self._version, np.int64)

    def timestamps(self, batch: pa.RecordBatch) -> Any:
        return np.ma.array(np.zeros(batch.num_rows, np.int64), mask=True)


def _bases_of(base: str, table: str | None) -> Bases:
    """The base, with the rows of one table."""
    name = parse_table_name(str(table))
    return Bases(_read(base, [name.table if name.db is None else (name.db, name.table)]))


def _table_in(base: str, table: str | None, found: Bases) -> TableSnapshot:
    """The one wanted table."""
    if len(found.tables) != 1:
        raise UsageError(f"the base {base} has no one table {table}: there is {found.named()}")
    return next(iter(found.tables.values()))


def _read(base: str, wanted: Any) -> list[Snapshot]:
    return read_snapshots(base, wanted, _untyped)


def _untyped() -> tuple[TableId, list[pa.Field]]:
    raise UsageError("a base in CSV or JSON lines defines no columns: write the state as Parquet")
