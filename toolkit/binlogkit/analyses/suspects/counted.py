"""Suspicious row changes, by their numbers: far more than usual, whole tables, one in pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from binlogkit.analyses.suspects.rules import Suspect
from binlogkit.analyses.suspects.stated import unconditional
from binlogkit.analyses.suspects.units import (
    OFTEN,
    OPS,
    WINDOW,
    Coded,
    Integers,
    Units,
    counted,
    elsewhere,
    integers,
    unusual,
)
from binlogkit.constants import TableId
from binlogkit.rows.window import SEQ_SHIFT

_LEAST = 10  # rows below which a transaction is not large
_LEAST_IN_PIECES = 100  # rows of a connection in a window
_SMALLEST = 5  # rows of a change that can be a table's
_EXPECTED = 8  # connections and windows that would have changed the table, where none did
_OCCASIONS = 10_000  # changes before it that are looked at
_EACH = 0.98  # of a table's rows are the whole table
_PIECES, _EVEN = 5, 1.2  # as many, of about one size, are a job's
_MOST = 200  # of them are looked at
_SOON, _NEAR = 10 * 3600, 50  # seconds, and windows of a table, in which something is done again
_EQUAL = 0.02  # by which the numbers of rows differ
_UNREAD = 0.3  # as unusual it is before the images are read
_SELDOM = 0.05  # of the transactions
_RECOMPUTED = 0.7  # as unusual is an update of all rows, which jobs do, too


class RowSuspects:
    """Finds suspects among the changes of a log.

    ``undone``: transactions that were rolled back; ``empty``: since which transaction the log
    knows all rows of a table; ``unchecked``: rows events with foreign_key_checks off, by ordinal.
    """

    def __init__(
        self,
        changes: pa.Table,
        undone: Integers,
        empty: Mapping[TableId, int],
        unchecked: Collection[int] = (),
    ) -> None:
        self._changes, self._empty, self._unchecked = changes, empty, unchecked
        self.counted = counted(changes, undone)
        self._units = self.counted.units
        self._changed = np.flatnonzero(self._units.group % 3 < 2)
        self._of: dict[int, Suspect] = {}  # by the places of their units

    def find(self) -> list[Suspect]:
        """The suspects, in no order."""
        for step in (self._large, self._in_pieces, self._whole, self._wiped, self._spoken,
                     self._without_checks, self._again, self._deleted):  # fmt: skip
            step()
        return list({id(suspect): suspect for suspect in self._of.values()}.values())

    def _note(self, here: Iterable[int], rule: str, much: float, why: str = "") -> Suspect:
        """These units are suspicious by a rule, too."""
        here, units = list(here), self._units
        suspect = next((self._of[at] for at in here if at in self._of), None)
        if suspect is None:
            group, sizes = int(units.group[here[0]]), units.rows[here]
            name = self.counted.tables[group // 3]
            suspect = Suspect(OPS[group % 3], {}, units.tx[here].tolist(), [name])
            suspect.rows = int(sizes.sum())
            self._of |= dict.fromkeys(here, suspect)
        suspect.found[rule] = max(much, suspect.found.get(rule, 0.0))
        suspect.why += [why] if why else []
        return suspect

    def _large(self) -> None:
        """Far more rows in a transaction than the table is used to."""
        units = self._units.of(self._changed)
        found = {one.at: one for one in unusual(units, _LEAST)}
        for here in units.joined(np.array([*found], np.int64)):
            much = max(found[at].much for at in here.tolist())
            usual = found[int(here[0])].usual
            op = OPS[int(units.group[here[0]]) % 3]
            why = f"95 % of transactions that {op} rows of it change at most {usual:,}"
            suspect = self._note(self._changed[here].tolist(), f"{op}_many", much, why)
            sizes = units.rows[here]
            if len(here) >= _PIECES and np.quantile(sizes, 0.9) <= _EVEN * np.median(sizes):
                suspect.less(0.8, "in pieces of one size, as jobs do it")

    def _in_pieces(self) -> None:
        """Far more rows of a connection, in many transactions, than others change in a window."""
        units = self._units.of(self._changed)
        windows, place = units.windows()
        found = {one.at: one for one in unusual(windows, _LEAST_IN_PIECES)}
        several = [at for at in found if windows.pieces[at] >= _PIECES]
        several = sorted(several, key=lambda at: -found[at].much)[:_MOST]
        for joined in windows.joined(np.array(several, np.int64)):
            here = self._changed[np.isin(place, joined)]
            rows = self._units.rows[here]
            best = max((found[at] for at in joined.tolist()), key=lambda one: one.much)
            known = [self._of[at].found for at in here.tolist() if at in self._of]
            if rows.max() * 2 >= rows.sum() or any(max(f.values()) >= best.much for f in known):
                continue
            for at in here.tolist():
                self._of.pop(at, None)
            why = f"95 % of connections change at most {best.usual:,} of its rows in that time"
            self._note(here.tolist(), "in_pieces", best.much, why)

    def _deleted(self) -> None:
        """Other large deletes: whether the rows were new, only their images say."""
        windows, place = self._units.windows()
        large = np.flatnonzero((windows.rows >= _LEAST_IN_PIECES) & (windows.group % 3 == 1))
        for at in large[np.argsort(-windows.rows[large], kind="stable")][:_MOST].tolist():
            here = np.flatnonzero(place == at).tolist()
            if not self._of.keys() & {*here}:
                self._note(here, "delete_many", _UNREAD)

    def _by_table(self) -> Iterator[tuple[TableId, Integers]]:
        """The units of each table, in log order."""
        tables = self._units.group // 3
        order = np.argsort(tables, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(tables[order])) + 1):
            if len(part):
                yield self.counted.tables[int(tables[part[0]])], part

    def _whole(self) -> None:
        """Each row of a table that the log knows from its beginning."""
        units = self._units
        for name, here in self._by_table():
            if name not in self._empty:
                continue
            here = here[units.tx[here] >= self._empty[name]]
            ops, rows = units.group[here] % 3, units.rows[here]
            signed = np.choose(ops, [np.int64(0), np.int64(-1), np.int64(1)]) * rows
            there = np.cumsum(signed) - signed
            whole = (ops < 2) & (rows >= _SMALLEST) & (rows >= _EACH * there) & (there > 0)
            self._seldom(here[whole], "whole_table")

    def _seldom(self, places: Integers, rule: str) -> None:
        """These units are suspicious, unless the like is done to their table again and again."""
        groups = self._units.group[places]
        for group in np.unique(groups).tolist():
            those = places[groups == group]
            seen = {*(self._units.time[those] // WINDOW).tolist()}
            for here in self._units.joined(those):
                others = elsewhere(int(self._units.time[here[0]]) // WINDOW, seen)
                if others < OFTEN:
                    kind = 1.0 if self._units.group[here[0]] % 3 else _RECOMPUTED
                    self._note(here.tolist(), rule, kind / (1 + others))

    def _wiped(self) -> None:
        """A delete after which nobody changes rows of a table that was changed all the time."""
        units = self._units
        if not len(units):
            return
        first, last = int(units.tx[0]), int(units.tx[-1])
        for _, here in self._by_table():
            here = here[units.group[here] % 3 < 2]
            if not len(here) or units.group[here[-1]] % 3 != OPS.index("delete"):
                continue
            deletes = here[units.group[here] == units.group[here[-1]]][-_OCCASIONS:]
            end = next(part for part in units.joined(deletes) if here[-1] in part)
            if units.rows[end].sum() < _SMALLEST:
                continue
            before = len({units.occasion(at) for at in here[here < end[0]][-_OCCASIONS:].tolist()})
            at, ended = int(units.tx[end[0]]), int(units.tx[end[-1]])
            expected = before * (last - ended) / max(1, at - first)
            if expected >= _EXPECTED:
                why = f"{last - ended:,} transactions of other tables followed"
                self._note(end.tolist(), "wiped", 1.0, why)

    def _spoken(self) -> None:
        """Changes whose statement, which the log has (Rows_query), has no condition."""
        units, query = self._units, Coded.of(self._changes["query"])
        codes = query.codes[self.counted.kept]
        large = (units.group % 3 < 2) & (units.rows >= _SMALLEST)
        those = np.flatnonzero(large[self.counted.place] & (codes > 0))
        bare = {
            code
            for code in np.unique(codes[those]).tolist()
            if unconditional(query.texts[code] or "")
        }
        places = np.unique(self.counted.place[those[np.isin(codes[those], [*bare])]])
        self._seldom(places, "no_condition")

    def _without_checks(self) -> None:
        """Updates and deletes with foreign_key_checks off, where that is seldom."""
        if not len(self._unchecked):
            return
        events = integers(self._changes["seq"])[self.counted.kept] >> SEQ_SHIFT
        off = np.isin(events, np.asarray(self._unchecked))
        places = np.unique(self.counted.place[off])
        if len(places) > _SELDOM * len(self._units):
            return
        for here in self._units.joined(places[self._units.group[places] % 3 < 2]):
            self._note(here.tolist(), "unchecked", 1.0)

    def _again(self) -> None:
        """Updates and inserts of as many rows, by two connections one soon after the other."""
        windows, place = self._units.windows()
        large = np.flatnonzero((windows.rows >= _LEAST_IN_PIECES) & (windows.group % 3 != 1))
        large = large[np.lexsort((windows.tx[large], windows.group[large]))]
        for part in np.split(large, np.flatnonzero(np.diff(windows.group[large])) + 1):
            for one, two in _pairs(windows, part):
                suspect = self._note(np.flatnonzero(place == two).tolist(), "again", _UNREAD)
                suspect.like = self._units.tx[place == one].tolist()


def _pairs(windows: Units, part: Integers) -> Iterator[tuple[int, int]]:
    """Windows of a table and an operation with as many rows, two in some hours, and no third."""
    for at, two in enumerate(part.tolist()):
        near = [
            one
            for one in part[max(0, at - _NEAR) : at + _NEAR].tolist()
            if one != two
            and abs(windows.time[one] - windows.time[two]) <= _SOON
            and abs(windows.rows[one] - windows.rows[two]) <= _EQUAL * windows.rows[two]
        ]
        one = near[0] if len(near) == 1 else two
        if windows.tx[one] < windows.tx[two] and windows.thread[one] != windows.thread[two]:
            yield one, two
