"""Counts over time as the bars, ticks and marks of an SVG picture.

Places along the time are per cent of the picture's width, so that it fits a screen and a phone
without scaling its texts; heights are pixels. Its colours are the page's style sheet's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from binlogkit.reports._values import moment
from binlogkit.reports.model import TimeLine

TOP, HEIGHT = 24, 100  # of the bars, pixels; above them the marks
_MOST = 120  # bars
_MINUTE, _DAY = 60, 86_400
_STEPS = (
    60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, _DAY, 2 * _DAY, 7 * _DAY,
    14 * _DAY, 28 * _DAY, 91 * _DAY, 364 * _DAY, 1820 * _DAY, 7280 * _DAY, 36400 * _DAY,
)  # fmt: skip
_TICKS = 7
_EDGE = 8.0  # per cent, in which a text may not be centred


def picture(line: TimeLine) -> dict[str, Any]:
    """The template's input."""
    times = [time for time, _ in line.counts]
    first, last = min(times), max(times) + _MINUTE
    step = next((s for s in _STEPS if (last - first) / s <= _MOST), _STEPS[-1])
    first -= first % step
    bins: dict[int, dict[str, int]] = {}
    for time, counts in line.counts:
        here = bins.setdefault((time - first) // step, {})
        for name, count in counts.items():
            here[name] = here.get(name, 0) + count
    many = max(bins) + 1
    most = max(1, *(sum(counts.values()) for counts in bins.values()))
    span = many * step
    totals = {n: sum(counts.get(n, 0) for counts in bins.values()) for n in line.counts[0][1]}
    marks = [
        {"rank": rank, "x": _share(time - first, span), "what": what, "time": moment(time)}
        for rank, time, what in line.marks
        if first <= time < first + span
    ]
    return {
        "bars": [bar for at in sorted(bins) for bar in _bars(at, bins[at], many, most)],
        "ticks": list(_ticks(first, span)), "marks": marks, "most": f"{most:,}",
        "totals": [(name, f"{count:,}") for name, count in totals.items()],
        "unit": _UNIT.get(step) or f"{step // _DAY} days", "base": TOP + HEIGHT, "top": TOP,
        "span": f"{moment(first)} to {moment(first + span)}",
    }  # fmt: skip


_UNIT = {
    60: "minute", 120: "2 minutes", 300: "5 minutes", 600: "10 minutes", 900: "15 minutes",
    1800: "half hour", 3600: "hour", 7200: "2 hours", 10800: "3 hours", 21600: "6 hours",
    43200: "12 hours", _DAY: "day",
}  # fmt: skip


def _bars(at: int, counts: Mapping[str, int], many: int, most: int) -> Iterator[Sequence[Any]]:
    """The rectangles of one bar, from below: kind, x, width, y, height."""
    base, width = float(TOP + HEIGHT), 100 / many
    for name, count in counts.items():
        if count:
            height = max(1.0, HEIGHT * count / most)
            base -= height
            yield name, f"{at * width:.2f}", f"{width * 0.86:.2f}", f"{base:.1f}", f"{height:.1f}"


def _ticks(first: int, span: int) -> Iterator[tuple[str, str, str]]:
    """Round times: where, the text's anchor, and the text."""
    step = next((s for s in _STEPS if span / s <= _TICKS), _STEPS[-1])
    for time in range(first + -first % step, first + span, step):
        at = _share(time - first, span)
        anchor = "start" if at < _EDGE else "end" if at > 100 - _EDGE else "middle"
        text = moment(time)
        yield f"{at:.2f}", anchor, text[11:16] if step < _DAY else text[:10]


def _share(part: int, whole: int) -> float:
    return round(100 * part / whole, 2)
