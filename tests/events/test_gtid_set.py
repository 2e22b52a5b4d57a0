"""GTID sets: text, membership, arithmetic, the wire form."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.cursor import Cursor
from binlogkit.errors import MalformedEventError, UsageError
from binlogkit.events.gtid_set import GtidSet

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "7950f91c-2f13-11ed-b2a8-52540099600c"
END = (1 << 63) - 1  # servers refuse it (5.7.22, 8.0.31)

intervals = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), max_size=8)


def as_text(ranges: list[tuple[int, int]], sid: str = A) -> str:
    return ",".join(f"{sid}:{start}-{start + length}" for start, length in ranges)


def numbers(ranges: list[tuple[int, int]]) -> set[int]:
    return {n for start, length in ranges for n in range(start, start + length + 1)}


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        (f"{A}:1-5", f"{A}:1-5"),
        (f"{A.upper()}:5:1-4", f"{A}:1-5"),
        (f"{B}:7,\n{A}:1-3:11:47-49", f"{A}:1-3:11:47-49,{B}:7"),
        (f"{A}:1-3:mytag:1-2", f"{A}:1-3:mytag:1-2"),
        (f"{A}:9-3", ""),
        (f"{A}:{END - 1}", f"{A}:{END - 1}"),
    ],
)
def test_text(text: str, normal: str) -> None:
    assert str(GtidSet.parse(text)) == normal


@pytest.mark.parametrize(
    "text",
    ["x", f"{A}", f"{A}:", f"{A}:0", f"{A}:1-", "1-5", f"{A}:1;2", f"{A}:{END}", f"{A}:1-{END}"],
)
def test_what_is_no_set(text: str) -> None:
    with pytest.raises(UsageError):
        GtidSet.parse(text)


@given(intervals)
def test_membership_is_that_of_the_numbers(ranges: list[tuple[int, int]]) -> None:
    """Manual, "GTID Sets": intervals of a UUID are a set of numbers, overlap and order aside."""
    gtids = GtidSet.parse(as_text(ranges))
    assert {n for n in range(1, 80) if f"{A}:{n}" in gtids} == numbers(ranges)
    assert gtids.count() == len(numbers(ranges))
    assert GtidSet.parse(str(gtids)) == gtids
    assert f"{B}:1" not in gtids


@given(intervals, intervals)
def test_subtract_is_that_of_the_numbers(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    """Manual, GTID_SUBTRACT(): the GTIDs of the first set that are not in the second."""
    left = GtidSet.parse(as_text(a)).subtract(GtidSet.parse(as_text(b)))
    assert {n for n in range(1, 80) if f"{A}:{n}" in left} == numbers(a) - numbers(b)


@pytest.mark.parametrize(
    ("one", "other", "both", "lower"),
    [
        ("", "", "", ""),
        (f"{A}:3-5", "", f"{A}:3-5", f"{A}:1-2"),
        ("", f"{A}:1-5:9", f"{A}:1-5:9", ""),
        (f"{A}:3-5,{B}:7", f"{A}:6-8:2", f"{A}:2-8,{B}:7", f"{A}:1,{B}:1-6"),
    ],
)
def test_what_is_in_either_and_what_is_below(one: str, other: str, both: str, lower: str) -> None:
    found = GtidSet.parse(one).union(GtidSet.parse(other))
    assert (str(found), str(found.lower())) == (both, lower)
    assert GtidSet.parse(other).union(GtidSet.parse(one)) == found


def test_wire_form() -> None:
    sid = uuid.UUID(A).bytes
    data = (1).to_bytes(8, "little") + sid + (2).to_bytes(8, "little")
    for start, end in ((1, 4), (11, 12)):
        data += start.to_bytes(8, "little") + end.to_bytes(8, "little")
    assert str(GtidSet.read(Cursor(data))) == f"{A}:1-3:11"
    with pytest.raises(MalformedEventError, match="interval"):
        GtidSet.read(Cursor(data[:-1]))
