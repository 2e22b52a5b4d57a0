"""What depends on changes is found in what passes the sieve as it is found in all changes.

``BINLOGKIT_HISTORIES`` says how many histories there are.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from binlogkit.analyses._tasks import Sieve
from binlogkit.analyses.undoing.dependents.touched_rows import TouchedRows
from binlogkit.constants import TableId
from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import STATEMENT
from binlogkit.frames.schema import CellState, table_of
from binlogkit.log.undoing import dependents as undoing
from binlogkit.log.undoing.dependents import Others
from binlogkit.log.undoing.source import UndoSource
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import ColumnDefinition, ForeignKey, TableDefinition
from tests.analyses.conftest import OddCell

Make = Callable[..., pa.Table]
HISTORIES = int(os.environ.get("BINLOGKIT_HISTORIES", "30"))
PARENT, CHILD, ALONE = ("u", "p"), ("u", "c"), ("u", "k")
KEYS = {PARENT: ("id",), CHILD: ("a", "b"), ALONE: ("id",)}
COLUMNS = {PARENT: "id code v w", CHILD: "a b p v w", ALONE: "id v w"}
COLLATIONS = ["utf8mb4_0900_ai_ci", "utf8mb4_bin", "utf8mb4_0900_bin", "latin1_swedish_ci",
              "utf8mb4_hu_0900_ai_ci", None]  # fmt: skip
ODD = OddCell(CellState.UNDECODABLE, b"\xff")
KINDS = ((pa.int32(), "integer", "int"), (pa.string(), "text", "varchar"))
LETTERS = ["a", "A", "ä", "b ", "b", "ß", "ss", "ccs", "Ω", "☃", "", "y", "ü"]


class Scene:
    """Tables with keys by chance, and changes that a server may have logged, keys apart."""

    def __init__(self, seed: int, make: Make) -> None:
        self.chance = chance = random.Random(seed)
        collation = chance.choice(COLLATIONS)
        self.rare = chance.random() < 0.3  # cells that are not known
        self.minimal = chance.random() < 0.3
        self.texts = {"code", "p", "b", *(["id"] if chance.random() < 0.7 else [])}
        unique = chance.choice([(), (("code",),), (("code",), ("v", "code"))])
        partial = ((0, (chance.choice([1, 2]),)),) if unique and chance.random() < 0.6 else ()
        reference = ForeignKey(("p",), "u", "p", ("code",), "CASCADE", "NO ACTION")
        foreign = (reference,) if unique and chance.random() < 0.7 else ()
        expressions = (("v",),) if chance.random() < 0.2 else ()

        def columns(name: TableId) -> tuple[ColumnDefinition, ...]:
            return tuple(
                ColumnDefinition(c, *KINDS[c in self.texts][2:], collation=collation)
                for c in COLUMNS[name].split()
            )

        self.definitions = [
            TableDefinition(*PARENT, columns(PARENT), ("id",), unique, partial_keys=partial,
                            expression_keys=expressions),
            TableDefinition(*CHILD, columns(CHILD), ("a", "b"), foreign=foreign),
            TableDefinition(*ALONE, columns(ALONE), ("id",)),
        ]  # fmt: skip
        self.rows: dict[TableId, dict[Any, dict[str, Any]]] = {name: {} for name in COLUMNS}
        self.batches = list(self._batches(make))

    def _cell(self, column: str) -> Any:
        if column in ("code", "p", "v") and self.chance.random() < 0.1:
            return None
        if column not in self.texts:
            return self.chance.randrange(60 if column == "id" else 12)
        if self.rare and column != "id" and self.chance.random() < 0.1:
            return ODD
        some = self.chance.choices(LETTERS, k=self.chance.randrange(3))
        return "".join(some) + (str(self.chance.randrange(9)) if column == "id" else "")

    def _change(self, name: TableId, names: Sequence[str]) -> tuple[str, Any, Any] | None:
        there = self.rows[name]
        op = self.chance.choice(("insert", "update", "update", "delete"))
        before: dict[str, Any] | None = None
        after: dict[str, Any] | None = {c: self._cell(c) for c in names}
        if op != "insert" and there:
            row = there[self.chance.choice(list(there))]
            before = {c: row.get(c) for c in names}
            some = self.chance.sample(list(names), 1 + self.chance.randrange(2))
            after = None if op == "delete" else before | {c: self._cell(c) for c in some}
        old, new = (
            None if row is None else tuple(repr(row[c]) for c in KEYS[name])
            for row in (before, after)
        )
        if new in there and new != old:
            return None
        there.pop(old, None)
        if after is not None:
            there[new] = after
        op = "insert" if before is None else "delete" if after is None else "update"
        if self.minimal and before is not None:
            if after is not None:
                after = {c: after[c] for c in names if repr(after[c]) != repr(before[c])}
            before = {c: before[c] for c in KEYS[name]}
        return op, before, after

    def _batches(self, make: Make) -> Iterator[pa.RecordBatch]:
        """Some changes at a time, table by table, as a log's pass."""
        seq, later = 0, self.chance.randrange(400)
        while seq < 140:
            found: dict[tuple[TableId, bool], list[Any]] = {}
            for _ in range(self.chance.randrange(10, 50)):
                name = self.chance.choice(list(COLUMNS))
                columns = self._columns(name, late=seq >= later)
                if (change := self._change(name, columns)) is not None:
                    place = {"seq": seq, "pos": seq, "tx": seq}
                    found.setdefault((name, seq >= later), []).append((*change, place))
                    seq += 1
            for (name, late), rows in found.items():
                kinds = [
                    pa.field(c, kind, metadata={"binlogkit:kind": text})
                    for c in self._columns(name, late=late)
                    for kind, text in [KINDS[c in self.texts][:2]]
                ]
                yield from make(kinds, rows, table=name, key=KEYS[name]).to_batches()

    def _columns(self, name: TableId, *, late: bool) -> list[str]:
        return COLUMNS[name].split()[: None if late else -1]


