"""Events of a log, or of a text, as annotated walks over their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from binlogkit.constants import event_type_name
from binlogkit.errors import UsageError
from binlogkit.events.explain.walk import EventWalk
from binlogkit.log.streams import Streams
from binlogkit.rows.explain.log import ExplainableEvent, ExplainingWalk
from binlogkit.rows.filter_args import place_in

EventPlace: TypeAlias = "int | str | tuple[int, int]"
_INNER = re.compile(r"(.*\d)/(\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Explained events, in the log's order.

    ``events``: each with its bytes (``data``), the tree of its parts (``root``) and its
    ``problems`` . ``print()`` shows the text, a notebook the table.
    """

    events: tuple[EventWalk, ...]

    @property
    def problems(self) -> list[str]:
        """The problems found, each a sentence with its place."""
        return [
            f"{walk.raw.file} at {walk.place}: {problem}"
            for walk in self.events
            for problem in walk.problems
        ]

    def records(self) -> Iterator[dict[str, object]]:
        """One dict per part of each event, as ``explain --format jsonl``."""
        from binlogkit.frames.event_records import explain_records

        for walk in self.events:
            yield from explain_records(walk)

    def text(self, width: int | None = None) -> str:
        """The annotated bytes as text. ``width``: columns of the screen."""
        from binlogkit.reports.explain.text import render

        return "".join(piece for walk in self.events for piece in render(walk, width))

    def html(self) -> str:
        """The annotated bytes as a self-contained HTML file."""
        from binlogkit.reports.explain.html import render

        return render(self.events)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<explanation of {len(self.events)} events: print() shows it>"

    def _repr_html_(self) -> str:
        from binlogkit.reports.explain.html import fragment

        return fragment(self.events)


def explanations(
    log: Streams, at: EventPlace | Iterable[EventPlace] | None = None
) -> Iterator[EventWalk]:
    """The events at these places, or all, one at a time, so that not all are in memory.

    Errors: see :func:`binlogkit.explain`.
    """
    search = None if at is None else _Search([_place(log, place) for place in _several(at)])
    walk = ExplainingWalk(log.carriers, replace(log.options, on_damage="report"))
    log.damages = walk.damages
    for event in walk.events():
        if search is None or search.finds(event):
            yield event.explain()
        if search is not None and search.over:
            return
        if event.damage is not None and log.options.on_damage == "stop":
            raise event.damage
    if search is not None:
        raise search.missing()


_Wanted: TypeAlias = tuple[str, int, "int | None"]


def _several(at: EventPlace | Iterable[EventPlace]) -> Sequence[EventPlace]:
    if isinstance(at, int | str):
        return [at]
    if isinstance(at, tuple) and len(at) == 2 and all(isinstance(n, int) for n in at):
        return [cast("tuple[int, int]", at)]
    return list(at)


def _place(log: Streams, place: EventPlace) -> _Wanted:
    """The file, position and payload number in ``place``."""
    outer, inner = place if isinstance(place, tuple) else (place, None)
    if isinstance(outer, str) and (found := _INNER.fullmatch(outer)):
        outer, inner = found[1], int(found[2])
    return *place_in(log.files, outer), inner


class _Search:
    """Tracks which wanted events were met, and which events are near the others."""

    def __init__(self, wanted: Sequence[_Wanted]) -> None:
        self._left = list(dict.fromkeys(wanted))
        self._below: dict[_Wanted, int] = {}
        self._above: dict[_Wanted, int] = {}
        self._inner: dict[tuple[str, int], int] = {}  # events seen inside wanted payloads

    @property
    def over(self) -> bool:
        """Whether all wanted events were met."""
        return not self._left

    def finds(self, event: ExplainableEvent) -> bool:
        """Whether the event is wanted. UsageError: a wanted one lies inside this one."""
        key = (event.file, event.pos, event.inner)
        if key in self._left:
            self._left.remove(key)
            return True
        for wanted in self._left:
            if wanted[:2] == key[:2]:
                self._inner[key[:2]] = 0 if event.inner is None else event.inner + 1
            elif wanted[0] == event.file:
                self._near(wanted, event.pos)
        if event.inner is not None:
            return False
        for file, pos, _ in self._left:
            if file == event.file and event.pos < pos < event.end_pos:
                what = (
                    "a damaged range"
                    if event.raw is None
                    else event_type_name(event.raw.header.type_code)
                )
                raise UsageError(
                    f"{file}: no event starts at {pos}; it lies in {what}, {event.pos} to "
                    f"{event.end_pos}, which are the nearest positions"
                )
        return False

    def _near(self, wanted: _Wanted, start: int) -> None:
        """Note where an event starts, if no nearer start is known."""
        if start < wanted[1]:
            self._below[wanted] = max(start, self._below.get(wanted, start))
        else:
            self._above[wanted] = min(start, self._above.get(wanted, start))

    def missing(self) -> UsageError:
        """The error for a wanted place without an event, with the nearest events."""
        wanted = file, pos, inner = self._left[0]
        count = self._inner.get((file, pos))
        if count is not None:
            held = f"holds the events 0 to {count - 1}" if count else "holds no events"
            return UsageError(f"{file}: no event starts at {pos}/{inner}: that at {pos} {held}")
        near = [str(starts[wanted]) for starts in (self._below, self._above) if wanted in starts]
        text = f"the nearest start at {' and '.join(near)}" if near else "there is none"
        return UsageError(f"{file}: no event starts at {pos}; {text}")
