"""Views on the ledger of transactions: the large, the long, the unresolved, the cut.

The ledger has one row per transaction (``log.transactions()``). Every view keeps the ledger's
columns that place a transaction and adds its own.
"""

from __future__ import annotations

import narwhals as nw
from narwhals.typing import IntoFrameT

from binlogkit.analyses._declare import outputs
from binlogkit.analyses._frames import Lazy, finish, lazy
from binlogkit.frames.fields.field import chosen, names
from binlogkit.frames.fields.ledger import TRANSACTION

__all__ = [
    "CUT",
    "LARGEST",
    "LONGEST",
    "OUTCOMES",
    "ROLLED_BACK",
    "UNRESOLVED_XA",
    "cut",
    "largest",
    "longest",
    "outcomes",
    "rolled_back",
    "unresolved_xa",
]

_PLACE = chosen(
    TRANSACTION, "source", "file", "pos", "end_file", "end_pos", "gtid", "thread_id", "timestamp",
    "end_timestamp", "outcome", "events", "size", "rows", "first_query",
)  # fmt: skip
_NAMES = names(_PLACE)

LARGEST = _PLACE


def largest(transactions: IntoFrameT, n: int = 20, *, by: str = "size") -> IntoFrameT:
    """The ``n`` largest transactions by ``size`` (bytes), ``rows`` or ``events``, largest first."""
    rows = lazy(transactions, (*_NAMES, by))
    order = rows.sort(by, "file", "pos", descending=[True, False, False], nulls_last=True)
    return finish(order.head(n), LARGEST, transactions)


LONGEST = _PLACE + outputs(
    ("duration", "int64", "seconds from the first event's time to the last event's time")
)


def longest(transactions: IntoFrameT, n: int = 20) -> IntoFrameT:
    """The ``n`` transactions that lasted longest, longest first.

    Between the first statement's start and the last event's time, to the second; a wait before
    the first change is not in the log.
    """
    rows = lazy(transactions, _NAMES)
    timed = rows.with_columns(duration=nw.col("end_timestamp") - nw.col("timestamp"))
    order = timed.sort("duration", "file", "pos", descending=[True, False, False], nulls_last=True)
    return finish(order.head(n), LONGEST, transactions)


UNRESOLVED_XA = (*_PLACE, *chosen(TRANSACTION, "xa"))


def unresolved_xa(transactions: IntoFrameT) -> IntoFrameT:
    """XA transactions that were prepared and neither committed nor rolled back in this log.

    From 5.7.7 their rows are logged at XA PREPARE and count only when XA COMMIT follows, which
    may be in a later file (docs/traps.md, "XA").
    """
    rows = lazy(transactions, (*_NAMES, "xa"))
    return finish(
        _in_order(rows.filter(nw.col("outcome") == "prepared")), UNRESOLVED_XA, transactions
    )


CUT = _PLACE


def cut(transactions: IntoFrameT) -> IntoFrameT:
    """Transactions whose end is not in the log: cut by the end of a file, or still open."""
    rows = lazy(transactions, _NAMES)
    return finish(
        _in_order(rows.filter(nw.col("outcome").is_in(["cut", "open"]))), CUT, transactions
    )


ROLLED_BACK = _PLACE


def rolled_back(transactions: IntoFrameT) -> IntoFrameT:
    """Transactions that stand in the log and end in ROLLBACK.

    The server writes one only when something in it cannot be rolled back (internals
    manual, R-log-rollback); which rows stayed depends on the tables' engines (docs/traps.md).
    """
    rows = lazy(transactions, _NAMES)
    return finish(
        _in_order(rows.filter(nw.col("outcome") == "rolled_back")), ROLLED_BACK, transactions
    )


OUTCOMES = outputs(
    ("outcome", "string", "committed, rolled_back, prepared, cut or open"),
    ("transactions", "int64", "how many"),
    ("rows", "int64", "their row changes"),
    ("size", "int64", "their bytes in the log"),
)


def outcomes(transactions: IntoFrameT) -> IntoFrameT:
    """How many transactions ended how, most frequent first."""
    counted = (
        lazy(transactions, ("outcome", "rows", "size"))
        .group_by("outcome")
        .agg(nw.len().alias("transactions"), nw.col("rows").sum(), nw.col("size").sum())
    )
    return finish(
        counted.sort("transactions", "outcome", descending=[True, False]), OUTCOMES, transactions
    )


def _in_order(rows: Lazy) -> Lazy:
    """In log order where the frame says it (``tx``), else as given."""
    return rows.sort("tx") if "tx" in rows.collect_schema() else rows
