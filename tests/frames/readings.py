"""The same logs read through the kernel's scan, and event by event, as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import binlogkit as bk
from binlogkit.errors import BinlogKitError
from binlogkit.frames.batches import record_batch
from binlogkit.frames.windows import read_batches
from binlogkit.rows.changes import read_windows
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.walk import LogWalk

Windows = Iterator[list[tuple[TableSchema, pa.RecordBatch]]]


@dataclass
class Reading:
    """``rows``: by (db, table, schema version), in the order in which they came."""

    rows: dict[tuple[str, str, int], list[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    error: tuple[str, str] | None = None
    damages: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def by_kernel(walk: LogWalk, wanted: Filters) -> Windows:
    for window in read_batches(walk, wanted):
        yield list(window)


def by_events(walk: LogWalk, wanted: Filters) -> Windows:
    for window in read_windows(walk, wanted):
        yield [(batch.schema, record_batch(batch)) for batch in window]


def read(
    how: Callable[[LogWalk, Filters], Windows], source: Any, on_damage: str, **filters: Any
) -> Reading:
    """All that one way of reading tells of a log."""
    found = Reading()
    walk = bk.open(source, on_damage=on_damage).walk()
    last = -1
    try:
        for window in how(walk, Filters.build(**filters)):
            seqs = sorted(seq for _, batch in window for seq in batch.column("seq").to_pylist())
            assert not seqs or seqs[0] > last, "windows are not in log order"
            last = seqs[-1] if seqs else last
            for schema, batch in window:
                batch.validate(full=True)
                found.rows[*schema.name, schema.version] += batch.to_pylist()
    except BinlogKitError as error:
        found.error = (type(error).__name__, str(error))
    found.damages = [str(damage) for damage in walk.damages]
    found.losses = [str(loss) for loss in walk.losses]
    found.problems = list(walk.problems)
    return found


def assert_same(source: Any, on_damage: str, **filters: Any) -> Reading:
    """Both ways tell the same; what they tell."""
    fast, slow = (read(how, source, on_damage, **filters) for how in (by_kernel, by_events))
    assert fast.error == slow.error
    assert fast.damages == slow.damages
    assert list(fast.rows) == list(slow.rows) or dict(fast.rows) == dict(slow.rows)
    for name, rows in slow.rows.items():
        assert fast.rows[name] == rows, name
    assert (fast.losses, fast.problems) == (slow.losses, slow.problems)
    return slow
