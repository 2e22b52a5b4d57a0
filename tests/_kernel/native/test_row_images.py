"""Rows events of made-up tables, sound and damaged: kernel and reference say the same."""

from __future__ import annotations

import random
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.columns import TablePlan
from binlogkit._kernel.native.builder import TableBuilder
from binlogkit.constants import ColumnType as T
from tests._kernel.native.row_passes import rows_event, rows_pass

CODES = (23, 24, 25, 30, 31, 32, 39)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**64), damaged=st.booleans(), cut=st.sampled_from((1, 7, 16_384)))
def test_events_of_any_table(
    twins: ModuleType, row_events: ModuleType, seed: int, damaged: bool, cut: int
) -> None:
    source = random.Random(seed)
    specs = row_events.choose(source)
    events = []
    for code in CODES:
        data = row_events.body(source, specs, code, source.randrange(4))
        events.append(rows_event(row_events.mutated(source, data) if damaged else data, code))
    schema = row_events.schema_of(specs)
    reference = twins.by_reference(schema, "8.0.31", events)
    twins.same(reference, twins.by_kernel(schema, "8.0.31", events, max_rows=cut))


@pytest.mark.parametrize("code", CODES)
def test_an_event_cut_at_every_byte(twins: ModuleType, row_events: ModuleType, code: int) -> None:
    source = random.Random(5)
    specs = [CellSpec(T.LONG), CellSpec(T.JSON, length=4), CellSpec(T.VARCHAR, length=300)]
    whole = row_events.body(source, specs, code, 2)
    events = [rows_event(whole[:size], code) for size in range(len(whole) + 1)]
    schema = row_events.schema_of(specs)
    reference = twins.by_reference(schema, "8.0.31", events)
    assert reference.faults
    twins.same(reference, twins.by_kernel(schema, "8.0.31", events))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 250, 251, 4096])
def test_a_table_of_many_columns(twins: ModuleType, row_events: ModuleType, count: int) -> None:
    source = random.Random(count)
    specs = [CellSpec(T.TINY, unsigned=i % 2 == 0) for i in range(count)]
    events = [rows_event(row_events.body(source, specs, c, 2), c) for c in (30, 31, 32)]
    schema = row_events.schema_of(specs)
    twins.same(
        twins.by_reference(schema, "8.0.31", events), twins.by_kernel(schema, "8.0.31", events)
    )


def test_batches_stay_within_their_bytes() -> None:
    """A batch is handed over once it holds its bytes: one row more at most."""
    plan = TablePlan([CellSpec(T.LONG_BLOB, length=4, charset="binary")], ["b"])
    builder = plan.builder(16_384, 100_000)
    row = b"\0" + (30_000).to_bytes(4, "little") + bytes(30_000)
    data = (7).to_bytes(6, "little") + b"\1\0\2\0\1\1" + row * 20
    rows, batches = rows_pass(rows_event(data, 30)), 0
    assert rows is not None
    while (said := rows.run([builder])) is not None:
        assert said == (0,) and builder.rows == 4
        builder.take()
        batches += 1
    assert batches == 4 and builder.rows == 4


@pytest.mark.parametrize(("columns", "rows", "size"), [((), 0, 1), ((), 1, 0), ((), 1 << 40, 1)])
def test_no_batch_without_rows(columns: tuple[()], rows: int, size: int) -> None:
    with pytest.raises(ValueError, match="a batch holds"):
        TableBuilder(None, columns, rows, size)


def test_a_slice_of_the_fuzzing(fuzz: ModuleType) -> None:
    """The long form is run by hand, see fuzz.py; without sanitizers here it finds crashes only."""
    assert fuzz.decode(1, 4_000) > 100
    assert fuzz.scan(2, 300) > 100
    assert fuzz.compare(3, 900) > 100
