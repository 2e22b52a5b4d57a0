"""Who and when, from the ledger of transactions; what was set, from that of statements."""

from __future__ import annotations

import narwhals as nw
from narwhals.typing import IntoFrameT

from binlogkit.analyses._frames import Lazy, finish, lazy, ordered
from binlogkit.analyses.audit.activity import COUNTS, TIMES
from binlogkit.frames.fields.field import Fields, chosen, fields, names
from binlogkit.frames.fields.ledger import STATEMENT, TRANSACTION

_OUTCOMES = ("committed", "rolled_back", "prepared", "cut", "open")
_OPS = ("inserts", "updates", "deletes")

_SOURCE = chosen(TRANSACTION, "source")
SUMMARY = (
    *_SOURCE,
    *fields(
        ("file", "string", "file, as given"),
        ("first_timestamp", "seconds", "earliest event time of a transaction"),
        ("last_timestamp", "seconds", "latest event time of a transaction"),
        ("transactions", "int64", "transactions that begin in the file"),
        *((name, "int64", f"of them {name.replace('_', ' ')}") for name in _OUTCOMES),
    ),
    *chosen(TRANSACTION, "events", "size"),
    *COUNTS,
)


def summary(transactions: IntoFrameT) -> IntoFrameT:
    """Each file in log order: time span, events, transactions by outcome, rows by operation."""
    needed = ("source", "file", "outcome", "timestamp", "end_timestamp", "events", "size", "rows")
    rows = _flag(ordered(transactions, (*needed, *_OPS)), "outcome", _OUTCOMES)
    counted = rows.group_by("source", "file").agg(
        nw.col("seq").min(),
        nw.col("timestamp").min().alias("first_timestamp"),
        nw.col("end_timestamp").max().alias("last_timestamp"),
        nw.len().alias("transactions"),
        *(nw.col(name).sum() for name in (*_OUTCOMES, "events", "size", "rows", *_OPS)),
    )
    return finish(counted.sort("seq"), SUMMARY, transactions)


BY_THREAD = (
    *chosen(TRANSACTION, "source", "server_id", "thread_id"),
    *fields(("transactions", "int64", "transactions")),
    *COUNTS,
    *TIMES,
)


def by_thread(transactions: IntoFrameT) -> IntoFrameT:
    """What each connection did, most rows first.

    A connection number is no person: pools share one among many, a restart counts anew, and a
    replica's applier has its own (docs/traps.md, "Who did it").
    """
    by = ["source", "server_id", "thread_id"]
    rows = lazy(transactions, (*by, "rows", *_OPS, "timestamp", "end_timestamp"))
    counted = rows.group_by(by).agg(
        nw.len().alias("transactions"),
        *(nw.col(name).sum() for name in ("rows", *_OPS)),
        nw.col("timestamp").min().alias("first_timestamp"),
        nw.col("end_timestamp").max().alias("last_timestamp"),
    )
    order = counted.sort("rows", *by, descending=[True, False, False, False], nulls_last=True)
    return finish(order, BY_THREAD, transactions)


BY_GTID_SOURCE = fields(
    ("gtid_source", "string?", "UUID, with the tag where there is one (8.3+); null when anonymous"),
    ("transactions", "int64", "transactions"),
    ("rows", "int64", "row changes"),
    ("first_number", "int64?", "lowest transaction number"),
    ("last_number", "int64?", "highest transaction number"),
    ("missing", "int64?", "numbers between them that are not in the log"),
)


def by_gtid_source(transactions: IntoFrameT) -> IntoFrameT:
    """Which server first made the transactions, most transactions first.

    ``missing`` counts holes between the lowest and the highest number seen: purged or filtered
    transactions, or files that are not here.
    """
    rows = lazy(transactions, ("gtid", "rows")).with_columns(
        gtid_source=nw.col("gtid").str.replace_all(r":[0-9]+$", ""),
        _number=nw.col("gtid").str.replace_all(r"^.*:", "").cast(nw.Int64),
    )
    counted = rows.group_by("gtid_source").agg(
        nw.len().alias("transactions"),
        nw.col("rows").sum(),
        nw.col("_number").min().alias("first_number"),
        nw.col("_number").max().alias("last_number"),
        nw.col("_number").n_unique().alias("_distinct"),
    )
    span = nw.col("last_number") - nw.col("first_number") + 1
    result = counted.with_columns(missing=span - nw.col("_distinct").cast(nw.Int64))
    order = result.sort("transactions", "gtid_source", descending=[True, False], nulls_last=True)
    return finish(order, BY_GTID_SOURCE, transactions)


