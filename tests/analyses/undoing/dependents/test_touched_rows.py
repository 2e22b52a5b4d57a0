"""The changes of rows that others touched, against rows followed one by one."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa
import pytest

from binlogkit.analyses.undoing.dependents.touched_rows import TouchedRows, key_column

Make = Callable[..., pa.Table]
FIELDS = [pa.field(name, pa.int64(), metadata={"binlogkit:kind": "integer"}) for name in "kv"]


def history(chance: random.Random, length: int) -> list[tuple[int, str, int | None, int | None]]:
    """Changes of rows that move between keys: the row's number, what, its key before and after."""
    rows: dict[int, int] = {}
    found: list[tuple[int, str, int | None, int | None]] = []
    while len(found) < length:
        free = [key for key in range(-8, 8) if key not in rows]
        op = chance.choice(("insert", "update", "update", "delete"))
        if op == "insert" and free:
            key = chance.choice(free)
            rows[key] = len(found)
            found.append((rows[key], op, None, key))
        elif op != "insert" and rows:
            old = chance.choice(list(rows))
            row = rows.pop(old)
            if op == "delete":
                found.append((row, op, old, None))
                continue
            new = chance.choice([*free, old])
            rows[new] = row
            found.append((row, op, old, new))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_every_change_of_a_touched_row_and_of_its_keys_is_found(
    make_changes: Make, seed: int
) -> None:
    chance = random.Random(seed)
    changes = history(chance, 60)

    def batch(numbers: list[int]) -> pa.RecordBatch:
        images = [
            (op, *(None if key is None else {"k": key, "v": n} for key in keys), {"seq": n})
            for n in numbers
            for _, op, *keys in [changes[n]]
        ]
        (made,) = make_changes(FIELDS, images, key=("k",)).to_batches()
        return made

    first = 20 + chance.randrange(10)
    chosen = sorted({first, first + chance.randrange(8)})
    touched = TouchedRows(key_column(batch(chosen)) or FIELDS[0], [batch(chosen)])
    rest = [n for n in range(first, len(changes)) if n not in chosen]
    cut = len(rest) // 2
    found = [
        seq
        for part in (rest[:cut], rest[cut:])
        for seq in touched.those(batch(part))["seq"].to_pylist()
    ]
    rows = {changes[n][0] for n in chosen}
    keys = {key for n in chosen for key in changes[n][2:]}
    wanted = {
        n for n in rest if changes[n][0] in rows or keys.intersection(changes[n][2:]) - {None}
    }
    assert wanted <= set(found) and found == sorted(found)


def test_a_row_that_nobody_touched_is_left_out(make_changes: Make) -> None:
    images = [("insert", None, {"k": key, "v": 0}, {"seq": key}) for key in range(5)]
    (whole,) = make_changes(FIELDS, images, key=("k",)).to_batches()
    touched = TouchedRows(FIELDS[0].remove_metadata(), [whole.slice(1, 1)])
    assert touched.those(whole)["seq"].to_pylist() == [1]
    assert touched.those(whole.slice(2)).num_rows == 0


def test_keys_whose_values_may_be_equal_in_other_ways_are_not_followed(make_changes: Make) -> None:
    text = pa.field("k", pa.string(), metadata={"binlogkit:kind": "text"})
    for fields, key in (([text], ("k",)), (FIELDS, ("k", "v")), (FIELDS, ())):
        (batch,) = make_changes(
            fields, [("delete", dict.fromkeys("k", None), None)], key=key
        ).to_batches()
        assert key_column(batch) is None


@pytest.mark.parametrize("key", [(), ("v",), ("k", "v")])
def test_under_another_key_no_change_is_left_out(make_changes: Make, key: tuple[str, ...]) -> None:
    images = [("insert", None, {"k": n, "v": n}, {"seq": n}) for n in range(3)]
    (before,), (after,) = (make_changes(FIELDS, images, key=k).to_batches() for k in (("k",), key))
    touched = TouchedRows(FIELDS[0].remove_metadata(), [before.slice(1, 1)])
    assert touched.those(after)["seq"].to_pylist() == [0, 1, 2]
