"""What a key says of changes: which row each one means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.chunk import ABSENT, IS, STORED, WAS, Chunk
from binlogkit.analyses.point_in_time.codes import Flags

__all__ = ["Keys", "read_keys"]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a chunk's changes, as columns.

    ``parts``: the key after each change, for a delete the one before; where cells of it have no
    Arrow value, their stored bytes and texts are parts too. ``moved``: which updates gave the row
    another key, and ``left``: the keys that those rows had before. ``told``: which changes tell
    the key that is needed.
    """

    parts: list[Any]
    moved: Flags
    left: list[Any]
    told: Flags


def read_keys(chunk: Chunk, key: Sequence[str], *, backwards: bool) -> Keys:
    """The keys of all changes.

    ``backwards``: an image after a change that lacks the key did not change it.
    """
    none = np.zeros(chunk.size, bool)
    if any(name not in chunk.names for name in key):
        return Keys([], none, [], none)
    states = [[chunk.states(side, name) for name in key] for side in (WAS, IS)]
    stored = any(s is not None and np.isin(s, STORED).any() for side in states for s in side)
    was, was_told = _read(chunk, WAS, key, stored)
    now, now_told = _read(chunk, IS, key, stored)
    if len(key) > 1 and any(s is not None for s in states[IS]):
        now, now_told = _completed(chunk, key, (was, was_told), now)
    both = chunk.there[WAS] & chunk.there[IS]
    moved = both & was_told & now_told
    if moved.any():
        moved &= reduce(np.logical_or, (_differs(a, b) for a, b in zip(was, now, strict=True)))
    told = np.where(chunk.there[WAS], was_told | (both & now_told & backwards), now_told)
    if not now_told.all():
        after = pa.array(now_told)
        now = [pc.if_else(after, a, b) for a, b in zip(now, was, strict=True)]
    return Keys(now, moved, [part.filter(pa.array(moved)) for part in was], told)


def _read(chunk: Chunk, side: int, key: Sequence[str], stored: bool) -> tuple[list[Any], Flags]:
    """One side's keys, and which images tell theirs.

    A part that is NULL is no key; beside others it is one.
    """
    told = chunk.there[side].copy()
    parts = []
    for name in key:
        column, states = chunk.column(side, name), chunk.states(side, name)
        parts.append(
            column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        )
        if states is not None:
            told &= ~np.isin(states, ABSENT)
        if len(key) == 1 and column.null_count:
            valid = np.asarray(column.is_valid())
            told &= valid if states is None else valid | np.isin(states, STORED)
    for what, dtype in (("bytes", pa.binary()), ("text", pa.string())) if stored else ():
        for name in key:
            found = chunk.odd(side, name).get(what)
            parts.append(
                pa.chunked_array([pa.nulls(chunk.size, dtype)]) if found is None else found
            )
    return parts, told


def _completed(
    chunk: Chunk, key: Sequence[str], was: tuple[list[Any], Flags], now: list[Any]
) -> tuple[list[Any], Flags]:
    """The keys after changes, with the parts that images after lack from those before.

    A minimal image after an update has only the parts that changed.
    """
    parts, was_told = was
    told = chunk.there[IS].copy()
    before = chunk.there[WAS] & was_told
    for i, name in enumerate(key):
        states = chunk.states(IS, name)
        if states is None:
            continue
        lacking = np.isin(states, ABSENT)
        told &= ~lacking | ~chunk.there[WAS] | was_told
        for at in range(i, len(now), len(key)):
            known = pc.if_else(pa.array(before), parts[at], None)
            now[at] = pc.if_else(pa.array(lacking), known, now[at])
    return now, told


def _differs(one: Any, other: Any) -> Flags:
    """Where two columns differ; NULL equals NULL."""
    differs: Flags = np.asarray(pc.fill_null(pc.not_equal(one, other), False))
    if not one.null_count and not other.null_count:
        return differs
    nulls: Flags = np.asarray(one.is_null()) != np.asarray(other.is_null())
    return differs | nulls
