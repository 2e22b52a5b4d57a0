"""The stretch between a point and a later base: which changes lie there or may be missing there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.errors import UsageError
from binlogkit.log.states.bases.bases import BASE, base_gaps
from binlogkit.log.states.gaps import Reach
from binlogkit.log.states.places import FilePos, Places, among, ended
from binlogkit.rows.soundness import Gap

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log.states.bases.bases import Since
    from binlogkit.log.states.history import History
    from binlogkit.log.states.images.contradictions import Contradiction
    from binlogkit.log.streams import Streams

_ANYWHERE = (1 << 63) - 1  # the place of gaps that cannot be placed before anything
_LATER = "the point is later than the base: going back from a base needs an earlier point"
_NO_ROOM = "events outside transactions cannot be placed: the base has no position"


class BackwardsReach(Reach):
    """The way from a base back to a point.

    ``concerns``: whether something missing at a place of the logs may be missing on the way;
    ``outside``: whether what is outside any transaction at a place lies on it. ``base``: what the
    base holds. UsageError for a point that is later than the base.
    """

    def __init__(
        self,
        log: Streams,
        transactions: pa.Table,
        counted: TransactionNumbers,
        until: Any,
        base: Since,
    ) -> None:
        super().__init__(log.files, transactions, counted, until)
        self._base = base
        self._last = _last(log, base)
        self.unplaced = False  # whether something outside transactions could not be placed
        later = ended(transactions) & among(transactions, counted)
        if (later & ~among(transactions, base.numbers)).any():
            raise UsageError(_LATER)
        inside = Places(transactions, self._files, "end_file", "end_pos").up_to(self._end)
        self._begun = Places(transactions, self._files, "file", "pos").last(inside, (-1, 0))

    def concerns(self, file: str, pos: int | None) -> bool:
        """Whether something missing at a place of the logs may be missing on the way."""
        return not self._before(file, pos) and not self._after(file, pos)

    def outside(self, file: str, pos: int) -> bool:
        """Whether what is outside any transaction lies on the way."""
        if self.holds(file, pos):
            return False
        if self._base.place is None:
            self.unplaced = True
        return not self._after(file, pos)

    def gaps(self, found: Iterable[Gap]) -> Iterator[Gap]:
        """The gaps that may lie on the way."""
        return (g for g in found if g.seq == _ANYWHERE or self.concerns(g.file, g.pos))

    def shows(self, found: Contradiction) -> bool:
        """Whether a change outside the logs may lie on the way."""
        shown, since = found.shown, found.since
        return not self.holds(shown.file, shown.pos) and not self._after(since.file, since.pos)

    def base_gaps(self, log: Streams, history: History, transactions: pa.Table) -> list[Gap]:
        """Where changes may be missing between the logs and the base."""
        base, counted = self._base, self.counted
        found = base_gaps(
            log,
            base,
            history,
            transactions,
            lambda tx: tx in base.numbers and tx not in counted,
            self._end[0] + 1,
        )
        if self.unplaced:
            found.append(Gap(BASE, log.files[0], None, 0, None, _NO_ROOM))
        return found

    def _before(self, file: str, pos: int | None) -> bool:
        """Whether a gap certainly ends before the point: something later was read that the point
        includes."""
        number = self._files.get(file, len(self._files))
        if pos is None:
            return number <= self._end[0]
        return (number, pos) < self._begun

    def _after(self, file: str, pos: int | None) -> bool:
        number = self._files.get(file, 0)
        return number > self._last[0] if pos is None else (number, pos) >= self._last


def _last(log: Streams, base: Since) -> FilePos:
    """The place (file number, position) from which on nothing is in the base."""
    last = (len(log.files), 0)
    place = base.trusted
    if place is not None:
        last = (place.file, place.pos) if place.given else (place.file + 1, -1)
    if base.gtids is not None and base.place is None:
        numbers = {name: i for i, name in enumerate(log.files)}
        later = [
            f.name
            for f in log.file_facts
            if f.previous is not None and not base.gtids.subtract(f.previous)
        ]
        if later and len({file.source for file in log.file_facts}) == 1:
            last = min(last, (min(numbers.get(name, len(numbers)) for name in later), 0))
    return last
