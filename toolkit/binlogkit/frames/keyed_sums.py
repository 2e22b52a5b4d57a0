"""The common part of views that sum a reading's rows by table and operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from binlogkit.rows.window import Window


def table_numbers(
    window: Window, slots: np.ndarray[Any, Any], known: dict[tuple[str, ...], int], *before: str
) -> np.ndarray[Any, Any]:
    """A number for the table of each slot, ``("", "")`` where none is known: its place in
    ``known``, which grows, by db and table after ``before``."""
    numbers = np.zeros(int(slots.max()) + 1, np.int64)
    for slot in np.unique(slots).tolist():
        schema = window.schemas[slot] if slot < len(window.schemas) else None
        name = (*before, *(("", "") if schema is None else schema.name))
        numbers[slot] = known.setdefault(name, len(known))
    found: np.ndarray[Any, Any] = numbers[slots]
    return found


def grouped(keys: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The order in which equal keys, of two columns, stand together, and the first of each."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    keys = keys[order]
    return order, np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1)))
