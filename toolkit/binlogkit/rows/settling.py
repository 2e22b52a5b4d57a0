"""What an event that the kernel's scan leaves to Python does to transactions."""

from __future__ import annotations

from typing import Any

from binlogkit.events.base import Event
from binlogkit.events.gtid import Gtid
from binlogkit.events.mariadb import opens_transaction
from binlogkit.rows.transactions import GTID_TYPES, Outcome, Transaction, TransactionTracker

__all__ = ["OUTCOMES", "settled"]

#: The kernel's numbers of outcomes.
OUTCOMES = (Outcome.CUT, Outcome.COMMITTED, Outcome.ROLLED_BACK, Outcome.PREPARED)


def settled(
    event: Event, opened: tuple[bool, bool] | None
) -> tuple[dict[str, Any], Transaction | None]:
    """The arguments of ``Scanner.settle`` for ``event``, and the transaction with what it told.

    ``opened``: (explicit, has a GTID) of the open transaction, None where there is none.
    """
    raw, body = event.raw, event.body
    if raw.header.type_code in GTID_TYPES:
        tagged = isinstance(body, Gtid) and body.gtid is not None
        explicit = opens_transaction(raw.header.type_code, body)
        return {"start": True, "tagged": tagged, "explicit": explicit}, None
    tracker = TransactionTracker()
    if opened is not None:
        explicit, has_gtid = opened
        tracker.open = Transaction(
            0, raw.file, raw.pos, raw.file, raw.end_pos, 0, 0, 0,
            gtid="known" if has_gtid else None, explicit=explicit,
        )  # fmt: skip
    ended = tracker.feed(event)
    known = ended or tracker.open
    if known is None:
        return {"join": False}, None
    effect = {
        "explicit": known.explicit,
        "thread_id": -1 if known.thread_id is None else known.thread_id,
        "ends": ended is not None,
        "outcome": OUTCOMES.index(known.outcome),
    }
    return effect, known
