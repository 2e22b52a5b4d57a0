"""What the GTID events of a file say: GTIDs that come again, and the numbers of transactions.

A server's binary log numbers its transactions 1, 2, 3 … in every file (``sequence_number``, 5.7+),
and says for each on which it depends (``last_committed``, a smaller number); 0 is none. A relay log
keeps the source's numbers, which restart when the source's file does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from binlogkit.rows.gtid_ledger import by_origin
from binlogkit.rows.soundness.continuity_checks import SeriesLedger
from binlogkit.rows.soundness.events import Found, WindowEvents
from binlogkit.rows.soundness.finding import FileFacts, finding
from binlogkit.rows.soundness.runs import CLOCK, GTID, EventRuns, Moments

Array = np.ndarray[Any, Any]

_MOST = (1 << 63) - 1
_NONE = -1 << 63
_REPEATED, _DEPENDS, _SEQUENCE = 31, 32, 33  # in the order of an event's findings


class GtidChecks:
    """Takes the events of a file in order; ``ledger``: of all files so far.

    ``numbered``: whether any transaction had a GTID event, also an anonymous one.
    """

    def __init__(self, ledger: SeriesLedger) -> None:
        self._ledger = ledger
        self._sequence = 0
        self._hurt = False  # damage stands after the last number
        self._at = -1  # the last entry that gave one, of those that are taken
        self.numbered = False

    def feed(
        self, events: WindowEvents, runs: EventRuns, facts: FileFacts, doubt: Moments
    ) -> Iterator[Found]:
        """Take some transactions."""
        anonymous = runs.new & (runs.records["has"] & GTID == 0)
        facts.anonymous += int(np.count_nonzero(anonymous))
        if not runs.gtids.any():
            return
        self.numbered = True
        yield from self._repeated(events, runs, facts)
        records, clock = runs.records, runs.records["has"] & CLOCK > 0
        last, number = records["last_committed"], records["sequence_number"]
        if runs.bodies or not clock.all():
            last, number = last.copy(), np.where(clock, number, 0)
        for k, body in runs.bodies.items():
            last[k] = _NONE if body.last_committed is None else min(body.last_committed, _MOST)
            number[k] = min(body.sequence_number or 0, _MOST)
        counted = np.flatnonzero(runs.gtids & (number != 0))
        last, number, firsts = last[counted], number[counted], runs.firsts[counted]
        for k in np.flatnonzero(last >= number).tolist():
            text = f"last_committed {last[k]}, sequence_number {number[k]}"
            yield _found(events, firsts[k], _DEPENDS, "last_committed", text)
        before = np.append(self._sequence, number[:-1])
        if len(number):
            self._sequence, self._at = int(number[-1]), int(firsts[-1])
        if facts.relay:
            return
        starts = [-1, *firsts.tolist()]
        for k in np.flatnonzero((number <= before) | (number - 1 > before)).tolist():
            hurt = doubt.between(starts[k], starts[k + 1]) or (self._hurt and not k)
            if not hurt and not doubt.at(starts[k + 1]):
                yield _jump(events, firsts[k], int(number[k]), int(before[k]))

    def end(self, doubt: Moments, b: int) -> None:
        """The events up to entry ``b`` were taken."""
        self._hurt = doubt.between(self._at, b + 1) or (self._hurt and self._at < 0)
        self._at = -1

    def _repeated(self, events: WindowEvents, runs: EventRuns, facts: FileFacts) -> Iterator[Found]:
        gtids = {k: body.gtid for k, body in runs.bodies.items() if body.gtid is not None}
        for origin, places, numbers in by_origin(runs.records, runs.gtids, gtids):
            again = facts.gtids.add(origin, numbers)
            for k in places[again].tolist():
                gtid = events.gtid(int(runs.numbers[k]))
                text = f"{gtid} was there before"
                yield _found(events, runs.firsts[k], _REPEATED, "gtid_repeated", text)
            known = self._ledger.seen.add(origin, numbers)
            if known.any():
                self._ledger.copied.add(origin, numbers[known])
            copied = numbers[known & ~again]
            if len(copied):
                facts.copied.add(origin, copied)
            late = numbers[~known][self._ledger.awaited.has(origin, numbers[~known])]
            if len(late):
                facts.late.add(origin, late)


def _found(events: WindowEvents, first: Any, rank: int, code: str, text: str) -> Found:
    i = int(first)
    return i, rank, finding(code, events.place(i, events.gtid(int(events.tx[i]))), text)


def _jump(events: WindowEvents, first: Any, number: int, before: int) -> Found:
    text, code = f"sequence_number {number} follows {before}", "sequence_back"
    if number > before:
        text, code = f"{text}: {number - before - 1} are missing between", "sequence_gap"
    return _found(events, first, _SEQUENCE, code, text)
