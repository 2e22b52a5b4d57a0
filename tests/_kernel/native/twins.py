"""The compiled kernel and the reference decoder side by side over the same rows events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from binlogkit._kernel.columns import MAX_BYTES, TablePlan
from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.builder import TableBuilder
from binlogkit._kernel.native.runs import FACT_NAMES
from binlogkit.errors import DamageError
from binlogkit.events.base import Event, ParseContext, parser_of
from binlogkit.events.rows import RowsEvent
from binlogkit.frames.arrays import buffer
from binlogkit.frames.kernel_columns import TakenBuffers
from binlogkit.rows.schema import TableSchema, table_plan
from binlogkit.sources.raw import RawEvent
from tests._kernel.native.row_passes import rows_pass
from tests.reference.binlogkit_reference import ColumnBatch, record_batch
from tests.reference.binlogkit_reference.images import RowDecoder

COLUMNS = ("before", "after", "before_state", "after_state", "raw", "op")
FACTS = ("pos", "end_pos", "row", "timestamp", "server_id", "seq", "tx")


@dataclass
class Outcome:
    """What a decoder made of some events: its columns, and the events it could not read."""

    columns: dict[str, list[pa.Array]] = field(default_factory=dict)
    faults: list[tuple[int, str | None, str]] = field(default_factory=list)

    def add(self, arrays: dict[str, pa.Array]) -> None:
        for name in (*COLUMNS, *FACTS):
            self.columns.setdefault(name, []).append(arrays[name])

    def column(self, name: str) -> pa.ChunkedArray:
        return pa.chunked_array(self.columns[name])


def by_reference(schema: TableSchema, version: str, events: Iterable[RawEvent]) -> Outcome:
    outcome = Outcome()
    decoder = RowDecoder(schema, version)
    batch = ColumnBatch.empty(schema, None)
    for number, raw in enumerate(events):
        try:
            body = _parsed(raw)
            for row, (before, after) in enumerate(decoder.rows(Event(raw, body))):
                provenance = (
                    raw.file, raw.pos, raw.end_pos, raw.inner, row, raw.header.timestamp, None,
                    raw.header.server_id, None, None, None, None, body.op, None,
                    (number << 32) + row, number,
                )  # fmt: skip
                batch.add(provenance, before, after)
        except DamageError as error:
            outcome.faults.append((number, error.field, error.reason))
    arrays = record_batch(batch)
    outcome.add({name: arrays.column(name) for name in (*COLUMNS, *FACTS)})
    return outcome


def by_kernel(
    schema: TableSchema,
    version: str,
    events: Iterable[RawEvent],
    *,
    max_rows: int = 16_384,
    max_bytes: int = MAX_BYTES,
    wanted: list[int] | None = None,
) -> Outcome:
    outcome = Outcome()
    plan: TablePlan = table_plan(schema, version, wanted)
    builder: TableBuilder = plan.builder(max_rows, max_bytes)
    for number, raw in enumerate(events):
        rows = rows_pass(raw, number)
        if rows is None:
            outcome.faults.append((number, *_read(raw)))
            continue
        while (said := rows.run([builder])) is not None:
            if len(said) > 1:
                fault = plan.fault(*said[1:])
                outcome.faults.append((number, fault.field, fault.reason))
            else:
                assert builder.rows, "full, and holds nothing"
                outcome.add(_taken(schema, builder))
    outcome.add(_taken(schema, builder))
    return outcome


def _parsed(raw: RawEvent) -> RowsEvent:
    parser = parser_of(raw.header.type_code)
    assert parser is not None
    body = parser(Cursor(raw.body, raw.file, raw.pos), raw, ParseContext())
    assert isinstance(body, RowsEvent)
    return body


def _read(raw: RawEvent) -> tuple[str | None, str]:
    """What Python says of an event that the scan leaves to it."""
    with pytest.raises(DamageError) as told:
        _parsed(raw)
    return told.value.field, told.value.reason


def _taken(schema: TableSchema, builder: TableBuilder) -> dict[str, pa.Array]:
    taken = TakenBuffers(schema, builder)
    arrays, runs = taken.columns(), taken.runs
    for which, name in enumerate(FACT_NAMES):
        kind = pa.int32() if name in ("inner", "row") else pa.int64()
        arrays[name] = pa.Array.from_buffers(kind, runs.rows, [None, buffer(runs.fact(which))])
    return arrays


def same(reference: Outcome, kernel: Outcome) -> None:
    """Assert that both say the same: every cell, state, raw cell, fact and fault."""
    assert kernel.faults == reference.faults
    for name in (*COLUMNS, *FACTS):
        ours, theirs = kernel.column(name), reference.column(name)
        for chunk in kernel.columns[name]:
            chunk.validate(full=True)
        if name in FACTS:
            ours = ours.cast(theirs.type)
        assert ours.type == theirs.type, name
        ours, theirs = ours.combine_chunks(), theirs.combine_chunks()
        if ours != theirs:
            left, right = ours.to_pylist(), theirs.to_pylist()
            assert left == right, name
            assert name in ("before", "after", "op"), f"{name}: only the arrays differ"
