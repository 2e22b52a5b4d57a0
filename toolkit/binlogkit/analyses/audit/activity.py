"""What was changed, by table, minute, key and original statement; from a frame of changes.

A frame has a row for each change, or for each event that made several, with their number as
``rows``.
"""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw
from narwhals.typing import IntoFrameT

from binlogkit.analyses._frames import Lazy, finish, image_fields, lazy, ordered
from binlogkit.errors import UsageError
from binlogkit.frames.fields.field import chosen, fields
from binlogkit.frames.fields.ledger import TRANSACTION
from binlogkit.frames.fields.rows import ROW

COUNTS = chosen(TRANSACTION, "rows", "inserts", "updates", "deletes")
TIMES = fields(
    ("first_timestamp", "seconds", "earliest event time"),
    ("last_timestamp", "seconds", "latest event time"),
)
_TABLE = chosen(ROW, "db", "table")
_ENDS = fields(
    ("first_file", "string", "file of the first change in log order"),
    ("first_pos", "int64", "position of its event"),
    ("last_file", "string", "file of the last change in log order"),
    ("last_pos", "int64", "position of its event"),
)
_PROVENANCE = ("file", "pos", "timestamp", "op")

_BYTES = fields(("bytes", "int64", "of the events they are in, a compressed transaction whole"))

BY_TABLE = (*_TABLE, *COUNTS, *_BYTES, *TIMES, *_ENDS)


def by_table(changes: IntoFrameT) -> IntoFrameT:
    """What happened to each table, most changed first (:data:`BY_TABLE`).

    ``bytes`` are of rows events alone; a compressed transaction is whole in each of its tables.
    """
    by = ["db", "table"]
    rows = ordered(changes, (*by, *_PROVENANCE, "end_pos"))
    sources = [name for name in ("source",) if name in rows.collect_schema()]
    event = (*by, *sources, "file", "pos")
    sizes = rows.with_columns(bytes=nw.col("end_pos") - nw.col("pos"))
    sizes = sizes.select(*event, "bytes").unique(subset=[*event])
    sizes = sizes.group_by(by).agg(nw.col("bytes").sum())
    result = _count(rows, by).join(sizes, on=by, how="left")
    return finish(
        result.sort("rows", "db", "table", descending=[True, False, False]), BY_TABLE, changes
    )


BY_MINUTE = (*fields(("minute", "seconds", "start of the minute")), *COUNTS)

_MINUTE = 60


def by_minute(changes: IntoFrameT) -> IntoFrameT:
    """Changes per minute, in time order; minutes without changes have no row (:data:`BY_MINUTE`).

    An event's time is its statement's start, to the second (docs/traps.md, "Clocks").
    """
    minute = nw.col("timestamp") // _MINUTE * _MINUTE
    rows = _flags(lazy(changes, ("timestamp", "op")).with_columns(minute=minute))
    return finish(rows.group_by("minute").agg(*_sums()).sort("minute"), BY_MINUTE, changes)


BY_STATEMENT = (
    *fields(
        ("query", "string", "the original statement (Rows_query)"),
        ("tables", "int64", "tables that it changed"),
    ),
    *COUNTS,
    *TIMES,
    *_ENDS,
)


def by_statement(changes: IntoFrameT) -> IntoFrameT:
    """Which original statements changed how much, most rows first (:data:`BY_STATEMENT`).

    The text is in the log only where the server ran with ``binlog_rows_query_log_events``
    (5.6.2+); equal texts are counted together. Changes without a text are in no row: ``limits``
    counts them.
    """
    every = ordered(changes, ("db", "table", "query", *_PROVENANCE))
    rows = every.filter(~nw.col("query").is_null())
    named = rows.with_columns(_name=nw.concat_str("db", "table", separator="\0"))
    tables = named.group_by("query").agg(nw.col("_name").n_unique().alias("tables"))
    result = _count(rows, ["query"]).join(tables, on="query", how="left")
    return finish(result.sort("rows", "first_seq", descending=[True, False]), BY_STATEMENT, changes)


BY_KEY = (*_TABLE, *COUNTS, *_ENDS)


def by_key(changes: IntoFrameT, key: Sequence[str]) -> IntoFrameT:
    """How often each key was touched, most first: the key's columns, then :data:`BY_KEY`.

    ``changes`` are typed; the key's columns come back as ``key_<name>``. A change of the key
    touches two: the old one and the new one.
    """
    if not key:
        raise UsageError("by_key needs the names of the key's columns")
    rows = ordered(changes, ("db", "table", "before", "after", *_PROVENANCE))
    names = [f"key_{name}" for name in key]
    kept = ["seq", "db", "table", *_PROVENANCE]
    sides = [
        rows.filter(~nw.col(side).is_null()).select(
            *kept,
            *(f.alias(n) for f, n in zip(image_fields(rows, side, key), names, strict=True)),
        )
        for side in ("before", "after")
    ]
    touched = nw.concat(sides).unique(subset=["seq", *names], keep="any")
    result = _count(touched, [*names, "db", "table"])
    order = result.sort("rows", "first_seq", descending=[True, False])
    return finish(order, BY_KEY, changes, names)


def _flags(rows: Lazy) -> Lazy:
    """How many changes a row stands for, and as many or 0 per operation, to be summed: no engine
    has to count under a condition."""
    there = "rows" in rows.collect_schema()
    many, none = nw.col("rows") if there else nw.lit(1), nw.lit(0)
    return rows.with_columns(
        many.alias("_changes"),
        *(
            nw.when(nw.col("op") == op).then(many).otherwise(none).alias(f"{op}s")
            for op in ("insert", "update", "delete")
        ),
    )


def _sums() -> list[nw.Expr]:
    return [
        nw.col("_changes").sum().alias("rows"),
        *(nw.col(f"{op}s").sum() for op in ("insert", "update", "delete")),
    ]


def _count(rows: Lazy, by: list[str]) -> Lazy:
    """Counts, times and both ends of each group, with ``first_seq`` and ``last_seq``."""
    grouped = (
        _flags(rows)
        .group_by(by)
        .agg(
            *_sums(),
            nw.col("timestamp").min().alias("first_timestamp"),
            nw.col("timestamp").max().alias("last_timestamp"),
            nw.col("seq").min().alias("first_seq"),
            nw.col("seq").max().alias("last_seq"),
        )
    )
    for end in ("first", "last"):
        place = rows.select(
            nw.col("seq").alias(f"{end}_seq"),
            nw.col("file").alias(f"{end}_file"),
            nw.col("pos").alias(f"{end}_pos"),
        ).unique(subset=[f"{end}_seq"], keep="any")
        grouped = grouped.join(place, on=f"{end}_seq", how="left")
    return grouped
