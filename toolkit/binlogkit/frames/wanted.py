"""What filters want, over columns: of a window's events, and of transactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.frames.arrays import flags, one_array
from binlogkit.frames.transaction_facts import TransactionFacts
from binlogkit.rows.filters import OPS, Filters
from binlogkit.rows.window import Window

_UPDATES, _DELETES = (24, 31, 39), (25, 32)
_MICROSECOND = 1_000_000


def wanted_events(
    filters: Filters, window: Window, known: TransactionFacts
) -> np.ndarray[Any, Any] | None:
    """Which events of a window are wanted, tables and operations left aside; None for all."""
    stretch = window.stretch
    assert stretch is not None
    entries = stretch.entries
    checks = []
    if filters.sources and window.source not in filters.sources:
        return np.zeros(len(entries), bool)
    if not filters.wants_file(window.carrier.name):
        return np.zeros(len(entries), bool)
    if window.repeated is not None:
        checks.append(~np.isin(entries["tx"], window.repeated))
    if window.first and filters.start_position is not None:
        checks.append(stretch.positions >= filters.start_position)
    if window.last and filters.stop_position is not None:
        checks.append(stretch.positions < filters.stop_position)
    if filters.server_ids:
        checks.append(np.isin(entries["server_id"], list(filters.server_ids)))
    if filters.of_transactions:
        checks.append(known.wanted(filters, entries["tx"], entries["timestamp"]))
    return np.logical_and.reduce(checks) if checks else None


def operations(codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The operation of types of rows events, as a place in ``OPS``."""
    return np.where(np.isin(codes, _UPDATES), 1, np.where(np.isin(codes, _DELETES), 2, 0))


def wanted_ops(filters: Filters, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Of which types of rows events the operation is wanted."""
    return np.isin(operations(codes), [i for i, name in enumerate(OPS) if name in filters.ops])


def wanted_transactions(table: pa.Table, filters: Filters, files: Sequence[str]) -> pa.Array:
    """Which transactions are wanted; with tables, those that touch one of them."""
    wanted = np.ones(table.num_rows, bool)

    def numbers(name: str) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = np.asarray(table.column(name).fill_null(-1))
        return found

    def among(name: str, value: str) -> np.ndarray[Any, Any]:
        import pyarrow.compute as pc

        found: np.ndarray[Any, Any] = np.asarray(pc.equal(table.column(name), value))
        return found

    if filters.start_position is not None and files:
        wanted &= ~(among("file", files[0]) & (numbers("pos") < filters.start_position))
    if filters.stop_position is not None and files:
        wanted &= ~(among("file", files[-1]) & (numbers("pos") >= filters.stop_position))
    if filters.at is not None:
        wanted &= numbers("pos") == filters.at[1]
        wanted &= among("file", filters.at[0]) if filters.at[0] else True
    if filters.sources:
        wanted &= np.logical_or.reduce([among("source", name) for name in filters.sources])
    if filters.server_ids:
        wanted &= np.isin(numbers("server_id"), list(filters.server_ids))
    if filters.threads:
        wanted &= np.isin(numbers("thread_id"), list(filters.threads))
    if filters.ops:
        wanted &= np.logical_or.reduce([numbers(f"{op}s") > 0 for op in filters.ops])
    if filters.start_time is not None or filters.stop_time is not None:
        commits = numbers("commit_timestamp")
        moments = np.where(commits < 0, numbers("end_timestamp") * _MICROSECOND, commits)
        if filters.start_time is not None:
            wanted &= moments >= filters.start_time
        if filters.stop_time is not None:
            wanted &= moments < filters.stop_time
    if filters.gtids is not None:
        texts = table.column("gtid").to_pylist()
        wanted &= [text is not None and text in filters.gtids for text in texts]
    if filters.tables or filters.exclude_tables:
        wanted &= _touches(table, filters)
    return flags(wanted)


def _touches(table: pa.Table, filters: Filters) -> np.ndarray[Any, Any]:
    names = one_array(table.column("tables"))
    wanted: dict[str, bool] = {}
    lists = names.to_pylist()
    for text in {name for row in lists for name in row}:
        wanted[text] = any(filters.wants_table(*pair) for pair in _readings(text))
    return np.array([any(wanted[name] for name in row) for row in lists], bool)


def _readings(text: str) -> list[tuple[str, str]]:
    """The (db, table) that ``db.table`` may stand for: names may hold dots."""
    parts = text.split(".")
    return [(".".join(parts[:i]), ".".join(parts[i:])) for i in range(1, len(parts))]