class Source(UndoSource):
    """Changes in memory; ``parts``: so many tasks, each with a copy of the sieve."""

    by_transaction, wanted, gaps = False, Filters(ops=frozenset({"insert"})), ()
    statements = to_table([], STATEMENT)
    size = passed = 0

    def __init__(self, scene: Scene, transactions: pa.Table, parts: int) -> None:
        self._batches, self.transactions, self._parts = scene.batches, transactions, parts
        self.boundaries = []

    def of_tables(self, tables: Collection[TableId] | None) -> Iterator[pa.RecordBatch]:
        yield from (one for one in self._batches if tables is None or table_of(one) in tables)

    def sifted(self, tables: Collection[TableId] | None, sieve: Sieve) -> Iterator[pa.RecordBatch]:
        passing = super().sifted if self._parts == 1 else self._tasks
        found = [*passing(tables, sieve)]
        self.passed = sum(batch.num_rows for batch in found)
        return iter(found)

    def _tasks(self, tables: Collection[TableId] | None, sieve: Sieve) -> list[pa.RecordBatch]:
        every = [*self.of_tables(tables)]
        while True:
            found, learned = list[pa.RecordBatch](), list[Any]()
            for part in np.array_split(np.arange(len(every)), self._parts):
                own = deepcopy(sieve)
                found += [one for i in part for one in own(every[i])]
                learned.append(json.loads(json.dumps(own.learned())))
            if not sieve.add(learned):
                return found

    def unchecked(self, seqs: Any) -> Any:
        raise AssertionError

    def states(self, *_: Any) -> Any:
        raise AssertionError


def plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else (
        value.to_pylist() if hasattr(value, "to_pylist") else value
    )  # fmt: skip


