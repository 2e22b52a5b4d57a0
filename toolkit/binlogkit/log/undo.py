"""Which statements take a part of a log back, or make it again, over all its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters

if TYPE_CHECKING:
    from binlogkit.analyses.plans import Plans
    from binlogkit.log.streams import Streams

__all__ = ["plans_of"]


def plans_of(log: Streams, *, backwards: bool, **filters: Unpack[FilterArgs]) -> Plans:
    """See :meth:`binlogkit.log.log.Log.undo`."""
    from binlogkit.analyses.undo import plans

    transactions = log.transaction_table()
    if log.unreadable is not None:
        raise log.unreadable
    return plans(
        (batch.batch for batch in log.batches(**filters)),
        _refused(log, **filters),
        transactions=transactions,
        statements=log.statement_table(Filters()),
        backwards=backwards,
    )


def _refused(log: Streams, **filters: Unpack[FilterArgs]) -> Iterator[dict[str, Any]]:
    """The statements that changed rows without saying which, each with the reason for no plan.

    The tables of one statement have one ``seq``: their order is the statement's, also backwards.
    """
    wanted = Filters.build(**filters)
    first: dict[str, Any] = {}
    for boundary in log.boundary_table(wanted).select(_KEYS).to_pylist():
        if any(boundary[name] != first.get(name) for name in _EVENT):
            first = dict(boundary)
        reason = _REASONS.get(boundary.pop("action"))
        db, table = boundary["db"], boundary["table"]
        if reason is None or not wanted.wants_table(db or "", table or ""):
            continue
        if (db is None or table is None) and (wanted.tables or wanted.ops):
            continue
        yield {
            **boundary, "db": db or "", "table": table or "", "seq": first["seq"], "row": 0,
            "refused": reason,
        }  # fmt: skip


_EVENT = ("file", "pos", "inner")
_KEYS = ["source", *_EVENT, "gtid", "timestamp", "db", "table", "seq", "action"]
_REASONS = {
    "statement_write": "the change is logged as a statement: which rows it touched is not known",
    "truncate": "TRUNCATE logs no rows: what the table held is not in this event",
    "drop": "DROP TABLE logs no rows: what the table held is not in this event",
    "drop_database": "DROP DATABASE logs no rows: what its tables held is not in this event",
    "unknown": "the statement could not be understood",
}
