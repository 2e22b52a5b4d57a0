"""Rows followed through their changes: which of them had a key, and what each change did.

The input is small: the changes of the keys that one row had, in log order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.structure import Alteration

Record = dict[str, Any]
Step = tuple[int, Callable[[], None]]
_ENDS = ("truncate", "drop", "drop_database", "create")


@dataclass(slots=True, eq=False)
class _Life:
    """A row: its known cells, and whether it had the key at some time."""

    known: Record = field(default_factory=dict)
    asked: bool = False


class Lives:
    """The rows that have one of some keys.

    ``asked``: the wanted key as texts; ``completed``: whether cells missing in images are as
    earlier changes left them, i.e. no unlogged cascade changed them.
    """

    def __init__(self, asked: Collection[str], *, completed: bool = True) -> None:
        self._asked, self._completed = asked, completed
        self._current: dict[str, _Life] = {}
        self._events: list[tuple[Record, _Life | None]] = []

    def change(
        self, record: Record, was: str | None, now: str | None, names: Sequence[str]
    ) -> None:
        """Take a change: its ``before`` and ``after`` are completed from earlier ones.

        ``was``, ``now``: its key before and after; ``names``: the table's columns.
        """
        life = self._current.pop(was, None) if was is not None else None
        life = _Life() if life is None else life
        if {was, now} & set(self._asked):
            life.asked = True
        if now is not None:
            self._current[now] = life
        before, after, known = record["before"], record["after"], life.known
        if before is not None:
            if any(known[name] != value for name, value in before.items() if name in known):
                known = {}  # changed by something unlogged
            before = {**known, **before}
        if after is not None:
            after = {**(before or {}), **after}
        images = [image for image in (before, after) if image is not None]
        record["unknown"] = [n for n in names if any(n not in image for image in images)]
        there = [n for n in names if all(n in image for image in images)]
        record["changed"] = [n for n in there if len(images) == 1 or images[0][n] != images[1][n]]
        for side, image in (("before", before), ("after", after)):
            record[side] = None if image is None else {n: image[n] for n in names if n in image}
        if self._completed:
            life.known = {n: v for n, v in (after or {}).items() if not _is_diff(v)}
        self._events.append((record, life))

    def happen(self, record: Record, boundary: Boundary) -> None:
        """Take what happens to the table as a whole."""
        ended = None
        ends = boundary.action in _ENDS or boundary.deletes_all
        if ends and not boundary.conditional:
            ended = next((life for life in self._current.values() if life.asked), None)
            self._current.clear()
        elif boundary.action == "alter":
            self._alter(boundary.alteration)
        elif boundary.action not in ("rename", "create"):
            self.doubt()
        self._events.append((record, ended))

    def doubt(self) -> None:
        """Rows may have been changed here without logging."""
        for life in self._current.values():
            life.known = {}

    def _alter(self, done: Alteration | None) -> None:
        if done is None:
            self.doubt()
            return
        gone = done.dropped | done.changed.keys() | done.lost
        for life in self._current.values():
            moved = {
                done.renamed.get(n, n): v for n, v in life.known.items() if n not in done.dropped
            }
            life.known = {n: v for n, v in moved.items() if n not in gone}
        # The key's text may differ from now on: the row that had the key still has it.
        for text in self._asked:
            if text in self._current:
                self._current |= dict.fromkeys(self._asked, self._current[text])
                break

    def story(self) -> Iterator[Record]:
        """The events of the rows that had the key, each with its ``life``, and what happened to the
        table from the first of them on."""
        numbers: dict[int, int] = {}
        for record, life in self._events:
            if life is not None and life.asked:
                number = numbers.setdefault(id(life), len(numbers) + 1)
                yield record | {"life": number}
            elif life is None and numbers:
                yield record | {"life": None}


def _is_diff(value: Any) -> bool:
    return isinstance(value, Mapping) and "json_diff" in value


def in_order(*streams: Sequence[Step]) -> None:
    """Merge what happens at places (``seq``) in order."""
    for _, do in sorted((step for stream in streams for step in stream), key=lambda step: step[0]):
        do()
