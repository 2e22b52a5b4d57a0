"""Plots draw what the frames say and interpret nothing that a log says."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib import pyplot as plt

from binlogkit.analyses.audit.activity import BY_MINUTE
from binlogkit.errors import UsageError
from binlogkit.frames.natural import natural
from binlogkit.reports import plots

MINUTE = 1_700_000_040
HOSTILE = "$x^2$ \x1b\u202e<b>\n{} \\a %s&_"


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        yield
        plt.close("all")


def by_minute(count: int = 3, step: int = 60) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "minute": [MINUTE + i * step for i in range(count)],
            "inserts": [1] * count,
            "updates": [2] * count,
            "deletes": [0] * count,
            "rows": [3] * count,
        }
    )


def by_table(names: list[str]) -> pd.DataFrame:
    rows = [
        {"db": "shop", "table": n, "inserts": 10 * (len(names) - i), "updates": 1, "deletes": 0}
        for i, n in enumerate(names)
    ]
    return pd.DataFrame(rows, columns=["db", "table", "inserts", "updates", "deletes"])


def transactions(**more: Any) -> list[dict[str, Any]]:
    row = {"file": "/logs/b.1", "pos": 4, "size": 100, "rows": 3, "outcome": "committed"} | more
    return [row, row | {"pos": 5, "size": 900, "outcome": "rolled_back", "rows": None}]


def drawn(ax: Any) -> bytes:
    out = io.BytesIO()
    ax.figure.savefig(out, format="png")
    assert out.getvalue().startswith(b"\x89PNG")
    return out.getvalue()


def names_of(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


class TestTimeline:
    def test_a_bar_per_minute_and_operation_in_utc(self) -> None:
        ax: Any = plots.timeline(by_minute())
        inserts, updates = ax.collections
        assert len(inserts.get_paths()) == len(updates.get_paths()) == 3
        left, low = updates.get_paths()[0].vertices[0]
        assert left * 86400 == pytest.approx(MINUTE, abs=0.01)
        assert (low, updates.get_paths()[0].vertices[1][1]) == (1, 3)
        assert ax.get_xlabel() == "UTC, 2023-11-14 22:14 to 2023-11-14 22:17"
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["inserts 3", "updates 6"]
        drawn(ax)

    def test_one_minute_of_a_month_is_as_wide_as_a_line(self) -> None:
        frame = pd.concat([by_minute(1), by_minute(1).assign(minute=MINUTE + 30 * 86400)])
        ax: Any = plots.timeline(frame)
        path = ax.collections[0].get_paths()[0].vertices
        assert path[2][0] - path[1][0] > 30 / 700

    def test_engines_and_order(self) -> None:
        frame = by_minute().iloc[::-1]
        pictures = {
            drawn(plots.timeline(f))
            for f in (
                frame,
                natural(pa.Table.from_pandas(frame), BY_MINUTE),
                pa.Table.from_pandas(frame),
                frame.to_dict("records"),
            )
        }
        assert len(pictures) == 1

    @pytest.mark.parametrize("minute", [0, 2**32 - 1 - 2**32 % 60])
    def test_crafted_times(self, minute: int) -> None:
        drawn(plots.timeline(pd.concat([by_minute(1), by_minute(1).assign(minute=minute)])))

    def test_a_time_that_no_axis_has(self) -> None:
        with pytest.raises(UsageError, match="no time that can be drawn"):
            plots.timeline(by_minute(1).assign(minute=2**60))


class TestTables:
    def test_most_changed_first_and_the_others_summed(self) -> None:
        ax: Any = plots.tables(by_table([f"t{i:02}" for i in range(20)]), top=3)
        assert names_of(ax) == ["shop.t00", "shop.t01", "shop.t02", "17 other tables"]
        assert ax.yaxis_inverted()
        assert "1,547" in [t.get_text() for t in ax.texts]  # the sum of the others
        drawn(ax)

    def test_a_label_is_drawn_as_it_is(self) -> None:
        ax: Any = plots.tables(by_table([HOSTILE, "$\\frac{1}{0$"]))
        first, second = ax.get_yticklabels()
        assert second.get_text() == "shop.$\\frac{1}{0$"  # as mathematics it would not parse
        assert "\\x1b\\u202e<b>" in first.get_text()
        assert first.get_text().isprintable()
        assert not first.get_parse_math() and not first.get_usetex()
        drawn(ax)

    def test_dollars_take_their_room(self) -> None:
        """What mathematics would swallow is wider than what it would leave."""
        ax: Any = plots.tables(by_table(["$xxx$", "xxx"]))
        drawn(ax)
        dollars, plain = (label.get_window_extent().width for label in ax.get_yticklabels())
        assert dollars > plain

    def test_a_long_name_is_shortened_in_the_middle(self) -> None:
        (name,) = names_of(plots.tables(by_table(["a" * 100 + "end"])))
        assert len(name) <= 44 and name.startswith("shop.aaa") and name.endswith("aend")

    def test_letters_without_a_font_are_numbers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(plots, "_MORE_FONTS", ())
        plots._fonts.cache_clear()
        plots._letters.cache_clear()
        try:
            (name,) = names_of(plots.tables(by_table(["订单é"])))
            assert name == "shop.\\u8ba2\\u5355é"
        finally:
            plots._fonts.cache_clear()
            plots._letters.cache_clear()


class TestLargestTransactions:
    def test_largest_first_by_outcome(self) -> None:
        ax: Any = plots.largest_transactions(transactions())
        assert names_of(ax) == ["b.1:5", "b.1:4"]
        assert [t.get_text() for t in ax.texts] == ["0 rows", "3 rows"]
        legend = [t.get_text() for t in ax.get_legend().get_texts()]
        assert legend == ["rolled back", "committed"]
        drawn(ax)

    def test_hostile_file_and_outcome(self) -> None:
        ax: Any = plots.largest_transactions(transactions(file=HOSTILE, outcome="$\\bad{$"))
        assert all(name.isprintable() for name in names_of(ax))
        drawn(ax)


@pytest.mark.parametrize("plot", [plots.timeline, plots.tables, plots.largest_transactions])
class TestEvery:
    def test_axes_in_axes_out(self, plot: Any) -> None:
        ax: Any = plt.subplots()[1]
        assert plot([], ax) is ax
        assert next(t.get_text() for t in ax.texts).startswith("no ")
        drawn(ax)

    def test_a_frame_without_the_columns(self, plot: Any) -> None:
        with pytest.raises(UsageError, match="the frame has no column"):
            plot(pd.DataFrame({"a": [1]}))
        with pytest.raises(UsageError, match="the frame has no column"):
            plot(pd.DataFrame({"a": []}))
        with pytest.raises(UsageError, match="is no frame"):
            plot(object())
