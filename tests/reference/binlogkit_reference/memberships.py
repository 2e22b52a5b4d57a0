"""Which transaction each event is part of.

In a binary log a transaction ends in the file in which it begins. Up to 5.6 a relay log may be
closed inside of one, whose rest then begins the next relay log.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from binlogkit.constants import EventFlag, EventType
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.query import Query, RowsQuery
from binlogkit.rows.ddl import StatementKind, statement_kind
from tests.reference.binlogkit_reference.tracker import Tracked, TransactionTracker

__all__ = ["Membership", "Memberships", "is_relay", "unread_map"]

_BEGINS = (StatementKind.BEGIN, StatementKind.XA_START)


class Membership(NamedTuple):
    """The transaction of an event, which more is learnt of later on; whether it ends there."""

    transaction: Tracked | None
    ends: bool


class Memberships:
    """Fed with the events of logs in order."""

    def __init__(self) -> None:
        self._tracker = TransactionTracker()

    @property
    def open(self) -> Tracked | None:
        """The transaction that is open."""
        return self._tracker.open

    @open.setter
    def open(self, transaction: Tracked | None) -> None:
        self._tracker.open = transaction

    def take(self, event: Event, *, lost: bool = False) -> Membership:
        """The next event; ``lost``: a range before it is."""
        if lost:
            self._tracker.lost()
        if _begins_anew(self.open, event.body):
            self.open = None
        known = replace(event, body=RowsQuery("")) if unread_map(event) else event
        ended = self._tracker.feed(known)
        return Membership(ended or self.open, ended is not None)


def is_relay(first: Event) -> bool:
    """Whether a log's first event says that it is a relay log (5.6+)."""
    return bool(first.raw.header.flags & EventFlag.RELAY_LOG)


def unread_map(event: Event) -> bool:
    """Whether an event is a table map that cannot be read, but for its table id."""
    raw = event.raw
    is_map = raw.header.type_code == EventType.TABLE_MAP_EVENT and len(raw.body) >= 6
    return is_map and isinstance(event.body, OpaqueEvent) and raw.checksum != "bad"


def _begins_anew(opened: Tracked | None, body: object) -> bool:
    """Whether a statement begins a transaction though another one, that began so, is open."""
    if opened is None or not opened.explicit or not isinstance(body, Query):
        return False
    return statement_kind(body.query, body.status_vars.sql_mode) in _BEGINS
