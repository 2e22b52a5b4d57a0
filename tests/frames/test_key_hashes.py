"""What is equal as ``where`` compares it has one hash."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.frames.key_hashes import KeyColumn, Place, _hashed_as, asked_hashes, hashes_of
from binlogkit.frames.user_values import Misfit, pair_of

_MOMENTS = st.datetimes(dt.datetime(1970, 1, 2), dt.datetime(2100, 1, 1))
_LABELS = ["", "a", "b", "c"]
KINDS: list[tuple[str, pa.DataType, st.SearchStrategy[Any]]] = [
    ("integer", pa.int8(), st.integers(-128, 127)),
    ("integer", pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    ("integer", pa.uint64(), st.integers(0, 2**64 - 1)),
    ("year", pa.int16(), st.integers(1901, 2155)),
    ("bit", pa.uint64(), st.integers(0, 2**64 - 1)),
    ("decimal", pa.decimal128(10, 2), st.decimals(-99999, 99999, places=2)),
    ("decimal", pa.decimal256(50, 5), st.decimals(-99999, 99999, places=5)),
    ("float", pa.float32(), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    ("double", pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    ("date", pa.date32(), st.dates(dt.date(1000, 1, 1))),
    ("datetime", pa.timestamp("us"), _MOMENTS),
    ("timestamp", pa.timestamp("us", "UTC"), _MOMENTS.map(lambda m: m.replace(tzinfo=dt.UTC))),
    ("time", pa.duration("us"), st.timedeltas(dt.timedelta(-30), dt.timedelta(30))),
    ("text", pa.string(), st.text(max_size=50)),
    ("binary", pa.binary(), st.binary(max_size=50)),
    ("enum", pa.dictionary(pa.int32(), pa.string()), st.sampled_from(_LABELS)),
    ("set", pa.string(), st.sets(st.sampled_from(_LABELS[1:])).map(lambda s: ",".join(sorted(s)))),
]


def _written(value: Any) -> list[Any]:
    """Ways to name a value."""
    if isinstance(value, Decimal):
        return [value, str(value), f"{value}000"]
    if isinstance(value, str) and "," in value:
        return [value, ",".join(reversed(value.split(",")))]
    if isinstance(value, (int, float)):
        return [value, str(value), f"+{value}" if value >= 0 else f"{value}"]
    return [value]


@pytest.mark.parametrize("number", range(len(KINDS)))
@settings(deadline=None, max_examples=40)
@given(st.data())
def test_equal_values_have_one_hash(number: int, data: st.DataObject) -> None:
    kind, arrow, values = KINDS[number]
    rows = data.draw(st.lists(values, min_size=1, max_size=8))
    array = pa.array(rows, arrow)
    column = KeyColumn("id", 0, kind, _hashed_as(arrow))
    hashes = hashes_of([array], [column])
    assert len(hashes) == len(rows)
    for value in _written(data.draw(st.one_of(values, st.sampled_from(rows)))):
        try:
            equal = pc.equal(*pair_of(array, kind, value)).to_pylist()
        except Misfit:
            continue
        asked = asked_hashes([column], [[value]])
        if asked is not None:
            assert np.isin(hashes, asked).tolist() == equal, value
        else:
            assert not (kind == "text" or (kind == "integer" and isinstance(value, int)))


@pytest.mark.parametrize(
    ("kind", "place", "value", "alone"),
    [
        ("integer", Place(0, 8, ""), 200, -56),
        ("integer", Place(0, 24, ""), "9000000", 9000000 - (1 << 24)),
        ("integer", Place(0, 32, ""), 3000000000, 3000000000 - (1 << 32)),
        ("integer", Place(0, 32, ""), 7, 7),
        ("text", Place(0, 0, "binary"), "0x616200", "ab"),
        ("text", Place(0, 0, "binary"), b"ab\0", "ab\0"),
        ("text", Place(0, 0, "utf16"), "a", "\0a"),
        ("text", Place(0, 0, "latin1"), "\u00c3\u00a9", "\u00e9"),
        ("text", Place(0, 0, "utf8mb4"), "\u00e9", "\u00e9"),
    ],
)
def test_a_log_that_does_not_know_a_column_has_its_values_otherwise(
    kind: str, place: Place, value: Any, alone: Any
) -> None:
    """As logs of 5.7 have them whose CREATE TABLE is in an earlier one."""
    arrow = pa.int64() if kind == "integer" else pa.string()
    column = KeyColumn("@1", 0, kind, _hashed_as(arrow))
    asked = asked_hashes([column], [[value]], [[place]])
    assert asked is None or hashes_of([pa.array([alone], arrow)], [column])[0] in asked
    assert (asked is None) == isinstance(value, bytes)


def test_a_slice_is_hashed_where_it_begins() -> None:
    column = KeyColumn("id", 0, "text", "string")
    texts = pa.array(["a", None, "bc", "", "d"])
    whole = hashes_of([texts], [column])
    assert hashes_of([texts.slice(2)], [column]).tolist() == whole[2:].tolist()
    numbers = pa.array([1, 2, 3, 4], pa.int32())
    column = KeyColumn("id", 0, "integer", "int64")
    whole = hashes_of([numbers], [column])
    assert hashes_of([numbers.slice(1, 2)], [column]).tolist() == whole[1:3].tolist()


def test_a_key_of_several_columns_has_a_hash_of_its_own() -> None:
    columns = [KeyColumn("a", 0, "integer", "int64"), KeyColumn("b", 1, "text", "string")]
    arrays = [pa.array([1, 1, 2], pa.int64()), pa.array(["x", "y", "x"])]
    hashes = hashes_of(arrays, columns)
    assert len(set(hashes.tolist())) == 3
    asked = asked_hashes(columns, [["1"], ["x", "y"]])
    assert asked is not None and np.isin(hashes, asked).tolist() == [True, True, False]
