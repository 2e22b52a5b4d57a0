"""Which transaction each event belongs to, and when one has ended, event by event."""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit.events.base import Event
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.rows.transactions import GTID_TYPES, Transaction, belongs

__all__ = ["Tracked", "TransactionTracker"]


@dataclass(slots=True)
class Tracked(Transaction):
    """A transaction with what its events' headers say; ``size``: bytes."""

    end_pos: int = 0
    server_id: int = 0
    timestamp: int = 0
    end_timestamp: int = 0
    events: int = 0
    size: int = 0


class TransactionTracker:
    """Feeds on events; ``open``: the transaction that is open."""

    def __init__(self) -> None:
        self._number = 0
        self.open: Tracked | None = None
        self._numbered = self._torn = False

    def lost(self) -> None:
        """A range is lost before the next event, and a GTID event with it if the log has some."""
        self._torn = self._numbered

    def feed(self, event: Event) -> Tracked | None:
        """Take the next event; the transaction that ends with it, else None."""
        raw, header = event.raw, event.raw.header
        numbers, torn = header.type_code in GTID_TYPES, False
        if isinstance(event.body, (FormatDescription, StartV3)):
            self._numbered = self._torn = False
        self._numbered |= header.type_code in GTID_TYPES[:3]
        transaction = None if numbers else self.open
        if transaction is None:
            if not (header.type_code in GTID_TYPES or belongs(event.body)):
                return None
            transaction = Tracked(self._number, raw.file, raw.pos)
            transaction.server_id, transaction.timestamp = header.server_id, header.timestamp
            self._number += 1
            torn, self._torn = self._torn and not numbers, False
        if torn and not isinstance(event.body, (Query, ExecuteLoadQuery)):
            transaction.explicit = True
        transaction.events += 1
        transaction.size += header.size if raw.inner is None else 0
        transaction.end_pos, transaction.end_timestamp = raw.end_pos, header.timestamp
        ended = transaction.take(event)
        if torn and not ended:
            transaction.explicit = True
        self.open = None if ended else transaction
        return transaction if ended else None
