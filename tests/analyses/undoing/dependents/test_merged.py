"""What is undone of updates by the column fits what later changes left, in generated histories.

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
from binlogkit.analyses.undoing.dependents.found import Dependences, dependences
from binlogkit.analyses.undoing.dependents.gathered import Gathered
from tests.analyses.undoing.dependents.test_dependents import (
    COLUMNS,
    DEFINITIONS,
    HISTORIES,
    KINDS,
    LOOSE,
    TYPES,
    Change,
    History,
    batches,
    referred,
    unique,
    written,
)

Make = Callable[..., pa.Table]


def merged(make: Make, seed: int, minimal: bool) -> tuple[list[Change], set[int], Dependences]:
    changes = [c for c in History(seed, 45).changes if c["table"] != LOOSE]
    chance = random.Random(seed)
    some = [c for c in changes[-25:-2] if c["op"] == "update" or chance.random() < 0.2]
    chosen = {c["seq"] for c in chance.sample(some, min(len(some), 1 + seed % 9))}
    told = dependences(
        Gathered(batches(make, changes, minimal), DEFINITIONS), references(DEFINITIONS),
        np.array(sorted(chosen)), struck=False, complete=frozenset(), merge=True,
    )  # fmt: skip
    return changes, chosen, told


def told_of(told: Dependences, name: Any, column: str, seq: int) -> tuple[bool, Any]:
    """Whether a change keeps a column, and the value that later changes left there, if any did."""
    later = told.later.get((name, column))
    if later is None or seq not in later.seqs:
        return False, None
    (at,) = np.flatnonzero(later.seqs == seq)
    return bool(later.kept[at]), later.cells.array[int(at)].as_py()


def checked(changes: list[Change], chosen: set[int], told: Dependences) -> Counter[str]:
    """Undo what is not refused or kept; how often there was what."""
    rows: dict[Any, dict[int, dict[str, Any]]] = {name: {} for name in COLUMNS}
    last: dict[Any, int] = {}
    for change in changes:
        there, life = rows[change["table"]], change["life"]
        there.pop(life, None)
        if change["after"] is not None:
            there[life] = dict(change["after"])
        for column in written(change) if change["op"] == "update" else ():
            last[change["table"], life, column] = change["seq"]
    end = {name: {life: dict(row) for life, row in there.items()} for name, there in rows.items()}
    seen, refused = Counter[str](), set(told.conflicting.tolist())
    for change in reversed(changes):
        name, life, seq = change["table"], change["life"], change["seq"]
        if seq not in chosen or seq in refused:
            continue
        row = rows[name].get(life)
        if change["op"] == "delete":
            assert row is None
            rows[name][life] = dict(change["before"])
            continue
        assert row is not None
        if change["op"] == "insert":
            assert row == change["after"]
            del rows[name][life]
            continue
        kept = {c for c in COLUMNS[name] if told_of(told, name, c, seq)[0]}
        assert kept <= written(change)
        for column in written(change) - kept:
            assert row[column] == change["after"][column]
            row[column] = change["before"][column]
            seen["restored"] += 1
        seen["kept"] += len(kept)
    assert all(unique(name, there) for name, there in rows.items()) and referred(rows)
    for (name, life, column), seq in last.items():
        if seq not in chosen and life in end[name]:
            assert rows[name][life][column] == end[name][life][column]
    seen["refused"] += len(refused)
    return seen


@pytest.mark.parametrize("minimal", [False, True], ids=["full", "minimal"])
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_what_is_undone_fits(make_changes: Make, seed: int, minimal: bool) -> None:
    checked(*merged(make_changes, seed, minimal))


def test_rows_are_found_by_their_present_keys(make_changes: Make) -> None:
    """And what later changes left is what stands in a kept column."""
    seen = Counter[bool]()
    for seed in range(min(HISTORIES, 40)):
        changes, chosen, told = merged(make_changes, seed, minimal=False)
        refused = set(told.conflicting.tolist())
        for (name, column), later in told.later.items():
            for seq, kept in zip(later.seqs.tolist(), later.kept.tolist(), strict=True):
                (own,) = (c for c in changes if c["seq"] == seq)
                after = [
                    c for c in changes
                    if (c["table"], c["life"]) == (name, own["life"]) and c["seq"] > seq
                    and c["op"] == "update" and column in written(c)
                    and (
                        c["seq"] not in chosen or c["seq"] in refused
                        or told_of(told, name, column, c["seq"])[0]
                    )
                ]  # fmt: skip
                stands = pa.array([(after or [own])[-1]["after"][column]], TYPES[KINDS[column]])
                assert told_of(told, name, column, seq)[1] == stands[0].as_py()
                assert kept or column == "id"
                seen[kept] += 1
    assert seen[True] and seen[False]


def test_the_histories_hold_every_kind(make_changes: Make) -> None:
    found = Counter[str]()
    for seed in range(min(HISTORIES, 20)):
        found += checked(*merged(make_changes, seed, minimal=False))
    assert min(found["restored"], found["kept"], found["refused"]) > 3