FORMATS = fields(
    ("format", "string", "row, statement, mixed or none (nothing but DDL or administration)"),
    ("transactions", "int64", "transactions"),
    ("rows", "int64", "row changes"),
    ("statements", "int64", "statements logged as text"),
    ("first_file", "string", "file of the first such transaction"),
    ("first_pos", "int64", "its position"),
)


def formats(transactions: IntoFrameT) -> IntoFrameT:
    """In which formats the transactions were logged, most frequent first.

    Changes in statement format have no row images: what they did to the rows is not in the log.
    """
    rows = ordered(transactions, ("format", "rows", "statements", "file", "pos"))
    counted = rows.group_by("format").agg(
        nw.len().alias("transactions"),
        nw.col("rows").sum(),
        nw.col("statements").sum(),
        nw.col("seq").min(),
    )
    place = rows.select("seq", nw.col("file").alias("first_file"), nw.col("pos").alias("first_pos"))
    result = counted.join(place, on="seq", how="left")
    return finish(
        result.sort("transactions", "format", descending=[True, False]), FORMATS, transactions
    )


FORMAT_CHANGES = (
    *_SOURCE,
    *fields(
        ("file", "string", "file of the transaction that differs from the one before"),
        ("pos", "int64", "its position"),
    ),
    *chosen(TRANSACTION, "timestamp", "gtid", "thread_id"),
    *fields(
        ("before", "string", "format of the transaction before it"),
        ("format", "string", "its own format"),
    ),
)


def format_changes(transactions: IntoFrameT) -> IntoFrameT:
    """Where the logging format changed, in log order; transactions without changes are skipped.

    ``binlog_format`` is a session setting: a switch says what one connection did.
    """
    needed = ("source", "file", "pos", "timestamp", "gtid", "thread_id", "format")
    rows = ordered(transactions, needed).filter(nw.col("format") != "none")
    switched = rows.with_columns(before=nw.col("format").shift(1).over(order_by="seq"))
    changed = switched.filter(nw.col("before") != nw.col("format"))
    return finish(changed.sort("seq"), FORMAT_CHANGES, transactions)


LARGEST = chosen(
    TRANSACTION, "source", "file", "pos", "end_file", "end_pos", "gtid", "thread_id", "timestamp",
    "end_timestamp", "outcome", "events", "size", "rows", "first_query",
)  # fmt: skip


def largest(transactions: IntoFrameT, n: int = 20, *, by: str = "size") -> IntoFrameT:
    """The ``n`` largest transactions by ``size`` (bytes), ``rows`` or ``events``, largest first."""
    rows = lazy(transactions, (*names(LARGEST), by))
    order = rows.sort(by, "file", "pos", descending=[True, False, False], nulls_last=True)
    return finish(order.head(n), LARGEST, transactions)


LONGEST = LARGEST + fields(
    ("duration", "int64", "seconds from the first event's time to the last event's time")
)


def longest(transactions: IntoFrameT, n: int = 20) -> IntoFrameT:
    """The ``n`` transactions that lasted longest, longest first.

    Between the first statement's start and the last event's time, to the second; a wait before
    the first change is not in the log.
    """
    rows = lazy(transactions, names(LARGEST))
    timed = rows.with_columns(duration=nw.col("end_timestamp") - nw.col("timestamp"))
    order = timed.sort("duration", "file", "pos", descending=[True, False, False], nulls_last=True)
    return finish(order.head(n), LONGEST, transactions)


SETTINGS = chosen(
    STATEMENT, "source", "file", "pos", "timestamp", "gtid", "thread_id", "db", "kind", "query"
)


def settings(statements: IntoFrameT) -> IntoFrameT:
    """Statements on settings, accounts and administration, in log order (:data:`SETTINGS`).

    ``SET GLOBAL`` and ``SET SESSION`` are never logged; what is here reached the log because the
    server replicates it (accounts, roles, passwords, ``FLUSH``, ``OPTIMIZE`` …).
    """
    return _of_kinds(statements, SETTINGS, "set", "account", "admin")


STATEMENT_DML = (*SETTINGS, *chosen(STATEMENT, "error_code"))


def statement_dml(statements: IntoFrameT) -> IntoFrameT:
    """Changes logged as text, in log order: their rows are not in the log."""
    return _of_kinds(statements, STATEMENT_DML, "dml")


def _of_kinds(statements: IntoFrameT, declared: Fields, *kinds: str) -> IntoFrameT:
    rows = lazy(statements, names(declared)).filter(nw.col("kind").is_in(kinds))
    in_order = rows.sort("seq") if "seq" in rows.collect_schema() else rows
    return finish(in_order, declared, statements)


def _flag(rows: Lazy, column: str, values: tuple[str, ...]) -> Lazy:
    one, none = nw.lit(1), nw.lit(0)
    return rows.with_columns(
        nw.when(nw.col(column) == value).then(one).otherwise(none).alias(value) for value in values
    )
