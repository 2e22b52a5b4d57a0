"""The audit's frames as pictures: matplotlib axes in, axes out.

Names come from a log. So no label is parsed as mathematics (``$``) or TeX, control and
bidirectional characters are shown as escapes, and a character missing in all fonts is shown by its
number. Colours: Okabe and Ito's palette, distinguishable with every kind of colour blindness. Times
are UTC.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from binlogkit.errors import UsageError, not_installed, printable
from binlogkit.reports._frames import records_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["largest_transactions", "tables", "timeline"]

_OPS = {"inserts": "#009E73", "updates": "#0072B2", "deletes": "#D55E00"}
_OUTCOMES = {
    "committed": "#0072B2",
    "rolled_back": "#E69F00",
    "prepared": "#CC79A7",
    "cut": "#D55E00",
    "open": "#56B4E9",
}
_OTHER = "#999999"
_MINUTE = 60
_DAY = 86400
_WIDEST = 44  # characters of a label

# Fonts with East Asian letters, as Debian, Windows and macOS install them.
_MORE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans", "WenQuanYi Zen Hei",
    "Droid Sans Fallback", "Microsoft YaHei", "PingFang SC", "Hiragino Sans GB", "Malgun Gothic",
)  # fmt: skip


def timeline(frame: Any, ax: Axes | None = None) -> Axes:
    """Row changes per minute by operation (frame: ``audit.by_minute``)."""
    rows = sorted(records_of(frame, ["minute", *_OPS]), key=lambda row: _seconds(row["minute"]))
    ax = _axes(ax, (9, 3.2))
    if not rows:
        return _empty(ax, "no row changes")
    minutes = [_seconds(row["minute"]) for row in rows]
    base = [0] * len(rows)
    for op, colour in _OPS.items():
        values = [int(row[op] or 0) for row in rows]
        if any(values):
            _minutes(ax, minutes, base, values, facecolors=colour, label=_total(op, values))
        base = [low + value for low, value in zip(base, values, strict=True)]
    _time_axis(ax, minutes)
    _count_axis(ax.yaxis)
    ax.set_ylim(0, max(*base, 1) * 1.05)
    ax.set_ylabel("row changes per minute")
    _legend(ax)
    return ax


def tables(frame: Any, ax: Axes | None = None, *, top: int = 15) -> Axes:
    """Row changes by table, most changed first (frame: ``audit.by_table``); the rest are summed."""
    needed = ["db", "table", *_OPS]
    rows = sorted(records_of(frame, needed), key=lambda row: -sum(int(row[op] or 0) for op in _OPS))
    shown, rest = rows[:top], rows[top:]
    labels = [_label(f"{row['db']}.{row['table']}") for row in shown]
    if rest:
        labels.append(f"{len(rest):,} other tables")
        shown = [*shown, {op: sum(int(row[op] or 0) for row in rest) for op in _OPS}]
    ax = _axes(ax, (9, 1.2 + 0.28 * max(1, len(shown))))
    if not shown:
        return _empty(ax, "no row changes")
    left = [0] * len(shown)
    for op, colour in _OPS.items():
        values = [int(row[op] or 0) for row in shown]
        if any(values):
            ax.barh(
                range(len(shown)), values, left=left, color=colour, height=0.72,
                label=_total(op, values),
            )  # fmt: skip
        left = [low + value for low, value in zip(left, values, strict=True)]
    _bar_ends(ax, left, [f"{total:,}" for total in left])
    _names(ax, labels)
    _count_axis(ax.xaxis)
    ax.set_xlabel("row changes")
    _legend(ax)
    return ax


def largest_transactions(frame: Any, ax: Axes | None = None, *, top: int = 15) -> Axes:
    """The largest transactions by their bytes in the log (frame: ``log.transactions()``)."""
    from matplotlib.ticker import EngFormatter

    rows = records_of(frame, ["file", "pos", "size", "rows", "outcome"])
    rows.sort(key=lambda row: (-_size(row), str(row["file"]), int(row["pos"])))
    rows = rows[:top]
    ax = _axes(ax, (9, 1.2 + 0.28 * max(1, len(rows))))
    if not rows:
        return _empty(ax, "no transactions")
    kinds = [str(row["outcome"]) for row in rows]
    for kind in dict.fromkeys(kinds):
        at = [i for i, k in enumerate(kinds) if k == kind]
        ax.barh(
            at, [_size(rows[i]) for i in at], height=0.72, color=_OUTCOMES.get(kind, _OTHER),
            label=_label(kind.replace("_", " ")),
        )  # fmt: skip
    counts = [f"{int(row['rows'] or 0):,} rows" for row in rows]
    _bar_ends(ax, [_size(row) for row in rows], counts)
    files = [str(row["file"]) for row in rows]
    names = [file.rstrip("/").rpartition("/")[2] or file for file in files]
    _names(ax, [_label(f"{n}:{row['pos']}") for n, row in zip(names, rows, strict=True)])
    ax.xaxis.set_major_formatter(EngFormatter(unit="B"))
    ax.set_xlabel("bytes in the log")
    _legend(ax)
    return ax


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """``ax``, or the axes of a new figure of ``size`` inches, in a plain style: no box, light
    grid."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as exc:
            raise UsageError(not_installed("matplotlib", "plot")) from exc
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelsize=9)
    return ax


