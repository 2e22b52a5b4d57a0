"""A reading of the relevant parts of logs that behaves as if all had been read."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from binlogkit.log.index.joined import Joined, Position, pairs
from binlogkit.log.index.kept import Index
from binlogkit.log.index.part import Part
from binlogkit.log.index.selecting import LEDGER, selected, with_statements
from binlogkit.log.index.transactions import joined_transactions
from binlogkit.rows.filters import Filters
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.reading import Reading
from binlogkit.rows.soundness import Finding, Gap
from binlogkit.rows.window import Window
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.tasks import Submit

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SegmentStretch:
    """Consecutive segments of one part: where they begin and end; the end is None for the log's
    end."""

    position: Position
    stop: int | None
    last: bool


class ChosenReading(Reading):
    """The chosen parts of logs, in order; facts about the whole come from ``joined``.

    ``read_before``: when the indexed logs were read in full (µs); ``chosen``: bytes that are read,
    if the ends of all logs are known.
    """

    def __init__(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions,
        parts: Sequence[Part],
        joined: Joined,
        chosen: Sequence[bool],
    ) -> None:
        super().__init__(carriers, options)
        self.joined, self._parts = joined, parts
        self.stretches = list(_stretches(joined.positions, chosen, len(parts)))
        self.schemas, self.problems = joined.schemas, joined.problems
        self.texts = joined.texts
        self.series, self.seen, self.ordinal = joined.series, joined.seen, joined.ordinal
        self.read_before = [part.read_at for part in parts if part.read_at is not None]
        self._of = {carrier.name: carrier for carrier in carriers}

    @property
    def folded(self) -> bool:
        """See :class:`Reading`."""
        return self.joined.folded

    @property
    def gaps(self) -> list[Gap]:
        """See :class:`Reading`."""
        return self.joined.gaps

    @property
    def notes(self) -> list[Finding]:
        """See :class:`Reading`."""
        return self.joined.notes

    def transactions(self, wanted: Filters) -> pa.Table:
        """All wanted transactions, as the index has them."""
        files = [carrier.name for carrier in self._of.values()]
        whole = Joined(self._parts, self.options, sources=wanted.sources, reads=False)
        return joined_transactions(self._parts, whole, wanted, files)

    def windows(self, submit: Submit | None = None) -> Generator[Window, None, None]:
        """The windows of the chosen parts; numbers, tables and sources count over all logs."""
        for stretch in self.stretches:
            reading = self._reading(stretch)
            self.carriers, self.start = reading.carriers, reading.start
            yield from reading.windows(submit)

    def _reading(self, stretch: SegmentStretch) -> Reading:
        position = stretch.position
        carriers = [self._of[name] for name in self._parts[position.part].names]
        first = position.part == 0
        reading = position.read(
            carriers, self.options, stretch.stop, first=first, last=stretch.last
        )
        reading.tables.take_versions(self.joined.schemas)
        reading.sources, reading.threads = self.sources, self.threads
        return reading


def choose(
    index: str | Path,
    carriers: Sequence[Carrier],
    options: ReadOptions,
    wanted: Filters,
    *,
    statements: bool = False,
) -> ChosenReading | None:
    """A reading of the parts that may have wanted row changes; None: read everything.

    ``statements``: what may have affected tables otherwise is relevant, too. Damaged and unreadable
    logs are read as if there were no index.
    """
    parts = list(Index(index).parts(carriers, options, LEDGER, wanted))
    if any(part.damages or part.unreadable is not None for part in parts):
        return None
    joined = Joined(parts, options, sources=wanted.sources)
    chosen = selected(joined.positions, parts, wanted, joined.schemas)
    if statements:
        chosen = with_statements(joined.positions, parts, chosen)
    if all(chosen):
        return None
    return ChosenReading(carriers, options, parts, joined, chosen)


def _stretches(
    positions: Sequence[Position], chosen: Sequence[bool], parts: int
) -> Generator[SegmentStretch, None, None]:
    """The runs of chosen segments, each within one part."""
    begun: Position | None = None
    for i, (position, following) in enumerate(pairs(positions)):
        if not chosen[i]:
            continue
        begun = begun or position
        if following is None or not chosen[i + 1]:
            stop = None if following is None else following.segment.pos
            yield SegmentStretch(begun, stop, position.part == parts - 1)
            begun = None
