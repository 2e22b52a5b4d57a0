"""Generic frames as the command writes them: JSON text without blanks, which Spark's have too."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import binlogkit as bk
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import EVENT
from binlogkit.frames.tables import generic_schema


def rows_of(log: bk.Log, **filters: Any) -> pa.Table:
    """The rows that ``binlogkit rows`` writes."""
    return pa.Table.from_batches(log.generic_batches(compact=True, **filters), generic_schema())


def frame_of(log: bk.Log, kind: str, **filters: Any) -> pa.Table:
    """What ``binlogkit events`` writes, or another frame of the log."""
    if kind != "events":
        found: pa.Table = getattr(log, kind)(engine="pyarrow", **filters)
        return found
    return pa.Table.from_batches(log.event_batches(compact=True, **filters), arrow_schema(EVENT))
