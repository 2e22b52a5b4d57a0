"""Statements and table boundaries as records and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from binlogkit.frames.fields.field import Fields, arrow_schema, names
from binlogkit.rows.ledger import LoggedBoundary, Statement

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["plain_record", "to_table"]


def plain_record(item: Statement | LoggedBoundary, declared: Fields) -> dict[str, Any]:
    """A statement's or a boundary's record."""
    return {name: getattr(item, name) for name in names(declared)}


def to_table(records: Iterable[dict[str, Any]], declared: Fields) -> pa.Table:
    """Records as an Arrow table with the declared columns."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(records), schema=arrow_schema(declared))
