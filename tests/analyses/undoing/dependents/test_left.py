"""The last values of rows on whose changes others depend are those of generated histories.

``BINLOGKIT_HISTORIES`` says how many.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from binlogkit.analyses.references import references
from binlogkit.analyses.undoing.dependents.found import dependences
from binlogkit.analyses.undoing.dependents.gathered import Gathered
from tests.analyses.undoing.dependents.test_dependents import (
    CHILD,
    DEFINITIONS,
    HISTORIES,
    LOOSE,
    PARENT,
    History,
    batches,
    written,
)

Make = Callable[..., pa.Table]
Told = dict[tuple[Any, int], dict[str, Any]]


def told_of(make: Make, history: History, seed: int, minimal: bool, **how: Any) -> tuple[Any, Told]:
    """By table and change the columns whose last values are told."""
    chosen = random.Random(seed).sample(range(40), 1 + seed % 20)
    found = dependences(
        Gathered(batches(make, history.changes, minimal), DEFINITIONS), references(DEFINITIONS),
        np.array(sorted(chosen)), struck=False, complete=frozenset([LOOSE]), **how,
    )  # fmt: skip
    told: Told = {}
    for (name, column), left in found.left.items():
        cells = left.cells.array.cast(pa.int64()) if column == "at" else left.cells.array
        for seq, value in zip(left.seqs.tolist(), cells.to_pylist(), strict=True):
            told.setdefault((name, seq), {})[column] = value
    return found, told


def checked(make: Make, seed: int, minimal: bool, **how: Any) -> Counter[str]:
    history = History(seed, 45)
    found, told = told_of(make, history, seed, minimal, **how)
    seen = Counter[str]()
    for change in (c for c in history.changes if c["seq"] in set(found.conflicting.tolist())):
        name, values = change["table"], told.pop((change["table"], change["seq"]), {})
        row = history.rows[name].get(change["life"])
        if name == LOOSE or row is None:
            assert not values
            seen["gone"] += name != LOOSE
            continue
        wanted = {"id", *(written(change) if change["op"] == "update" else row)}
        assert values.keys() == wanted or (minimal and values.keys() <= wanted)
        assert values == {column: row[column] for column in values}
        seen["moved" if row["id"] != (change["after"] or row)["id"] else "there"] += 1
    assert not told
    return seen


@pytest.mark.parametrize("minimal", [False, True])
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_they_are_those_of_the_history(
    make_changes: Make, seed: int, merge: bool, minimal: bool
) -> None:
    checked(make_changes, seed, minimal, merge=merge)


def test_the_histories_hold_every_kind(make_changes: Make) -> None:
    seen = sum((checked(make_changes, seed, False) for seed in range(60)), Counter[str]())
    assert set(seen) == {"gone", "moved", "there"}


def test_nothing_is_told_of_tables_that_changed_in_other_ways(make_changes: Make) -> None:
    history = History(11, 45)
    for unsure, names in ((set(), {PARENT, CHILD}), ({PARENT}, {CHILD}), ({PARENT, CHILD}, set())):
        _, told = told_of(make_changes, history, 11, False, unsure=unsure)
        assert {name for name, _ in told} == names
