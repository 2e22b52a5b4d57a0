"""Which transaction each event is part of, over logs in order.

In a binary log a transaction ends in the file in which it begins. Up to 5.6 a relay log may be
closed inside of one, whose rest then begins the next relay log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from binlogkit.events.query import Query
from binlogkit.rows.ddl import StatementKind, statement_kind
from binlogkit.rows.transactions import Transaction, TransactionTracker
from binlogkit_reference.stored import StoredLog

__all__ = ["Membership", "memberships"]

_BEGINS = (StatementKind.BEGIN, StatementKind.XA_START)


class Membership(NamedTuple):
    """The transaction of an event, as it is known when all logs were read; whether it ends it."""

    transaction: Transaction | None
    ends: bool


def memberships(logs: Sequence[StoredLog]) -> list[list[Membership]]:
    """Those of each log's events."""
    tracker = TransactionTracker()
    found = []
    for log in logs:
        if not log.relay:
            tracker.open = None
        of_log: list[Membership] = []
        for stored in log.events:
            if _begins_anew(tracker.open, stored.event.body):
                tracker.open = None
            ended = tracker.feed(stored.event)
            of_log.append(Membership(ended or tracker.open, ended is not None))
        if not log.relay:
            tracker.open = None
        found.append(of_log)
    return found


def _begins_anew(opened: Transaction | None, body: object) -> bool:
    """Whether a statement begins a transaction though another one, that began so, is open."""
    if opened is None or not opened.explicit or not isinstance(body, Query):
        return False
    return statement_kind(body.query, body.status_vars.sql_mode) in _BEGINS
