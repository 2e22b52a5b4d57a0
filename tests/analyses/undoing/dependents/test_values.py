"""Cells of changes, joined over versions of a table whose types differ."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from binlogkit.analyses.undoing.dependents.values import ValueColumn, compared, joined

DAY = dt.date(2023, 1, 1)


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [
        (pa.array([1, None]), pa.array([2.5]), [1.0, None, 2.5]),
        (pa.array([b"a"]), pa.array([DAY]), ["a", "2023-01-01"]),
        (pa.array([b"\x00\xff", None, b""]), pa.array([DAY]), ["\x00\xff", None, "", "2023-01-01"]),
        (pa.array([b"\xff"]), pa.array([1, None]), ["\xff", "1", None]),
    ],
    ids=["numbers", "texts", "bytes and a date", "bytes and a number"],
)
def test_types_that_differ(first: pa.Array, last: pa.Array, wanted: list[object]) -> None:
    columns = [ValueColumn(array, np.zeros(len(array), bool), {}) for array in (first, last)]
    assert joined(columns).array.to_pylist() == wanted


@pytest.mark.parametrize(
    ("now", "kind", "wanted", "odd"),
    [
        (pa.array(["1e3", "n/a", None]), pa.float64(), [1000.0, None, None], {1: "n/a"}),
        (pa.array([b"\xff", b"7"]), pa.int32(), [None, 7], {0: "\xff"}),
        (pa.array([DAY]), pa.int32(), [19358], {}),
        (pa.array([DAY]), pa.decimal128(5, 2), [None], {0: "2023-01-01"}),
        (pa.array(["a", "b"]).dictionary_encode(), pa.string(), ["a", "b"], {}),
    ],
    ids=["text", "bytes", "number of a day", "date", "enum"],
)
def test_values_as_the_type_that_the_column_had(
    now: pa.Array, kind: pa.DataType, wanted: list[object], odd: dict[int, object]
) -> None:
    column = ValueColumn(now, np.zeros(len(now), bool), {})
    array, special = column.of_type(kind)
    assert (array.type, array.to_pylist(), special) == (kind, wanted, odd)


def test_a_value_is_compared_alike_in_each_batch() -> None:
    """A batch with 'é' compared 'class' as 'clas', one without it as it is."""
    batches = [pa.array(["class"]), pa.array(["é", "class"])]
    columns = [
        ValueColumn(pa.chunked_array([one]), np.zeros(len(one), bool), {}) for one in batches
    ]
    alone, beside = (compared(one, "utf8mb4_0900_ai_ci", apart=True).array for one in columns)
    assert alone[0] == beside[1]
