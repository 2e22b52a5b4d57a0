"""Past moments: the tables as of each, as far back as memory allows.

Rows are Arrow tables that no change writes into: two moments have what did not change between them
in common, and a moment more takes what changed alone.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from binlogkit.constants import TableId
from binlogkit.errors import UndeterminedError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.livestate.moment import Moment
from binlogkit.rows.series import in_order

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.livestate.tables import Shown

#: What names a moment: itself, its GTID set, or the place after its last transaction.
At: TypeAlias = "Moment | GtidSet | str | tuple[str, int]"


@dataclass(frozen=True, slots=True)
class _Past:
    """``parts``: the memory of the tables' rows, the size of each part by its address."""

    moment: Moment
    tables: Mapping[TableId, Shown]
    parts: Mapping[int, int]


class Moments:
    """The last moments; the oldest go where all take more than ``most`` bytes but the present."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._kept: deque[_Past] = deque()
        self._users: Counter[int] = Counter()  # of Arrow's buffers, by address

    @property
    def on(self) -> bool:
        """Whether moments are kept at all."""
        return self._most > 0

    @property
    def moments(self) -> list[Moment]:
        """The moments that are kept, the latest last."""
        return [one.moment for one in self._kept]

    def note(self, moment: Moment, tables: Mapping[TableId, Shown]) -> None:
        """Keep a moment, which is the latest."""
        parts = {k: v for shown in tables.values() for k, v in _parts(shown.rows.table)}
        self._kept.append(_Past(moment, tables, parts))
        for address, size in parts.items():
            self._bytes += 0 if self._users[address] else size
            self._users[address] += 1
        present = sum(parts.values())
        while self._bytes - present > self._most and len(self._kept) > 1:
            for address, size in self._kept.popleft().parts.items():
                self._users[address] -= 1
                if not self._users[address]:
                    self._bytes -= size
                    del self._users[address]

    def find(self, table: str, at: At) -> tuple[Moment, Mapping[TableId, Shown]]:
        """The moment that ``at`` names. UndeterminedError: it is not one that is kept."""
        at = GtidSet.parse(at) if isinstance(at, str) else at
        for one in reversed(self._kept):
            if _is(one.moment, at):
                return one.moment, one.tables
        raise UndeterminedError(table, (self._why_not(at),))

    def _why_not(self, at: Moment | GtidSet | tuple[str, int]) -> str:
        if not self._kept:
            return "no moment that went by is kept (history=)"
        first, last = self._kept[0].moment, self._kept[-1].moment
        if not _reaches(last, at):
            return f"that was not reached, but {last.file}:{last.pos} (wait_for)"
        if _reaches(first, at):
            kept = f"{first.file}:{first.pos} to {last.file}:{last.pos}"
            return f"that is before what is kept, {kept}, or no moment of it (history=)"
        for before, after in pairwise(self.moments):
            if _reaches(after, at):
                place = f"{before.file}:{before.pos} and {after.file}:{after.pos}"
                return f"what stands between {place} came together and was applied as one step"
        raise AssertionError("one of both reaches it")


def _is(moment: Moment, at: Moment | GtidSet | tuple[str, int]) -> bool:
    if isinstance(at, Moment):
        return moment == at
    if isinstance(at, GtidSet):
        return at == moment.gtids
    return in_order((moment.file, moment.pos)) == in_order(at)


def _reaches(moment: Moment, at: Moment | GtidSet | tuple[str, int]) -> bool:
    """Whether a moment is that or a later one."""
    if isinstance(at, Moment):
        return moment.count >= at.count
    if isinstance(at, GtidSet):
        return not at.subtract(moment.gtids)
    return in_order((moment.file, moment.pos)) >= in_order(at)


def _parts(table: pa.Table) -> Iterator[tuple[int, int]]:
    """Address and size of each of Arrow's buffers in a table."""
    for column in table.columns:
        for chunk in column.chunks:
            for part in chunk.buffers():
                if part is not None:
                    yield part.address, part.size
