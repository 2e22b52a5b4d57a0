"""Which changes depend on which, against every pair of changes looked at by itself.

Generated histories; ``BINLOGKIT_HISTORIES`` says how many.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.references import references
from binlogkit.analyses.undoing.dependents.found import Dependences, dependences
from binlogkit.analyses.undoing.dependents.gathered import Gathered
from binlogkit.rows.schema import ForeignKey, TableDefinition

Make = Callable[..., pa.Table]
Change = dict[str, Any]
Name = tuple[str, str]

HISTORIES = int(os.environ.get("BINLOGKIT_HISTORIES", "40"))
PARENT, CHILD, LOOSE = ("u", "p"), ("u", "c"), ("u", "k")
KINDS = {"id": "integer", "code": "text", "p": "text", "v": "integer", "w": "integer",
         "at": "datetime"}  # fmt: skip
TYPES = {"text": pa.string(), "integer": pa.int32(), "datetime": pa.timestamp("us")}
COLUMNS = {
    PARENT: ("id", "code", "v", "at"),
    CHILD: ("id", "p", "v", "w"),
    LOOSE: ("v", "w"),
}
KEYS: dict[Name, list[tuple[str, ...]]] = {
    PARENT: [("id",), ("code",)],
    CHILD: [("id",), ("v", "w")],
    LOOSE: [],
}
DEFINITIONS = [
    TableDefinition("u", "p", (), ("id",), (("code",),)),
    TableDefinition(
        "u", "c", (), ("id",), (("v", "w"),),
        foreign=(ForeignKey(("p",), "u", "p", ("code",), "NO ACTION", "NO ACTION"),),
    ),
]  # fmt: skip


class History:
    """Changes that a server could have made: keys are unique, references are kept."""

    def __init__(self, seed: int, length: int) -> None:
        self.chance = random.Random(seed)
        self.rows: dict[Name, dict[int, dict[str, Any]]] = {name: {} for name in COLUMNS}
        self.changes: list[Change] = []
        self.born = 0
        while len(self.changes) < length:
            self.step()

    def row(self, name: Name) -> dict[str, Any]:
        few = self.chance.randrange
        codes = ["a", "b", "c", None]
        cells = {"id": few(4), "code": self.chance.choice(codes), "p": self.chance.choice(codes),
                 "v": self.chance.choice([0, 1, 2, None]), "w": few(2), "at": few(3)}  # fmt: skip
        return {column: cells[column] for column in COLUMNS[name]}

    def step(self) -> None:
        name = self.chance.choice(list(COLUMNS))
        there = self.rows[name]
        op = self.chance.choice(("insert", "update", "update", "delete"))
        if op != "insert" and not there:
            return
        self.born += 1
        life = self.born if op == "insert" else self.chance.choice(list(there))
        before = there.get(life)
        after = None if op == "delete" else self.row(name)
        if before is not None and after is not None:
            some = self.chance.sample(list(after), 1 + self.chance.randrange(2))
            after = before | {column: after[column] for column in some}
        if before == after:
            return
        kept = {k: v for k, v in there.items() if k != life} | ({life: after} if after else {})
        now = {**self.rows, name: kept}
        if all(unique(table, rows) for table, rows in now.items()) and referred(now):
            self.rows = now
            change = {"seq": len(self.changes), "table": name, "op": op, "before": before}
            self.changes.append(change | {"after": after, "life": life})


def unique(name: Name, rows: Mapping[int, Mapping[str, Any]]) -> bool:
    values = [
        (key, value) for key in KEYS[name] for row in rows.values() if (value := _value(row, key))
    ]
    return len(set(values)) == len(values)


def referred(rows: Mapping[Name, Mapping[int, Mapping[str, Any]]]) -> bool:
    there = {row["code"] for row in rows[PARENT].values()}
    return all(row["p"] is None or row["p"] in there for row in rows[CHILD].values())


def _value(row: Mapping[str, Any] | None, key: Iterable[str]) -> tuple[Any, ...] | None:
    """The value of a key, None without a row or with a NULL."""
    found = None if row is None else tuple(row[column] for column in key)
    return None if found is None or None in found else found


def _left(change: Change, key: Iterable[str]) -> Any:
    was, now = _value(change["before"], key), _value(change["after"], key)
    return None if was == now else was


def _taken(change: Change, key: Iterable[str]) -> Any:
    was, now = _value(change["before"], key), _value(change["after"], key)
    return None if was == now else now


def written(change: Change) -> set[str]:
    before, after = change["before"], change["after"]
    return {name for name in after if after[name] != before[name]}


def reasons(one: Change, two: Change) -> set[str]:
    """Why the later change depends on the earlier one, as the package's docstring says."""
    found, tables = set[str](), (one["table"], two["table"])
    if tables[0] == tables[1] and one["life"] == two["life"] and tables[0] != LOOSE:
        if two["op"] == "delete":
            found.add("deleted")
        elif one["op"] == "insert":
            found.add("same_row")
        else:
            units = [*({c} for c in COLUMNS[tables[0]]), *map(set, KEYS[tables[0]])]
            both = any(unit & written(one) and unit & written(two) for unit in units)
            if both or (written(one) | written(two)) & {"id"}:
                found.add("same_row")
    for key in KEYS[tables[0]] if tables[0] == tables[1] else ():
        if (left := _left(one, key)) is not None and left == _taken(two, key):
            found.add("unique")
    if tables == (PARENT, CHILD):
        taken = _taken(one, ("code",))
        if taken is not None and taken == _taken(two, ("p",)):
            found.add("child")
    if tables == (CHILD, PARENT):
        left = _left(one, ("p",))
        if left is not None and left == _left(two, ("code",)):
            found.add("parent")
    return found