def found(
    scene: Scene, transactions: pa.Table, parts: int, chosen: set[int], *, merge: bool
) -> Any:
    source = Source(scene, transactions, parts)
    others = Others(source, scene.definitions, struck=False, merge=merge)
    own = [b.filter(pa.array(np.isin(b["seq"], [*chosen]))) for b in scene.batches]
    return plain(others.dependences([b for b in own if b.num_rows], [])), source.passed


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_nothing_that_depends_is_left_out(
    make_changes: Make, make_transactions: Make, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(seed, make_changes)
    ended = [("rolled_back" if scene.chance.random() < 0.02 else "committed") for _ in range(200)]
    transactions = make_transactions([{"outcome": one} for one in ended])
    chosen = set(scene.chance.sample(range(80), scene.chance.randrange(1, 5)))
    monkeypatch.setattr(undoing, "FEW_BYTES", 0)
    merge = scene.chance.random() < 0.5
    sifted = [found(scene, transactions, n, chosen, merge=merge) for n in (1, 3)]
    monkeypatch.setattr(Others, "_touched", lambda *_: {})
    wanted, every = found(scene, transactions, 1, chosen, merge=merge)
    for one, passed in sifted:
        assert one == wanted
        assert passed <= every


PLAIN = [pa.field(name, pa.int64(), metadata={"binlogkit:kind": "integer"}) for name in "kv"]
TEXT = pa.field("k", pa.string(), metadata={"binlogkit:kind": "text"})
DEFINED = TableDefinition("shop", "orders", (), ("k",))


def touched(definition: TableDefinition, *changes: pa.RecordBatch) -> TouchedRows:
    rows = TouchedRows({("shop", "orders"): [definition]}, [])
    for batch in changes:
        rows.follow(batch)
    return rows


def seqs(rows: TouchedRows, batch: pa.RecordBatch) -> list[int]:
    """The changes that pass."""
    those = rows.those(batch, np.ones(batch.num_rows, bool))
    passing: list[int] = np.asarray(batch["seq"])[those].tolist()
    return passing


def inserts(make: Make, kinds: Sequence[pa.Field], values: Sequence[Any], **how: Any) -> Any:
    images = [("insert", None, dict(zip("kv", row, strict=True))) for row in values]
    (made,) = make(list(kinds), images, **{"key": ("k",), **how}).to_batches()
    return made


@pytest.mark.parametrize("kind", [PLAIN[0], TEXT], ids=["integer", "text"])
def test_a_row_that_nobody_touched_is_left_out(make_changes: Make, kind: pa.Field) -> None:
    values = [(n if kind is PLAIN[0] else f"k{n}", 0) for n in range(5)]
    whole = inserts(make_changes, [kind, PLAIN[1]], values)
    rows = touched(DEFINED, whole.slice(2, 1))
    assert [seqs(rows, whole) for _ in range(2)] == [[0, 2], [2]]  # one of each layout passes


def test_a_value_that_was_left_is_looked_for_as_its_collation_compares(make_changes: Make) -> None:
    """Also one of a key that has only the value's beginning; a value of a text in an unknown
    language may be any."""
    column = ColumnDefinition("k", "varchar", collation="utf8mb4_0900_ai_ci")
    by_text = TableDefinition("shop", "orders", (column,), ("v",), (("k",),))
    by_start = replace(by_text, partial_keys=((0, (1,)),))
    kinds = [TEXT, PLAIN[1]]
    (gone,) = make_changes(kinds, [("delete", {"k": "Ab", "v": 9}, None)], key=("v",)).to_batches()
    texts = ["x", "aB", "a", "\u2603", "b"]
    later = inserts(make_changes, kinds, [(t, n) for n, t in enumerate(texts)], key=("v",))
    assert seqs(touched(by_text, gone), later) == [0, 1, 3]
    assert seqs(touched(by_start, gone), later) == [0, 1, 2, 3]
    assert seqs(touched(by_text, later.slice(1, 1)), later) == [0, 1]  # it left no value


@pytest.mark.parametrize(
    ("kinds", "key"),
    [(PLAIN, ()), (PLAIN, ("v",)), (PLAIN, ("k", "v")), ([TEXT, PLAIN[1]], ("k",))],
    ids=str,
)
def test_where_keys_differ_since_nothing_is_left_out(
    make_changes: Make, kinds: Sequence[pa.Field], key: tuple[str, ...]
) -> None:
    rows = touched(DEFINED, inserts(make_changes, PLAIN, [(1, 1)]))
    values = [(n if kinds is PLAIN else str(n), n) for n in range(3)]
    assert seqs(rows, inserts(make_changes, kinds, values, key=key)) == [0, 1, 2]
    assert rows.join([]) and not rows.join([])  # what was left out before is looked at once more


def test_a_value_that_an_image_lacks_may_be_any(make_changes: Make) -> None:
    by_value = replace(DEFINED, unique_keys=(("v",),))
    images: list[Any] = [("delete", {"k": 1, "v": 1}, None), ("delete", {"k": 5}, None)]
    images += [("insert", None, {"k": n, "v": 9}) for n in (6, 7)]
    (whole,) = make_changes(PLAIN, images, key=("k",)).to_batches()
    gone, partial, later = whole.slice(0, 1), whole.slice(1, 1), whole.slice(2)
    rows = touched(by_value, gone)
    assert seqs(rows, whole.slice(1)) == [1] and seqs(rows, later) == []
    assert touched(by_value, gone, partial).gave_up
