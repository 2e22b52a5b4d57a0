"""Which logs changed what, from an index alone: no log is opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import InputError, UsageError
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import TOUCHED
from binlogkit.log.index.kept import Index
from binlogkit.log.index.keys import asked_keys, may_be_in
from binlogkit.log.index.places import kept_places
from binlogkit.log.index.tables import of_tables
from binlogkit.rows.filter_args import check_names, texts
from binlogkit.rows.filters import OPS, TableName, parse_table_name
from binlogkit.rows.where import parse_where

if TYPE_CHECKING:
    from binlogkit.rows.where import WhereArg

_LOG = ("part", "file", "source", "damages", "read_at")
_SUMS = ("rows", "events", "bytes")
_KEY = ("part", "file", "db", "table", "op", "minute")


def touched(
    index: str | Path,
    *,
    table: str | Sequence[str] | None = None,
    op: str | Sequence[str] | None = None,
    where: WhereArg = None,
    minutes: bool = False,
) -> pa.Table:
    """Which logs in the folder ``index`` changed what: :data:`TOUCHED` in Arrow.

    One row for each log, table and operation. No log is opened: the answer holds as of ``read_at``.

    ``table``, ``op``: only these.
    ``minutes``: one row for each minute, too.
    ``where``: only logs and tables that may have changed rows with these values of the table's key,
    or of its first column: ``COLUMN=VALUE`` or an expression as for ``rows``. No log that did is
    missing, and about 0.6 % of the others are included. A log is also included if its key is not
    known or values have no plain form.

    Damaged logs are always included.

    Errors: InputError (``index`` is no index of this version), UsageError (also if no table has a
    column of ``where``).
    """
    tables = [parse_table_name(text) for text in texts("table", table)]
    ops, asked = texts("op", op), asked_keys(parse_where(where))
    if not set(ops) <= set(OPS):
        raise UsageError(f"op is one of {', '.join(OPS)}")
    if where is not None and not asked:
        raise UsageError("where names the value of a key here: COLUMN=VALUE")
    kept = Index(index)
    if not kept.whole:
        raise InputError(str(index), "is no index of this version: `binlogkit index` makes one")
    logs, found = kept.table("logs", columns=_LOG), kept.table("totals")
    if tables:
        found = found.filter(of_tables(found, tables))
    if ops:
        found = found.filter(pc.is_in(found["op"], pa.array(ops)))
    if asked:
        found = _with_keys(kept, found, tables, asked)
    return _with_damage(_grouped(found, minutes=minutes), logs)


def _with_keys(
    index: Index, totals: pa.Table, tables: Sequence[TableName], asked: dict[str, Any]
) -> pa.Table:
    """The totals of logs and tables that may have a key. UsageError: no table has such a column."""
    filters = index.table("filters", tables)
    names = {*pc.unique(pc.list_flatten(filters["columns"])).to_pylist()}
    unnamed = any(name.startswith("@") for name in names)
    places = kept_places(index) if unnamed or not names.issuperset(asked) else {}
    if places:
        of = {*zip(filters["db"].to_pylist(), filters["table"].to_pylist(), strict=True)}
        columns = sorted({name for table in of for name in places.get(table, ("@1",))})
        if of and not any(name.startswith("@") for name in columns):
            check_names(sorted(asked), columns, "column")
    may = filters.filter(pa.array(may_be_in(filters, asked, places)))
    known = may.select(["part", "db", "table"]).group_by(["part", "db", "table"]).aggregate([])
    return totals.join(known, ["part", "db", "table"], join_type="left semi")


def _grouped(totals: pa.Table, *, minutes: bool) -> pa.Table:
    """The totals of each log, table and operation, and minute."""
    if not minutes:
        at = totals.column_names.index("minute")
        totals = totals.set_column(at, "minute", pa.nulls(totals.num_rows, pa.int64()))
    sums = [(name, "sum") for name in _SUMS]
    found = totals.group_by(list(_KEY)).aggregate(
        [*sums, ("first_timestamp", "min"), ("last_timestamp", "max")]
    )
    return found.rename_columns(
        [
            name.removesuffix("_sum").removesuffix("_min").removesuffix("_max")
            for name in found.column_names
        ]
    )


def _with_damage(found: pa.Table, logs: pa.Table) -> pa.Table:
    """The result with what is known of each log, by name, and damaged logs without changes."""
    flagged = logs.append_column("damaged", pc.greater(logs["damages"], 0)).drop(["damages"])
    joined = found.join(flagged, ["part", "file"], join_type="left outer")
    others = flagged.filter(flagged["damaged"]).join(found, ["part", "file"], join_type="left anti")
    schema = arrow_schema(TOUCHED)
    for name in schema.names:
        if name not in others.column_names:
            kind = schema.field(name).type
            others = others.append_column(name, pa.nulls(others.num_rows, kind))
    whole = pa.concat_tables([part.select(schema.names).cast(schema) for part in (joined, others)])
    order = ("file", "db", "table", "op", "minute")
    return whole.sort_by([(name, "ascending") for name in order])
