"""When too much happened, and when nothing: bursts and gaps."""

from __future__ import annotations

from typing import Any

import narwhals as nw
from narwhals.typing import IntoFrameT

from binlogkit.analyses._frames import finish, lazy, ordered, plain_engine, records
from binlogkit.analyses.audit.activity import BY_MINUTE, by_minute
from binlogkit.frames.fields.field import chosen, fields
from binlogkit.frames.fields.ledger import TRANSACTION

BURSTS = BY_MINUTE + fields(
    ("median", "float64", "median of the row changes over all minutes that have any"),
    ("ratio", "float64", "rows / median"),
)


def bursts(changes: IntoFrameT, *, times: float = 10.0, at_least: int = 1000) -> IntoFrameT:
    """Minutes with far more changes than the median, in time order (:data:`BURSTS`).

    The rule: ``rows >= times * median`` and ``rows >= at_least``, where the median is over the
    minutes with at least one change; empty minutes do not lower it.
    """
    return bursts_among(by_minute(plain_engine(changes)), changes, times, at_least)


def bursts_among(
    counted: Any, like: IntoFrameT, times: float = 10.0, at_least: int = 1000
) -> IntoFrameT:
    """The bursts among minutes that were counted (:func:`by_minute`), in the engine of ``like``."""
    minutes = lazy(counted)
    median = records(minutes.select(nw.col("rows").median().alias("median")))[0]["median"]
    level = float(median or 0)
    wanted = (nw.col("rows") >= times * level) & (nw.col("rows") >= at_least)
    rated = minutes.filter(wanted).with_columns(
        median=nw.lit(level), ratio=nw.col("rows") / nw.lit(level or 1.0)
    )
    return finish(rated.sort("minute"), BURSTS, like)


QUIET = chosen(TRANSACTION, "source") + fields(
    ("file", "string", "file of the transaction after the silence"),
    ("pos", "int64", "its position"),
    ("from_timestamp", "seconds", "last event before the silence"),
    ("to_timestamp", "seconds", "first event after it"),
    ("seconds", "int64", "how long nothing was logged"),
)


def quiet(transactions: IntoFrameT, *, seconds: int = 3600) -> IntoFrameT:
    """Stretches of at least ``seconds`` without any transaction, in log order (:data:`QUIET`).

    A silence may be an idle server, a server that was down, ``sql_log_bin=0``, or a missing
    file. Times are as the log has them: not monotonic, of several clocks after replication
    (docs/traps.md, "Clocks"); a step back is no silence.
    """
    needed = ("source", "file", "pos", "timestamp", "end_timestamp")
    rows = ordered(transactions, needed)
    sources = [r["source"] for r in records(rows.select("source").unique().sort("source"))]
    found = [
        rows.filter(nw.col("source").is_null() if source is None else nw.col("source") == source)
        .with_columns(from_timestamp=nw.col("end_timestamp").shift(1).over(order_by="seq"))
        .with_columns(seconds=nw.col("timestamp") - nw.col("from_timestamp"))
        .filter(nw.col("seconds") >= seconds)
        for source in sources or [None]
    ]
    result = nw.concat(found).with_columns(to_timestamp=nw.col("timestamp"))
    return finish(result.sort("seq"), QUIET, transactions)


MISSING_GTIDS = fields(
    ("gtid_source", "string", "UUID, with the tag where there is one (8.3+)"),
    ("first_number", "int64", "first transaction number that is not in the log"),
    ("last_number", "int64", "last number of the same hole"),
    ("before_gtid", "string", "the GTID below the hole"),
    ("after_gtid", "string", "the GTID above the hole"),
)


def missing_gtids(transactions: IntoFrameT) -> IntoFrameT:
    """Holes in the transaction numbers of each GTID source (:data:`MISSING_GTIDS`).

    A hole says that a transaction happened which is not here: purged, filtered, in a file that is
    missing, or in flight at the end of the log. Numbers before the first and after the last one
    seen cannot be judged.
    """
    rows = (
        lazy(transactions, ("gtid",))
        .select("gtid")
        .filter(~nw.col("gtid").is_null())
        .with_columns(
            gtid_source=nw.col("gtid").str.replace_all(r":[0-9]+$", ""),
            number=nw.col("gtid").str.replace_all(r"^.*:", "").cast(nw.Int64),
        )
        .with_columns(
            before_number=nw.col("number").shift(1).over(order_by=["gtid_source", "number"]),
            before_source=nw.col("gtid_source").shift(1).over(order_by=["gtid_source", "number"]),
            before_gtid=nw.col("gtid").shift(1).over(order_by=["gtid_source", "number"]),
        )
    )
    same = nw.col("before_source") == nw.col("gtid_source")
    holes = rows.filter(same & (nw.col("number") > nw.col("before_number") + 1)).with_columns(
        first_number=nw.col("before_number") + 1,
        last_number=nw.col("number") - 1,
        after_gtid=nw.col("gtid"),
    )
    return finish(holes.sort("gtid_source", "first_number"), MISSING_GTIDS, transactions)
