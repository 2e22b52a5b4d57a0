"""What of a log's rows the compiled kernel leaves to Python, and why: one cause of a closed set.

The kernel's scan reads the v4 logs that servers since 5.1.18 write, byte by byte as they lie on
disk (``rows/scan_walk.py``). From where it gives a log up, that log is read event by event in
Python: the same rows, 50 to 100 times slower; behind damage of a log with checksums and GTID events
until the kernel can go on (``rows/boundaries.py``), else to its end. Each such part is a
:class:`Detour`, and a line of the logger ``binlogkit`` at level INFO.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from binlogkit.errors import printable

if TYPE_CHECKING:
    from binlogkit.rows.boundaries import Boundary
    from binlogkit.rows.walk import Steps

__all__ = ["LOGGER", "Cause", "Detour", "count_rows", "counted"]

LOGGER = "binlogkit"


class Cause(StrEnum):
    """Why the kernel gives a log up."""

    LOOSE_EVENTS = "loose_events"
    OLD_FORMAT = "old_format"
    RELAY_LOG = "relay_log"
    OTHER_FORMAT = "other_format"
    POSITIONS = "positions"
    TABLE_CHANGE = "table_change"
    CONTINUED = "continued"
    DAMAGE = "damage"

    @property
    def sentence(self) -> str:
        """What it means."""
        return _SENTENCES[self]


_SENTENCES = {
    Cause.LOOSE_EVENTS: "events in a text, a hexdump or packets, in any order, without a file",
    Cause.OLD_FORMAT: "the first event is no format description of v4",
    Cause.RELAY_LOG: "a relay log with a transaction that goes on behind its end",
    Cause.OTHER_FORMAT: "headers or events that are not those of a server since 5.1.18",
    Cause.POSITIONS: "no checksums, and positions that are not those of the file",
    Cause.TABLE_CHANGE: "rows whose table map stands before a change of the table",
    Cause.CONTINUED: "it goes on in a transaction of the log before",
    Cause.DAMAGE: "damage, or an event that cannot be read",
}


@dataclass(slots=True)
class Detour:
    """A part of a log from ``pos`` on that was read in Python.

    ``inner``: of the payload at ``pos``, how many inner events the kernel had read, -1: it is none;
    ``events``, ``size``: how many events, and bytes of the log; ``rows``: row changes that were
    handed over, before ``where`` chose among them.
    """

    file: str
    pos: int
    inner: int
    cause: Cause
    events: int = 0
    size: int = 0
    rows: int = 0

    def tell(self) -> None:
        """One line of the log ``binlogkit``."""
        import logging

        logging.getLogger(LOGGER).info("%s", printable(str(self)))

    def __str__(self) -> str:
        counts = f"{self.events} events, {self.size} bytes, {self.rows} row changes"
        return f"{self.file} from {self.pos}: {counts} read in Python: {self.cause.sentence}"


def counted(detour: Detour, steps: Steps, detours: list[Detour]) -> Steps:
    """The steps of a detour, which is one of ``detours`` from the first of them on."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return cast("Boundary | None", end.value)
        if not detour.events:
            detours.append(detour)
        detour.events += 1
        raw = step.event.raw
        if raw.inner is None:
            detour.size += raw.header.size
        yield step


def count_rows(detours: Sequence[Detour], files: Iterable[str]) -> None:
    """Count row changes, of which each has its log's name in ``files``."""
    for file, rows in Counter(files).items():
        next(detour for detour in reversed(detours) if detour.file == file).rows += rows
