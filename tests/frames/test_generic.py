"""Generic rows made column by column are those that are made row by row."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binlogkit as bk
from binlogkit.frames.generic import generic_rows, json_texts
from binlogkit.frames.records import cell_values
from binlogkit.frames.row_batches import read_batches
from binlogkit.frames.schema import batch_schema
from binlogkit.frames.tables import generic_schema
from binlogkit.rows.filters import Filters
from tests.fuzz.binlogkit_fuzz import seeds
from tests.reference.binlogkit_reference.records import nested_as_text, window_records

LOGS = sorted(
    path
    for scenario in ("types", "json", "keys", "ddl", "modern", "transactions")
    for path in seeds.DATA.glob(f"*/{scenario}/binlog.000001")
    if not path.parts[-3].startswith(("5.7-statement", "8.0-statement"))
)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", range(4))
def test_every_row_of_real_logs(part: int) -> None:
    rows = 0
    for path in LOGS[part::4]:
        for window in read_batches(bk.open(str(path), on_damage="report").reading(), Filters()):
            batches = [batch for _, batch in window]
            expected = [nested_as_text(record) for record in window_records(batches)]
            found = [r for b in generic_rows(batches, generic_schema()) for r in b.to_pylist()]
            assert found == expected, path
            rows += len(found)
    assert rows > 300


def batch_of(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """A batch of inserts with these values."""
    count = len(next(iter(columns.values())))
    fields = [
        pa.field(name, array.type, metadata={"binlogkit:kind": "text"})
        for name, array in columns.items()
    ]
    image = pa.StructArray.from_arrays(list(columns.values()), fields=fields)
    schema = batch_schema(fields, {})
    made = {"after": image, "seq": pa.array(range(count), pa.int64())}
    arrays = [made.get(f.name, pa.nulls(count, f.type)) for f in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def after(batch: pa.RecordBatch) -> list[Any]:
    schema = pa.schema([generic_schema().field("after")])
    (found,) = generic_rows([batch], schema)
    texts: list[Any] = found.column("after").to_pylist()
    return texts


@settings(deadline=None)
@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_text_is_quoted_as_json_has_it(values: list[str | None]) -> None:
    """RFC 8259, section 7: quotation mark, reverse solidus and control characters are escaped."""
    expected = [json.dumps({'a"é': value}, ensure_ascii=False) for value in values]
    plain = pa.array(values, pa.string())
    assert after(batch_of({'a"é': plain})) == expected
    assert after(batch_of({'a"é': plain.dictionary_encode()})) == expected


@settings(deadline=None)
@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1))
def test_any_integer(values: list[int]) -> None:
    expected = [json.dumps({"a": value, "b": None}) for value in values]
    columns = {"a": pa.array(values, pa.uint64()), "b": pa.nulls(len(values), pa.int8())}
    assert after(batch_of(columns)) == expected


def test_tables_without_columns_and_with_a_name_twice() -> None:
    """No server makes them, but a log can."""
    two = batch_of({"a": pa.array([1]), "b": pa.array([2])})
    fields = [field.with_name("a") for field in two.schema.field("after").type]
    image = pa.StructArray.from_arrays(two.column("after").flatten(), fields=fields)
    schema = batch_schema(fields, {})
    arrays = [image if f.name == "after" else pa.nulls(1, f.type) for f in schema]
    arrays[schema.names.index("seq")] = pa.array([0], pa.int64())
    assert after(pa.RecordBatch.from_arrays(arrays, schema=schema)) == ['{"a": 2}']


def test_nothing() -> None:
    assert list(generic_rows([], generic_schema())) == []


def test_rows_of_more_text_than_an_arrow_string_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of 2 GB, here of some bytes."""
    from binlogkit.errors import LimitError
    from binlogkit.frames import generic, text_columns

    def small_array(values: list[Any], kind: pa.DataType) -> pa.Array:
        if kind == pa.string() and any(v is not None and len(v) > 60 for v in values):
            raise pa.ArrowCapacityError("array cannot contain more than 60 bytes")
        return array(values, kind)

    array = pa.array
    log = str(next(path for path in LOGS if "keys" in str(path)))
    windows = [
        [batch for _, batch in window] for window in read_batches(bk.open(log).reading(), Filters())
    ]
    expected = [
        r for w in windows for b in generic_rows(w, generic_schema()) for r in b.to_pylist()
    ]
    monkeypatch.setattr(text_columns, "LARGE", 0)
    monkeypatch.setattr(pa, "array", small_array)
    with pytest.raises(LimitError, match="more than 2 GB of text"):
        for window in windows:
            list(generic.generic_rows(window, generic_schema()))
    found = [
        batch
        for window in windows
        for batch in generic.generic_rows(window, generic_schema(), compact=True)
    ]
    assert all(batch.num_rows == 1 for batch in found)
    assert any(batch.schema.field("after").type == pa.large_string() for batch in found)
    loaded = [record for batch in found for record in batch.to_pylist()]
    for record in (*loaded, *expected):
        for image in ("before", "after"):
            record[image] = record[image] and json.loads(record[image])
    assert loaded == expected


_NUMBERS = st.floats() | st.integers(-(10**12), 10**12).map(lambda n: n / 8)


@given(st.lists(_NUMBERS | st.none(), max_size=20), st.sampled_from(["float", "double"]))
def test_numbers_are_as_python_writes_them(values: list[float | None], kind: str) -> None:
    with np.errstate(over="ignore"):
        stored = np.array([v or 0 for v in values], np.float32 if kind == "float" else np.float64)
    array = pa.array(stored, mask=np.array([v is None for v in values], bool))
    field = pa.field("x", array.type, metadata={"binlogkit:kind": kind})
    expected = [None if v is None else json.dumps(v) for v in cell_values(array, field)]
    assert json_texts(array, field).to_pylist() == expected
