"""Foreign keys as references: which columns of a child name which of its parent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.structure import Alteration
from binlogkit.analyses.references import Reference, acting, keys_alone, references, renamed
from binlogkit.rows.schema import ColumnDefinition, ForeignKey, TableDefinition


def parent(*key: str) -> TableDefinition:
    return TableDefinition("shop", "p", (), primary_key=key)


def child(
    *columns: str, referenced: tuple[str, ...] = (), db: str | None = None
) -> TableDefinition:
    key = ForeignKey(columns, db, "p", referenced, "CASCADE", "NO ACTION")
    return TableDefinition("shop", "c", (), foreign=(key,))


def found(*tables: TableDefinition) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(one.columns, one.referenced) for one in references(tables)]


def test_the_columns_that_a_key_names() -> None:
    one = child("a", "b", referenced=("x", "y"))
    told = Reference(("shop", "c"), ("a", "b"), ("shop", "p"), ("x", "y"), "CASCADE", "NO ACTION")
    assert references([one]) == references([one, parent("x")]) == (told,)
    assert told.cascades


def test_without_names_they_are_the_parent_s_primary_key() -> None:
    assert found(parent("id"), child("a")) == [(("a",), ("id",))]
    assert found(parent("id"), child("a", db="other")) == []


def test_columns_that_several_rows_of_the_parent_may_share() -> None:
    """Those that hold no whole key: a key's beginning is none."""
    one, keyless = child("a", referenced=("ID",)), TableDefinition("shop", "p", ())
    unique = replace(keyless, unique_keys=(("n",), ("Id",)))
    parents = (parent("id"), unique, parent("id", "n"), keyless,
               replace(unique, partial_keys=((1, (3,)),)))  # fmt: skip
    shared = [key.shared for of in parents for key in references([one, of])]
    assert shared == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("types", "scales", "unlike"),
    [(("time", "datetime"), (0, 0), True), (("datetime", "timestamp"), (0, 0), True),
     (("time", "time"), (0, 0), False), (("time", "time"), (0, 2), True),
     (("datetime", "datetime"), (3, 0), True), (("varchar", "char"), (0, 0), False)],
)  # fmt: skip
def test_columns_of_which_no_values_are_equal(
    types: tuple[str, str], scales: tuple[int, int], unlike: bool
) -> None:
    one, of = (
        replace(table, columns=(ColumnDefinition(name, kind, scale=scale),))
        for table, name, kind, scale in zip(
            (child("a"), parent("Id")), ("A", "id"), types, scales, strict=True
        )
    )
    assert [key.unlike for key in references([one, of])] == [unlike]
    assert [key.unlike for key in references([child("a"), of])] == [False]


@pytest.mark.parametrize("key", [(), ("x", "y")])
def test_columns_that_do_not_pair_are_no_reference(key: tuple[str, ...]) -> None:
    """The parent is known from another time, or its key is not known."""
    assert found(parent(*key), child("a")) == []
    assert found(child("a")) == []


def reference(child: str, column: str, parent: str, *of: str, update: str = "CASCADE") -> Reference:
    return Reference(("shop", child), (column,), ("shop", parent), of, "CASCADE", update)


def test_rows_that_follow_have_others_follow() -> None:
    """By those of their columns that followed, and by updates alone; a ring ends."""
    c, g = reference("c", "up", "p", "id"), reference("g", "of", "c", "UP")
    null = reference("g", "of", "c", "UP", update="SET NULL")
    far = Reference(("shop", "g"), ("of",), ("shop", "p"), ("id",))
    assert acting([c]) == {c.parent: [c]}
    assert acting([c, g]) == {c.parent: [c, replace(far, on_update="CASCADE")], g.parent: [g]}
    assert acting([null, c])[c.parent] == [c, replace(far, on_update="SET NULL")]
    apart = reference("g", "of", "c", "code")
    assert acting([c, apart]) == {c.parent: [c], apart.parent: [apart]}
    again = [reference("c", "up", "p", "id"), reference("p", "id", "c", "up")]
    assert {key.child for key in acting(again)[c.parent]} == {c.child, c.parent}


def test_keys_have_all_names_that_their_tables_got_later() -> None:
    key = reference("c", "up", "p", "id")
    moves = [("p", "p2"), ("c", "c2"), ("p2", "p3")]
    names = [(("shop", old), ("shop", new)) for old, new in moves]
    under = {(one.child[1], one.parent[1]) for one in renamed([key], names)}
    assert under == {("c", "p"), ("c", "p2"), ("c2", "p"), ("c2", "p2"), ("c", "p3"), ("c2", "p3")}
    assert renamed([key, key], []) == [key]


def alter(seq: int, name: str, *keys: ForeignKey, drop: str = "", **columns: str) -> Boundary:
    done = Alteration(renamed=columns, foreign=keys, unforeign=frozenset({drop} - {""}))
    return Boundary(seq, None, "b.1", seq, None, ("shop", name), "alter", None, "", None, done)


def other(seq: int, name: str, action: str, new: str | None = None) -> Boundary:
    new_name = None if new is None else ("shop", new)
    return Boundary(seq, None, "b.1", seq, None, ("shop", name), action, new_name, "")


def test_keys_that_tables_got_which_the_log_does_not_define() -> None:
    one = ForeignKey(("a",), None, "p", ("id",), "CASCADE", "NO ACTION", "f")
    bare = ForeignKey(("b",), None, "p", ("id",), "NO ACTION", "NO ACTION")
    story = [alter(1, "c", one, bare), alter(2, "c", A="x", a="x"), alter(3, "p", id="k"),
             other(4, "p", "rename", "q"), other(5, "c", "rename", "d")]  # fmt: skip
    found = [Reference(("shop", "d"), ("x",), ("shop", "q"), ("k",), "CASCADE"),
             Reference(("shop", "d"), ("b",), ("shop", "q"), ("k",))]  # fmt: skip
    assert references(keys_alone(story)) == tuple(found)
    assert references(keys_alone([*story, alter(6, "d", drop="f")])) == (found[1],)
    assert references(keys_alone([*story, alter(6, "d", drop="c_ibfk_1")])) == (found[0],)
    assert keys_alone([*story, other(6, "d", "drop")]) == []
    assert keys_alone([*story, other(6, "", "drop_database")]) == []
