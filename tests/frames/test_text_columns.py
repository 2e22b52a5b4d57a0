"""Texts of whole columns are those that records make of one value after the other."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binlogkit.frames.records import cell_values
from binlogkit.frames.text_columns import (
    Part,
    bytes_of,
    hex_texts,
    holds_controls,
    holds_quotes,
    is_plain,
    joined,
    joined_rows,
    separated,
    value_texts,
    words,
)

DAY = 86_400_000_000  # µs
FIRST, LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31 in days since 1970-01-01
MOST_TIME = (838 * 3600 + 59 * 60 + 59) * 1_000_000 + 999_999
INT64 = pa.int64()


def field(kind: str, arrow: pa.DataType, scale: int = 0) -> pa.Field:
    return pa.field("c", arrow, metadata={"binlogkit:kind": kind, "binlogkit:scale": str(scale)})


def check(array: pa.Array, of: pa.Field) -> None:
    """Also of a slice, whose buffers begin elsewhere."""
    for part in (array, array.slice(1), array.slice(0, 0)):
        found = value_texts(part, of)
        assert found is not None
        found.validate(full=True)
        assert found.to_pylist() == cell_values(part, of)


def columns(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | values, max_size=8)


@settings(deadline=None)
@given(columns(st.integers(FIRST, LAST)))
@example([FIRST, LAST, -1, 0, None])
def test_dates(days: list[int | None]) -> None:
    check(pa.array(days, pa.int32()).cast(pa.date32()), field("date", pa.date32()))


@settings(deadline=None)
@given(columns(st.integers(FIRST * DAY, LAST * DAY + DAY - 1)), st.integers(0, 6))
@example([FIRST * DAY, -1, 0, 1, None], 6)
@example([-1, 999_999], 0)
def test_datetimes_and_timestamps(times: list[int | None], scale: int) -> None:
    for kind, arrow in (
        ("datetime", pa.timestamp("us")),
        ("timestamp", pa.timestamp("us", "UTC")),
    ):
        check(pa.array(times, INT64).cast(arrow), field(kind, arrow, scale))


@settings(deadline=None)
@given(columns(st.integers(-MOST_TIME, MOST_TIME)), st.integers(0, 6))
@example([MOST_TIME, -MOST_TIME, 0, -1, None, 3_600_000_000, 359_999_999_999], 6)
def test_times(times: list[int | None], scale: int) -> None:
    check(pa.array(times, INT64).cast(pa.duration("us")), field("time", pa.duration("us"), scale))


@settings(deadline=None)
@given(columns(st.binary(max_size=9)))
@example([b"", None, b"\x00\xff"])
def test_bytes(values: list[bytes | None]) -> None:
    for kind in ("binary", "geometry", "vector"):
        check(pa.array(values, pa.binary()), field(kind, pa.binary()))


@settings(deadline=None)
@given(columns(st.integers(-(10**20), 10**20)), st.integers(0, 18))
@example([0, 1, -1, None], 18)
def test_decimals(digits: list[int | None], scale: int) -> None:
    """Arrow writes some with an exponent: those are left to the other way."""
    values = [None if d is None else Decimal(d).scaleb(-scale) for d in digits]
    arrow = pa.decimal128(38, scale)
    array, of = pa.array(values, arrow), field("decimal", arrow, scale)
    found = value_texts(array, of)
    if found is None:
        assert any("E" in text for text in array.cast(pa.string()).to_pylist() if text)
    else:
        assert found.to_pylist() == cell_values(array, of)


def test_what_is_left_to_the_other_way() -> None:
    too_long = pa.array([MOST_TIME + 3_600_000_000], INT64).cast(pa.duration("us"))
    assert value_texts(too_long, field("time", too_long.type)) is None
    assert value_texts(pa.array([1.5]), field("double", pa.float64())) is None
    assert value_texts(pa.array(["a"]), field("text", pa.string())) is None


@pytest.mark.parametrize(
    ("text", "plain", "quotes", "controls"),
    [
        ("", True, False, False),
        (" ~az09", True, False, False),
        ('a"', True, True, False),
        ("\\", True, True, False),
        ("\x1f", False, False, True),
        ("\x00", False, False, True),
        ("\x7f", False, False, False),
        ("é", False, False, False),
    ],
)
def test_what_texts_hold(text: str, plain: bool, quotes: bool, controls: bool) -> None:
    """Of those that are looked at alone."""
    other = '\x01"\\é'
    for array in (pa.array([text, None]), pa.array([other, text, other]).slice(1, 1)):
        assert is_plain(array) is plain
        assert holds_quotes(array) is quotes
        assert holds_controls(array) is controls
        assert bytes_of(array).tobytes() == text.encode()
    assert is_plain(pa.array([], pa.string()))


SHORT = st.text("ab,é", max_size=3)


def each(part: Part, rows: int) -> list[str]:
    """A part's text in each row."""
    return [part] * rows if isinstance(part, str) else part.to_pylist()


@settings(deadline=None)
@given(st.data(), st.integers(1, 5))
def test_joined_texts(data: st.DataObject, rows: int) -> None:
    columns = st.lists(SHORT, min_size=rows, max_size=rows).map(lambda t: pa.array(t, pa.string()))
    parts = data.draw(st.lists(SHORT | columns, max_size=5))
    expected = ["".join(row) for row in zip(*(each(p, rows) for p in parts), strict=True)]
    expected = expected or [""] * rows
    assert joined(parts, rows).to_pylist() == expected
    assert joined_rows(parts, rows) == "".join(expected).encode()


@settings(deadline=None)
@given(st.data(), st.integers(1, 5))
def test_separated_terms(data: st.DataObject, rows: int) -> None:
    column = st.lists(SHORT, min_size=rows, max_size=rows)
    mask = st.lists(st.booleans(), min_size=rows, max_size=rows)
    terms = data.draw(st.lists(st.tuples(mask, column), max_size=5))
    made = [(np.array(there), ["<", pa.array(texts, pa.string()), ">"]) for there, texts in terms]
    parts = separated(made, ", ")
    assert joined(parts, rows).to_pylist() == [
        ", ".join(f"<{texts[row]}>" for there, texts in terms if there[row]) for row in range(rows)
    ]


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=8))
def test_words_are_made_once_for_each_value(values: list[int | None]) -> None:
    plain = pa.array(values, INT64)
    for array in (plain, plain.dictionary_encode(), plain.cast(pa.string()).dictionary_encode()):
        met: list[Any] = []

        def form(value: Any, met: list[Any] = met) -> str:
            met.append(value)
            return f"<{value}>"

        assert each(words(array, form), len(values)) == [f"<{value}>" for value in values]
        assert len(met) == len(set(met)) == len(set(values))


@settings(deadline=None)
@given(columns(st.text(st.characters(exclude_categories=["Cs"]), max_size=4)))
def test_texts_in_hexadecimal(values: list[str | None]) -> None:
    expected = [None if value is None else value.encode().hex().upper() for value in values]
    array = pa.array([None, *values], pa.string())
    assert hex_texts(array.slice(1)).to_pylist() == expected
