"""Where transactions lie in logs that are read one after the other.

In a binary log a transaction ends in the file in which it begins. A relay log is closed when it is
large enough, when its receiver stops or loses its source; up to 5.6 also inside a transaction,
whose rest then begins the next file without a GTID, a BEGIN or a table map (max_relay_log_size,
5.6.24; from 5.7 on it waits for the transaction's end).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from binlogkit.constants import EventFlag
from binlogkit.events.base import Event
from binlogkit.events.query import Query
from binlogkit.rows.ddl import StatementKind, statement_kind
from binlogkit.rows.transactions import GTID_TYPES, Transaction, TransactionTracker, belongs
from binlogkit.sources.raw import RawEvent

__all__ = ["Place", "Span", "Spans", "place_of"]

#: An offset, and of the payload there the inner event, or -1 for the payload's own.
Place: TypeAlias = tuple[int, int]

_END = (1 << 63) - 1  # behind every position of a file
_STARTS = (StatementKind.BEGIN, StatementKind.XA_START)

Log = Callable[[], Iterable[Event]]


@dataclass(frozen=True, slots=True)
class Span:
    """A transaction's part in one log, from ``start`` to ``end`` (exclusive).

    A server writes one transaction into a payload; a crafted one may end there and others begin.
    """

    transaction: Transaction
    start: Place
    end: Place


def place_of(raw: RawEvent) -> Place:
    """Where an event is."""
    return (raw.pos, -1 if raw.inner is None else raw.inner)


class Spans:
    """The transactions of logs in order, numbered from ``number``."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self._carried: tuple[Transaction, int] | None = None  # and how many logs it goes on over

    @property
    def carried(self) -> bool:
        """Whether a transaction goes on into the next log."""
        return self._carried is not None

    def of(self, events: Iterable[Event], following: Sequence[Log] = ()) -> Iterator[Span]:
        """The transactions of the next log, one that came over from the log before first.

        ``following``: the logs behind it, read as far as a transaction goes on into them.
        """
        start = 0
        if self._carried is not None:
            transaction, more = self._carried
            self._carried = (transaction, more - 1) if more > 1 else None
            start = _END if more > 1 else transaction.end_pos
            yield Span(transaction, (0, -1), (start, -1))
        if start == _END:
            return
        tracker = TransactionTracker(self.number)
        relay: bool | None = None
        begin = (0, -1)
        for event in events:
            relay = _is_relay(event) if relay is None else relay
            if event.raw.pos < start:
                continue
            if tracker.open is not None and event.raw.header.type_code in GTID_TYPES:
                yield self._own(tracker.open, begin)
                tracker.open = None
            if tracker.open is None:
                begin = place_of(event.raw)
            ended = tracker.feed(event)
            if ended is not None:
                yield self._own(ended, begin, event.raw)
        if tracker.open is not None:
            yield self._last(tracker, begin, following if relay else ())

    def _own(self, transaction: Transaction, begin: Place, last: RawEvent | None = None) -> Span:
        self.number = transaction.number + 1
        if last is not None and last.inner is not None:
            return Span(transaction, begin, (last.pos, last.inner + 1))
        return Span(transaction, begin, (transaction.end_pos, -1))

    def _last(self, tracker: TransactionTracker, begin: Place, following: Sequence[Log]) -> Span:
        """The transaction that is open at the end of a log, completed from those behind it."""
        transaction = tracker.open
        assert transaction is not None
        more = _complete(tracker, following)
        span = self._own(transaction, begin)
        if not more:
            return span
        self._carried = (transaction, more)
        return Span(transaction, begin, (_END, -1))


def _complete(tracker: TransactionTracker, following: Sequence[Log]) -> int:
    """Feed on the following logs until the open transaction ends; how many it reaches into."""
    for count, log in enumerate(following):
        begun, relay = False, None
        for event in log():
            relay = _is_relay(event) if relay is None else relay
            if not relay or event.raw.header.type_code in GTID_TYPES:
                return count + begun
            if not begun and not belongs(event.body):
                continue
            if not begun and _starts(event.body):
                return count
            begun = True
            if tracker.feed(event) is not None:
                return count + 1
    return len(following)


def _is_relay(event: Event) -> bool:
    """Whether the first event of a log says that it is a relay log (5.6+)."""
    return bool(event.raw.header.flags & EventFlag.RELAY_LOG)


def _starts(body: object) -> bool:
    return (
        isinstance(body, Query) and statement_kind(body.query, body.status_vars.sql_mode) in _STARTS
    )
