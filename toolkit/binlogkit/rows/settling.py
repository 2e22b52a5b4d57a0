"""What an event that the kernel's scan leaves to Python does to transactions."""

from __future__ import annotations

from typing import Any, NamedTuple

from binlogkit._kernel.native.index import Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.events.base import Event
from binlogkit.events.gtid import Gtid, opens_transaction
from binlogkit.events.payload import TransactionPayload
from binlogkit.events.query import Query
from binlogkit.rows.ddl import StatementKind, statement_kind
from binlogkit.rows.transactions import GTID_TYPES, Outcome, Transaction, transaction_of

#: The kernel's numbers of outcomes.
OUTCOMES = (Outcome.CUT, Outcome.COMMITTED, Outcome.ROLLED_BACK, Outcome.PREPARED)

_BEGINS = (StatementKind.BEGIN, StatementKind.XA_START)


class Settled(NamedTuple):
    """``number``: of the event's transaction, -1 for none; ``transaction``: what the event alone
    says of it; ``kind``: of a statement."""

    number: int
    transaction: Transaction | None
    kind: StatementKind | None


def settle(scanner: Scanner, index: Index, origin: int, event: Event, spots: Any) -> Settled:
    """Pass to the scanner what the event after which it stopped does; ``spots``: see its scan."""
    raw, body = event.raw, event.body
    kind = None
    if isinstance(body, Query):
        kind = statement_kind(body.query, body.status_vars.sql_mode)
        length = int.from_bytes(raw.body[11:13], "little")
        scanner.know_status(raw.body[13 : 13 + length])
    opened = scanner.open_transaction
    if opened is not None and opened[0] and kind in _BEGINS:
        opened = None
    effect, transaction = _effect(event, opened, begins=kind in _BEGINS)
    return Settled(scanner.settle(index, origin, spots=spots, **effect), transaction, kind)


def _effect(
    event: Event, opened: tuple[bool, bool] | None, *, begins: bool
) -> tuple[dict[str, Any], Transaction | None]:
    """The arguments of ``Scanner.settle``, and the transaction with what the event said.

    ``opened``: (explicit, has a GTID) of the open transaction, None where there is none.
    """
    raw, body = event.raw, event.body
    if raw.header.type_code in GTID_TYPES:
        effect: dict[str, Any] = {
            "start": True,
            "explicit": opens_transaction(raw.header.type_code, body),
        }
        if isinstance(body, Gtid):
            effect["tagged"] = body.gtid is not None
            effect["length"] = -1 if body.transaction_length is None else body.transaction_length
        return effect, transaction_of(event, None)[0]
    before = None
    if opened is not None:
        before = Transaction(gtid="known" if opened[1] else None, explicit=opened[0])
    known, ends = transaction_of(event, before)
    if known is None:
        return {"join": False}, None
    return {
        "start": begins and opened is None,
        "explicit": known.explicit,
        "thread_id": -1 if known.thread_id is None else known.thread_id,
        "xid": known.xid,
        "compressed": isinstance(body, TransactionPayload),
        "ends": ends,
        "outcome": OUTCOMES.index(known.outcome),
    }, known
