"""What a reading lacks: damage, missing files and transactions, and the tables each may concern.

A reading takes its windows here (``Reading.gaps``), so that every answer knows what it stands on,
up to where it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from binlogkit.errors import DamageError, printable
from binlogkit.rows.losses import Loss
from binlogkit.rows.series import Series
from binlogkit.rows.soundness.alone import Alone, Unread
from binlogkit.rows.soundness.finding import CODES, Finding, Grade, Role
from binlogkit.rows.soundness.soundness import Soundness
from binlogkit.rows.window import SEQ_SHIFT, Met, Window

LAST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Gap:
    """Where changes may be missing.

    ``code``: of the finding, ``damage`` where damage took them; ``seq``: its place in the reading;
    ``tables``: ``db.table`` of those that it can concern, None for any; ``found``: what is missing,
    in words.
    """

    code: str
    file: str
    pos: int | None
    seq: int
    tables: frozenset[str] | None
    found: str

    def concerns(self, names: Iterable[str]) -> bool:
        """Whether changes of one of these tables may be missing."""
        return self.tables is None or not self.tables.isdisjoint(names)

    def __str__(self) -> str:
        at = "" if self.pos is None else f" at {self.pos}"
        return printable(f"{self.file}{at}: {self.found}")


@dataclass(slots=True)
class Gaps:
    """Takes the windows of a reading; :meth:`found` and :meth:`notes` say what they showed.

    ``unread``: says which rows of a window cannot be read, where somebody looks; ``heard``: takes
    all findings, as they are found.
    """

    soundness: Soundness = field(default_factory=Soundness)
    unread: Callable[[Window], Sequence[Met]] = lambda _: ()
    heard: Callable[[list[Finding]], object] = lambda _: None
    _findings: list[tuple[Finding, int]] = field(default_factory=list)  # and their place
    _starts: dict[str, int] = field(default_factory=dict)  # the place of each file's first event
    _rows: dict[tuple[str, int], Gap] = field(default_factory=dict)
    _next: int = 0  # the place of the next event

    def feed(self, window: Window) -> None:
        """Take the next window."""
        stretch, file = window.stretch, window.carrier.name
        found = self.soundness.feed(window, self.unread(window))
        self.heard(found)
        if stretch is not None:
            self._starts.setdefault(file, stretch.ordinal)
            self._next = stretch.ordinal + len(stretch.entries)
        for one in found:
            if CODES[one.code].role is not None:
                ordinal, pos = self._next, one.place.pos
                if stretch is not None and len(stretch.entries) and pos is not None:
                    after = int(np.searchsorted(stretch.positions, pos, "right"))
                    ordinal = stretch.ordinal + max(after - 1, 0)
                self._findings.append((one, ordinal))

    def alone(self) -> Alone:
        """What was taken of a file, as it can be joined to others."""
        unread = []
        for gap in self._rows.values():
            table = next(iter(gap.tables)) if gap.tables else None
            unread.append(Unread(gap.file, gap.pos or 0, gap.seq >> SEQ_SHIFT, table, gap.found))
        alone = self.soundness.alone()
        return replace(
            alone, starts=tuple(self._starts.get(one.name) for one in alone.files),
            events=self._next,
            findings=tuple(self._findings), unread=tuple(unread),
        )  # fmt: skip

    def join(self, part: Alone, ordinal: int, series: Series | None) -> None:
        """Take files that were read by themselves; ``ordinal``: of their first event here;
        ``series``: which they belong to, None without an event."""
        if part.losses:
            losses = tuple(replace(loss, ordinal=ordinal + loss.ordinal) for loss in part.losses)
            part = replace(part, losses=losses)
        found, known = self.soundness.join(part, series)
        self._findings += [
            (one, ordinal + at)
            for one, at in part.findings
            if one.code != "xa_unprepared" or one.place not in known
        ]
        self._next = ordinal + part.events
        self._findings += [(one, self._next) for one in found if CODES[one.code].role is not None]
        for file, start in zip(part.files, part.starts, strict=True):
            if start is not None:
                self._starts[file.name] = ordinal + start
        for rows in part.unread:
            seq = ordinal + rows.event << SEQ_SHIFT
            tables = None if rows.table is None else frozenset([rows.table])
            gap = Gap("damage", rows.file, rows.pos, seq, tables, rows.found)
            self._rows.setdefault((rows.file, rows.pos), gap)

    def take_rows(self, window: Window, i: int, error: DamageError) -> None:
        """The rows of entry ``i`` of a window cannot be read."""
        stretch = window.stretch
        assert stretch is not None
        schema = window.schemas[int(stretch.entries["slot"][i])]
        tables = None if schema is None else frozenset([".".join(schema.name)])
        seq = stretch.ordinal + i << SEQ_SHIFT
        gap = Gap("damage", error.file, error.offset, seq, tables, f"damage: {error.reason}")
        self._rows.setdefault((error.file, error.offset), gap)

    def found(self, ordinal: int, stopped: DamageError | None) -> list[Gap]:
        """The gaps so far, in log order; ``ordinal``: up to which event the reading came;
        ``stopped``: what ended it before the logs' end."""
        losses = map(_of_loss, self.soundness.losses)
        found = [*self._gaps(), *self._rows.values(), *losses]
        if stopped is not None:
            text = f"damage ends the reading: {stopped.reason}"
            seq = ordinal << SEQ_SHIFT
            found.append(Gap("damage", stopped.file, stopped.offset, seq, None, text))
        return sorted((g for g in found if g.tables != frozenset()), key=lambda gap: gap.seq)

    def notes(self) -> list[Finding]:
        """What concerns the whole of what was read, and means no gap, in log order."""
        found = (*(f for f, _ in self._findings), *self.soundness.end())
        return [f for f in found if CODES[f.code].role == Role.NOTE]

    def _gaps(self) -> Iterator[Gap]:
        """Those that findings show; logs without any event have none."""
        if not any(file.events for file in self.soundness.files):
            return
        ends = ((f, self._starts.get(f.place.file, 0)) for f in self.soundness.end())
        for one, ordinal in [*self._findings, *ends]:
            at, role = one.place, CODES[one.code].role
            if role in (Role.GAP, Role.ORDER) and one.grade != Grade.NOTE:
                seq = LAST if role == Role.ORDER else ordinal << SEQ_SHIFT
                found = f"{one.found}. {one.meaning}"
                yield Gap(one.code, at.file, at.pos, seq, one.tables, found)


def _of_loss(loss: Loss) -> Gap:
    tables = None if loss.concerns is None else frozenset(loss.concerns)
    seq = loss.ordinal << SEQ_SHIFT
    return Gap("damage", loss.file, loss.pos, seq, tables, f"damage: {loss.sentence}")
