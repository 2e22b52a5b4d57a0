from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import SchemaError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.frames.schema import CellState
from binlogkit.spark.carried import carry
from binlogkit_fixtures import golden
from tests.reference.binlogkit_reference.records import image_records

# docs/spark.md, Types: what Spark 4.3's Arrow transport carries; what it does not has another type.
CARRIED = [
    (pa.dictionary(pa.int32(), pa.string()), pa.string()),
    (pa.uint8(), pa.int16()),
    (pa.uint16(), pa.int32()),
    (pa.uint32(), pa.int64()),
    (pa.uint64(), pa.decimal128(20, 0)),
    (pa.decimal256(65, 30), pa.string()),
    (pa.list_(pa.uint8()), pa.list_(pa.int16())),
    (pa.struct({"column": pa.uint16()}), pa.struct({"column": pa.int32()})),
]
AS_IT_IS = [
    pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(38, 10), pa.string(),
    pa.binary(), pa.date32(), pa.duration("us"), pa.timestamp("us"), pa.timestamp("us", "UTC"),
]  # fmt: skip


@pytest.mark.parametrize(("own", "carried"), CARRIED + [(kind, kind) for kind in AS_IT_IS])
def test_each_type_is_carried_as_one_that_spark_takes(own: Any, carried: Any) -> None:
    schema = pa.schema([pa.field("c", own, metadata={"binlogkit:kind": "x"})], metadata={"a": "b"})
    result = carried_schema(schema)
    assert result.field("c").type == carried
    assert result.field("c").metadata == {b"binlogkit:kind": b"x"}
    assert result.metadata == {b"a": b"b"}


def same(own: Any, carried: Any) -> bool:
    if isinstance(own, dict) and isinstance(carried, dict):
        return own.keys() == carried.keys() and all(same(own[k], carried[k]) for k in own)
    if isinstance(own, Decimal) and isinstance(carried, str):
        return format(own, "f") == carried
    return bool(own == carried)


@pytest.mark.parametrize("cell", ["5.7-row-full", "8.0-row-minimal"])
def test_no_value_of_any_type_is_lost(cell: str) -> None:
    tables = set()
    for batch in bk.open(golden.case(cell, "types").path).batches():
        tables.add(batch.table)
        result = carry(batch.batch, carried_schema(batch.batch.schema))
        for name in batch.batch.schema.names:
            own, carried = batch.batch.column(name), result.column(name)
            assert carried.type == carried_schema(batch.batch.schema).field(name).type
            for a, b in zip(own.to_pylist(), carried.to_pylist(), strict=True):
                assert same(a, b), (batch.table, name)
    assert len(tables) > 10


def pruned(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """The batch with only these columns in its images, in this order."""
    schema = carried_schema(batch.schema)
    fields = {field.name: field for field in schema.field("before").type}
    image = pa.struct([fields.get(name, pa.field(name, pa.string())) for name in names])
    return carry(
        batch,
        pa.schema([
            pa.field(f.name, image if f.name in ("before", "after") else f.type) for f in schema
        ]),
    )  # fmt: skip


def test_states_and_raw_cells_are_numbered_as_the_columns_that_were_chosen() -> None:
    """image_records, which reads states and raw cells, says the same of fewer columns."""
    special = nulls = 0
    case = golden.case("8.0-row-minimal", "types")
    for batch in bk.open(case.path).batches():
        names = [field.name for field in batch.batch.schema.field("before").type]
        chosen = [*names[::-2], "added later"]
        result = pruned(batch.batch, chosen)
        for image in ("before", "after"):
            whole = image_records(batch.batch, image)
            fewer = image_records(_readable(result), image)
            states = result.column(f"{image}_state").to_pylist()
            for want, got, state in zip(whole, fewer, states, strict=True):
                if want is None:
                    assert got is None and state is None
                    continue
                assert state is not None and state[-1] == CellState.NOT_IN_IMAGE
                special += any(s > CellState.NOT_IN_IMAGE for s in state)
                assert got is not None
                assert got.keys() == want.keys() & set(chosen)
                for name, told in zip(chosen, state, strict=True):
                    absent = CellState.NOT_IN_IMAGE
                    told_null = told == CellState.NULL
                    assert told_null == (name in want and want[name] is None), (name, told)
                    assert (told == absent) == (name not in want)
                    nulls += told_null
                assert {k for k, v in got.items() if _marked(v)} == {
                    k for k, v in want.items() if _marked(v) and k in chosen
                }
                for cell in [k for k, s in zip(chosen, state, strict=True) if s > 2]:
                    assert got[cell] == want[cell]
    assert special > 5 and nulls > 5


def _marked(value: object) -> bool:
    return isinstance(value, dict)


def _readable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """With plain kinds, as the carried types are not those that the kinds of a batch promise."""
    fields = [
        pa.field(f.name, f.type) if f.name not in ("before", "after") else
        pa.field(f.name, pa.struct([pa.field(c.name, c.type) for c in f.type]))
        for f in batch.schema
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(
        [c.cast(f.type) for c, f in zip(batch.columns, fields, strict=True)],
        schema=pa.schema(fields),
    )


def test_full_images_need_no_states_whichever_columns_are_chosen() -> None:
    for batch in bk.open(golden.case("8.0-row-full", "keys").path).batches():
        names = [field.name for field in batch.batch.schema.field("before").type]
        result = pruned(batch.batch, names[:1])
        assert result.column("before_state").null_count == len(result)
        assert result.column("after_state").null_count == len(result)


def test_a_state_that_only_dropped_columns_need_is_null() -> None:
    for batch in bk.open(golden.case("8.0-row-minimal", "keys").path).batches():
        states = batch.batch.column("before_state").to_pylist()
        names = [field.name for field in batch.batch.schema.field("before").type]
        there = [
            i for i in range(len(names)) if all(s is None or s[i] <= CellState.NULL for s in states)
        ]
        if there and any(states):
            result = pruned(batch.batch, [names[i] for i in there])
            assert result.column("before_state").null_count == len(result)
            return
    raise AssertionError("no table whose before images have one column always")


def test_values_that_do_not_go_into_the_type_are_an_error() -> None:
    batch = next(bk.open(golden.case("8.0-row-full", "types").path).batches("types.integers")).batch
    image = pa.struct({"u64": pa.int64()})
    with pytest.raises(SchemaError, match=r"types\.integers\.u64 is uint64, which does not go"):
        carry(batch, pa.schema({"after": image}))
