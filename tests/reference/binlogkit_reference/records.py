"""The records of rows, made one row after the other from a batch's Python values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import merge
from typing import Any

import pyarrow as pa

from binlogkit.frames.fields.field import names
from binlogkit.frames.fields.rows import ROW
from binlogkit.frames.records import struct_records

RECORD_KEYS = names(ROW)
_DUMP = partial(json.dumps, ensure_ascii=False)


def image_records(batch: pa.RecordBatch, which: str) -> list[dict[str, object] | None]:
    """The images ``before`` or ``after`` of a batch, one dict per row, None where there is none."""
    image = 0 if which == "before" else 1
    return struct_records(
        batch.column(which), batch.column(f"{which}_state"), batch.column("raw"), image
    )


def row_records(batch: pa.RecordBatch) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of one batch, each with its ``seq``."""
    columns = [
        image_records(batch, name)
        if name in ("before", "after")
        else batch.column(name).to_pylist()
        for name in RECORD_KEYS
    ]
    for seq, *values in zip(batch.column("seq").to_pylist(), *columns, strict=True):
        yield seq, dict(zip(RECORD_KEYS, values, strict=True))


def window_records(window: Sequence[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The records of a window's batches in the log's order."""
    for _, record in merge(*(row_records(b) for b in window), key=lambda pair: pair[0]):
        yield record


def nested_as_text(record: dict[str, Any], dump: Callable[[object], str] = _DUMP) -> dict[str, Any]:
    """A record whose images are JSON text, as csv, table and parquet have them."""
    nested = ("before", "after")
    return {k: dump(v) if k in nested and v is not None else v for k, v in record.items()}
