"""Where one log may lack statements on tables, and which tables are the same after such a place.

A server gives a table another id whenever it opens it anew, as after each statement that alters,
renames or replaces it: so a table whose map has one id before a place and after it was not altered
in between (seen in the logs of tests/_data: 3,067 such statements, 5.5 to 9.7).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence

from binlogkit.constants import TableId
from binlogkit.events.table_map import TableMap
from binlogkit.log.index.part import Part, Said, Wrote
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.options import KnownTables, Lost

_EVERY = 1 << 62  # after all offsets


class Losing:
    """The places of one part, one after the other as the part is joined.

    ``at``: the offset of the one that was passed last, 0 before the first; ``known``: by place,
    what is known of tables from there on.
    """

    def __init__(self, part: Part, *, forgets: bool) -> None:
        self._numbers = {name: i for i, name in enumerate(part.names)}
        self._left = sorted(set(self._places(part)), reverse=True) if forgets else []
        self.at = 0
        self._met: dict[tuple[int, TableId], tuple[Lost, Lost]] = {}
        self._given: dict[int, list[Catalog]] = {}
        self.known: dict[Lost, KnownTables] = {}
        for said in part.said if self._left else ():
            if isinstance(body := said.body, TableMap):
                key, at = (body.table_id, (body.db, body.table)), self.of(said)
                self._met[key] = self._met.get(key, (at, at))[0], at
            elif isinstance(body, Catalog):
                self._given.setdefault(said.raw.pos, []).append(body)

    def _places(self, part: Part) -> Iterable[Lost]:
        """Damage, unless what stands around it shows that it took no statement on tables."""
        losses = [one for one in part.alone.losses if not one.altered]
        unhurt = sorted((self._numbers.get(one.file, 0), one.pos, one.end_pos) for one in losses)
        for error in part.damages:
            number, offset = place = self._numbers.get(error.file, 0), error.offset
            i = bisect(unhurt, (number, offset, _EVERY)) - 1
            within = i >= 0 and unhurt[i][0] == number and offset < unhurt[i][2]
            if error.end is not None and not within:
                yield place
        for loss in part.alone.losses:
            if loss.event == "QUERY_EVENT" and loss.altered:
                yield self._numbers.get(loss.file, 0), loss.pos
        for wrote in part.wrote:
            if wrote.action == "incident":
                yield self._numbers.get(wrote.file, 0), wrote.pos

    def of(self, said: Said | Wrote) -> Lost:
        """Where something stands; what users gave stands before the part."""
        if said.event < 0:
            return 0, 0
        at = said if isinstance(said, Wrote) else said.raw
        return self._numbers.get(at.file, 0), at.pos

    def before(self, place: Lost | None) -> Lost | None:
        """The first place before another, or before the part's end, that was not passed; those that
        follow it up to there are passed with it."""
        first, until = None, place or (len(self._numbers), _EVERY)
        while self._left and self._left[-1] < until:
            passed = self._left.pop()
            first = first or passed
        self.at = self.at if first is None else first[1]
        return first

    def same(self, place: Lost) -> set[TableId]:
        """The tables, by their maps' names, that are the same before a place and after it."""
        return {name for (_, name), (first, last) in self._met.items() if first < place < last}

    def given(self, place: Lost) -> Sequence[Catalog]:
        """The definitions that users gave of the tables after a place."""
        return self._given.get(place[1], ())
