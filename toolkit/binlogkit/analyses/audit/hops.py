"""The way of transactions through servers that replicate from each other."""

from __future__ import annotations

import narwhals as nw
from narwhals.typing import IntoFrameT

from binlogkit.analyses._frames import finish, ordered
from binlogkit.frames.fields.field import chosen, fields, names
from binlogkit.frames.fields.ledger import TRANSACTION

_COMMIT, _ORIGINAL = "commit_timestamp", "original_commit_timestamp"
_NEEDED = chosen(
    TRANSACTION, "server_id", "gtid", "original_commit_timestamp", "source", "file", "pos",
    "commit_timestamp",
)  # fmt: skip
HOPS = (
    *_NEEDED,
    *fields(
        ("delay", "int64?", "microseconds from the commit at its origin to this one, each by its "
         "own server's clock; 0 at the origin; null where the log lacks it (before 8.0.1)"),
    ),
)  # fmt: skip


def hops(transactions: IntoFrameT) -> IntoFrameT:
    """Each transaction once for every server in whose log it stands, in the order of its commits.

    ``transactions``: of several servers' logs, opened with ``duplicates="keep"``; one server's show
    from where each came, and how late. ``server_id`` is the origin's, ``source`` says whose log has
    it (:data:`HOPS`). A transaction is known again by its GTID, else by its origin's id and commit
    time; those without either are left out. A relay log has the time of the commit on the server
    that the replica follows, not of the replica's own.
    """
    rows = ordered(transactions, names(_NEEDED))
    known = nw.when(nw.col(_ORIGINAL) > 0).then(nw.col(_ORIGINAL))  # 0: came from before 8.0.1
    place = nw.concat_str(nw.col("server_id").cast(nw.String), known.cast(nw.String), separator=" ")
    ways = rows.select(
        *names(_NEEDED),
        "seq",
        nw.when(nw.col("gtid").is_null()).then(place).otherwise(nw.col("gtid")).alias("_way"),
        (nw.col(_COMMIT) - known).alias("delay"),
    ).filter(~nw.col("_way").is_null())
    first = ways.group_by("_way").agg(nw.col("seq").min().alias("_first"))
    order = ways.join(first, on="_way", how="left").with_columns(
        _at_origin=nw.when(nw.col("delay") == 0).then(nw.lit(0)).otherwise(nw.lit(1))
    )
    result = order.sort("_first", "_at_origin", _COMMIT, "seq", nulls_last=True)
    return finish(result, HOPS, transactions)