def _empty(ax: Axes, text: str) -> Axes:
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", color="#555555", transform=ax.transAxes)
    return ax


def _minutes(
    ax: Axes, minutes: Sequence[int], base: Sequence[int], values: Sequence[int], **how: Any
) -> None:
    """One bar per minute as a single artist: a week has ten thousand.

    A bar is at least 1/600 of the axis wide, so that one minute of a month is not lost between two
    pixels.
    """
    from matplotlib.collections import PolyCollection

    width = max(_MINUTE, (minutes[-1] + _MINUTE - minutes[0]) / 600) / _DAY
    bars = [
        ((x, low), (x, low + value), (x + width, low + value), (x + width, low))
        for x, low, value in zip(map(_days, minutes), base, values, strict=True)
        if value
    ]
    ax.add_collection(PolyCollection(bars, linewidths=0, **how))


def _seconds(moment: Any) -> int:
    """Seconds since 1970 UTC, from which pandas makes a time."""
    return int(moment.timestamp()) if isinstance(moment, dt.datetime) else int(moment)


def _days(seconds: int) -> float:
    """A time as matplotlib's date axis counts it: days since 1970 UTC."""
    return seconds / _DAY


def _time(seconds: int) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (OverflowError, ValueError, OSError) as exc:
        raise UsageError(f"minute {seconds} is no time that can be drawn") from exc


def _time_axis(ax: Axes, minutes: Sequence[int]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    first, last = _time(minutes[0]), _time(minutes[-1] + _MINUTE)
    locator = AutoDateLocator(tz=dt.UTC, minticks=3, maxticks=9)  # type: ignore[no-untyped-call]
    formatter = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator,
        tz=dt.UTC,
        formats=["%Y", "%b %Y", "%b %d", "%H:%M", "%H:%M", "%H:%M:%S"],
        zero_formats=["", "%Y", "%b %Y", "%b %d", "%H:%M", "%H:%M"],
        show_offset=False,
    )
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(formatter)
    ax.tick_params(axis="x", pad=5)
    edge = max(2 * _MINUTE, (minutes[-1] - minutes[0]) * 0.01)
    ax.set_xlim(_days(minutes[0]) - edge / _DAY, _days(minutes[-1] + _MINUTE) + edge / _DAY)
    ax.set_xlabel(f"UTC, {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}")
    ax.grid(axis="y", color="#dddddd", linewidth=0.7)


def _count_axis(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _bar_ends(ax: Axes, lengths: Sequence[int], texts: Sequence[str]) -> None:
    """A number after each bar, and room for it."""
    ax.set_xlim(0, max(*lengths, 1) * 1.14)
    for y, (length, text) in enumerate(zip(lengths, texts, strict=True)):
        ax.annotate(
            text, (length, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8,
            color="#333333",
        )  # fmt: skip


def _names(ax: Axes, labels: Sequence[str]) -> None:
    """Names at the bars, the first on top."""
    ax.set_yticks(range(len(labels)))
    ax.set_yticklabels(labels, parse_math=False, usetex=False, fontfamily=_fonts())
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="x", color="#dddddd", linewidth=0.7)


def _legend(ax: Axes) -> None:
    """Above the axes, where it hides no bar."""
    legend = ax.legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncols=6, frameon=False, fontsize=9,
        handlelength=1, handleheight=1, borderaxespad=0.2,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_usetex(False)


def _total(op: str, values: Sequence[int]) -> str:
    return f"{op} {sum(values):,}"


def _size(row: dict[str, Any]) -> int:
    return int(row["size"] or 0)


def _label(text: str) -> str:
    """A name as it can be drawn: printable, in letters of an installed font, not too long."""
    letters = _letters()
    shown = "".join(
        c if ord(c) in letters else c.encode("unicode_escape").decode("ascii")
        for c in printable(text)
    )
    if len(shown) > _WIDEST:
        half = _WIDEST // 2
        shown = f"{shown[:half]}…{shown[-half + 1 :]}"
    return shown


@cache
def _fonts() -> list[str]:
    """Font families to draw names with: the default, and one that has more letters if any."""
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *[name for name in _MORE_FONTS if name in there][:2]]


@cache
def _letters() -> frozenset[int]:
    """The code points that :func:`_fonts` can draw."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    found = [get_font(findfont(FontProperties(family=[name]))) for name in _fonts()]
    return frozenset(code for font in found for code in font.get_charmap())
