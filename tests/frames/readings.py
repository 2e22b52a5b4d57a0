"""The same logs read through the kernel's scan, and event by event, as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

import binlogkit as bk
from binlogkit.errors import BinlogKitError
from binlogkit.frames.row_batches import read_batches
from binlogkit.rows.filters import Filters
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import TableSchema
from tests.reference.binlogkit_reference import Walk, read_windows

Windows: TypeAlias = "Iterator[list[tuple[TableSchema, pa.RecordBatch]]]"


@dataclass
class Found:
    """``rows``: by (db, table, schema version), in the order in which they came; ``tables``: the
    versions of the tables that were met."""

    rows: dict[tuple[str, str, int], list[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    error: tuple[str, str] | None = None
    damages: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    loose: dict[str, int] = field(default_factory=dict)
    tables: dict[tuple[str, str], list[TableSchema]] = field(default_factory=dict)


def by_kernel(log: bk.Log, wanted: Filters) -> tuple[Reading, Windows]:
    reading = log.reading()
    return reading, (list(window) for window in read_batches(reading, wanted))


def by_events(log: bk.Log, wanted: Filters) -> tuple[Walk, Windows]:
    walk = Walk(log.carriers, log.options)
    return walk, read_windows(walk, wanted)


def read(
    how: Callable[[bk.Log, Filters], tuple[Any, Windows]],
    source: Any,
    on_damage: str,
    threads: int = 1,
    **filters: Any,
) -> Found:
    """All that one way of reading tells of a log."""
    found = Found()
    log = bk.open(source, on_damage=on_damage, threads=threads, name="a server", duplicates="keep")
    reading, windows = how(log, Filters.build(**filters))
    last = -1
    try:
        for window in windows:
            seqs = sorted(seq for _, batch in window for seq in batch.column("seq").to_pylist())
            assert not seqs or seqs[0] > last, "windows are not in log order"
            last = seqs[-1] if seqs else last
            for schema, batch in window:
                batch.validate(full=True)
                found.rows[*schema.name, schema.version] += batch.to_pylist()
    except BinlogKitError as error:
        found.error = (type(error).__name__, str(error))
    found.damages = [str(damage) for damage in reading.damages]
    losses = reading.losses if isinstance(reading, Walk) else log.losses
    found.losses = [str(loss) for loss in losses]
    found.problems = list(reading.tables.problems)
    found.loose = dict(reading.loose)
    found.tables = dict(reading.tables.schemas)
    return found


def assert_same(source: Any, on_damage: str, threads: int = 1, **filters: Any) -> Found:
    """Both ways tell the same; what they tell."""
    fast = read(by_kernel, source, on_damage, threads, **filters)
    slow = read(by_events, source, on_damage, **filters)
    assert fast.error == slow.error
    assert fast.damages == slow.damages
    if slow.error is not None:
        _leave_out_the_end(fast, slow)
    assert list(fast.rows) == list(slow.rows) or dict(fast.rows) == dict(slow.rows)
    for name, rows in slow.rows.items():
        assert fast.rows[name] == rows, name
    assert (fast.losses, fast.problems) == (slow.losses, slow.problems)
    # What the kernel has read ahead of rows that end the reading was met, too.
    if slow.error is None:
        assert (fast.loose, fast.tables) == (slow.loose, slow.tables)
    return slow


def _leave_out_the_end(*found: Found) -> None:
    """Of the last transaction before an error, whose end one of both may have read ahead to."""
    for one in found:
        rows = [row for rows in one.rows.values() for row in rows]
        last = max((row["tx"] for row in rows if row["tx"] is not None), default=None)
        for row in rows:
            if row["tx"] == last:
                row["xid"] = row["xa"] = None
