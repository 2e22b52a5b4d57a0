"""A time line's bars, ticks and marks: in their places, of a bounded number, whatever the times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit.reports._timeline import HEIGHT, TOP, picture
from binlogkit.reports.model import TimeLine

NOON = 1715688000  # 2024-05-14 12:00:00


def test_bars_stand_on_the_base_and_on_each_other() -> None:
    drawn = picture(TimeLine([(NOON, {"a": 30, "b": 10}), (NOON + 60, {"a": 0, "b": 20})]))
    first, second, third = drawn["bars"]
    assert first == ("a", "0.00", "43.00", f"{TOP + HEIGHT * 0.25:.1f}", f"{HEIGHT * 0.75:.1f}")
    assert second == ("b", "0.00", "43.00", f"{TOP:.1f}", f"{HEIGHT * 0.25:.1f}")
    assert third[:2] == ("b", "50.00") and float(third[3]) + float(third[4]) == TOP + HEIGHT
    assert drawn["most"] == "40" and drawn["totals"] == [("a", "30"), ("b", "30")]
    assert (drawn["unit"], drawn["span"]) == (
        "minute", "2024-05-14 12:00:00 UTC to 2024-05-14 12:02:00 UTC",
    )  # fmt: skip


def test_marks_stand_at_their_time_and_not_outside() -> None:
    marks = [(1, NOON + 30, "x"), (2, NOON - 1, "before"), (3, NOON + 60, "after")]
    drawn = picture(TimeLine([(NOON, {"a": 1})], marks))
    assert [(mark["rank"], mark["x"]) for mark in drawn["marks"]] == [(1, 50.0)]


@pytest.mark.parametrize(
    ("minutes", "unit", "first"),
    [(23, "minute", "12:00"), (240, "2 minutes", "12:00"), (10080, "2 hours", "2024-05-15"),
     (60 * 24 * 365, "7 days", "2024-07-25")],
)  # fmt: skip
def test_a_bar_is_as_long_as_the_span_needs(minutes: int, unit: str, first: str) -> None:
    drawn = picture(TimeLine([(NOON + 60 * i, {"a": 1}) for i in (0, minutes - 1)]))
    assert drawn["unit"] == unit
    assert drawn["ticks"][0][2] == first


@given(
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=30), st.integers(0, 2**63), st.data()
)
def test_any_times(times: list[int], count: int, data: st.DataObject) -> None:
    minutes = [time - time % 60 for time in times]
    marked = data.draw(st.sampled_from(times))
    drawn = picture(TimeLine([(m, {"a": count}) for m in minutes], [(1, marked, "x")]))
    assert len(drawn["bars"]) <= 121 and len(drawn["ticks"]) <= 9
    for _, x, width, y, height in drawn["bars"]:
        assert float(x) >= 0 and float(x) + float(width) <= 100
        assert float(y) >= TOP - 0.1 and float(y) + float(height) <= TOP + HEIGHT + 0.2
    assert all(0 <= float(x) < 100 for x, _, _ in drawn["ticks"])
    assert 0 <= drawn["marks"][0]["x"] <= 100