def _equal(changes: list[Change], back: set[int]) -> dict[tuple[int, int], set[str]]:
    """Of the table without a key: pairs of changes of rows that are scarce in the end."""
    left, needed = Counter[Any](), Counter[Any]()
    own = [c for c in changes if c["table"] == LOOSE]
    for change in own:
        left[str(change["before"])] -= 1
        left[str(change["after"])] += 1
        needed[str(change["after"])] += change["seq"] in back
    return {
        (one["seq"], two["seq"]): {"same_row"}
        for one in own
        for two in own
        if one["seq"] < two["seq"] and one["after"] and one["after"] == two["before"]
        and needed[str(one["after"])] > left[str(one["after"])]
    }  # fmt: skip


def naive(changes: list[Change], chosen: set[int]) -> tuple[set[int], set[int], Any]:
    """The dependents that are not chosen, the chosen ones with conflicts, and all pairs."""
    fixed = {
        (one["seq"], two["seq"]): why
        for one in changes
        for two in changes
        if one["seq"] < two["seq"] and (why := reasons(one, two))
    }
    reached = set(chosen)
    while True:
        pairs = fixed | _equal(changes, reached)
        more = {b for a, b in pairs if a in reached} - reached
        if not more:
            break
        reached |= more
    blocked = reached - chosen
    while more := {a for a, b in pairs if b in blocked and a in chosen} - blocked:
        blocked |= more
    return reached - chosen, blocked & chosen, pairs


def following(one: int, pairs: Iterable[tuple[int, int]]) -> set[int]:
    """What depends on a change, by way of others too."""
    found = {one}
    while more := {b for a, b in pairs if a in found} - found:
        found |= more
    return found


def batches(make: Make, changes: list[Change], minimal: bool) -> list[pa.RecordBatch]:
    """The changes by table, of MINIMAL images where asked."""
    found = []
    for name, columns in COLUMNS.items():
        fields = [
            pa.field(c, TYPES[KINDS[c]], metadata={"binlogkit:kind": KINDS[c]}) for c in columns
        ]
        own = [change for change in changes if change["table"] == name]
        rows = [(c["op"], *_images(c, minimal), {"seq": c["seq"], "pos": c["seq"]}) for c in own]
        key = KEYS[name][0] if KEYS[name] else ()
        found += make(fields, rows, table=name, key=key).to_batches()
    return found


def _images(change: Change, minimal: bool) -> tuple[Any, Any]:
    before, after = change["before"], change["after"]
    if not minimal or change["table"] == LOOSE or before is None:
        return before, after
    wanted = {} if after is None else {name: after[name] for name in sorted(written(change))}
    return {"id": before["id"]}, None if after is None else wanted


def asked(make: Make, changes: list[Change], chosen: set[int], minimal: bool = False) -> Any:
    gathered = Gathered(batches(make, changes, minimal), DEFINITIONS)
    return dependences(
        gathered, references(DEFINITIONS), pa.array(sorted(chosen), pa.int64()).to_numpy(),
        struck=False, complete=frozenset([LOOSE]),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_all_that_pairs_show_depends(make_changes: Make, seed: int) -> None:
    changes = History(seed, 45).changes
    chosen = set(random.Random(seed).sample(range(40), 1 + seed % 7))
    stays, blocked, pairs = naive(changes, chosen)
    told = asked(make_changes, changes, chosen)
    found, conflicts = told.dependents, told.conflicts
    assert set(told.dependent) == stays and set(told.conflicting) == blocked
    assert set(found["pos"].to_pylist()) == stays
    assert set(conflicts["pos"].to_pylist()) == blocked
    assert {row["reason"] for row in found.to_pylist()} <= {
        why for told in pairs.values() for why in told
    }
    for row in found.to_pylist():
        assert row["other_pos"] in chosen and row["pos"] in following(row["other_pos"], pairs)
    assert set(conflicts["other_pos"].to_pylist()) <= stays


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_minimal_images_lose_no_dependent(make_changes: Make, seed: int) -> None:
    """What they do not hold is taken for what may be there."""
    changes = History(seed, 45).changes
    chosen = set(random.Random(seed).sample(range(40), 1 + seed % 7))
    stays, blocked, _ = naive(changes, chosen)
    told = asked(make_changes, changes, chosen, minimal=True)
    assert set(told.dependent) >= stays
    assert set(told.conflicting) >= blocked


def test_the_histories_hold_every_kind() -> None:
    told = Counter(
        why
        for seed in range(min(HISTORIES, 20))
        for why_of in [naive(History(seed, 45).changes, {0, 1, 2, 3, 4})[2]]
        for found in why_of.values()
        for why in found
    )
    assert set(told) == {"same_row", "deleted", "unique", "child", "parent"}


def test_where_nothing_depends() -> None:
    none = Dependences.none()
    assert none.dependents.num_rows == none.conflicts.num_rows == 0
    assert [len(seqs) for seqs in (none.dependent, none.conflicting, none.overwritten)] == [0] * 3
