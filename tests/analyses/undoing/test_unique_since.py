"""The unique keys that a table got since, by the names of the end."""

from __future__ import annotations

from dataclasses import replace

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.structure import Alteration
from binlogkit.analyses.undoing.unique_since import unique_since
from binlogkit.rows.schema import ColumnDefinition, ForeignKey, TableDefinition


def table(*unique: tuple[str, ...], **more: object) -> TableDefinition:
    return TableDefinition("d", "t", (), ("id",), unique, **more)  # type: ignore[arg-type]


def event(
    seq: int, action: str, *definitions: TableDefinition, new: str | None = None, **names: str
) -> Boundary:
    before, after = definitions or (None, None)
    done = Alteration(renamed=names) if action == "alter" else None
    return Boundary(
        seq, None, "b.1", seq, None, ("d", "t"), action, ("d", new) if new else None, "", after,
        done, before,
    )  # fmt: skip


def test_keys_that_were_made_and_are_still_there() -> None:
    none, one, both = table(), table(("a",)), table(("a",), ("b", "c"))
    story = [event(1, "alter", none, one), event(2, "alter", one, both)]
    key = (("b", "c"), (None, None))
    assert unique_since(story, 1) == {("d", "t"): {key: "(b.1 at 2)"}}
    assert set(unique_since(story, 0)[("d", "t")]) == {key, (("a",), (None,))}
    assert unique_since([*story, event(3, "alter", both, none)], 0) == {}
    assert unique_since([*story, event(3, "drop")], 0) == {}
    moved = unique_since([*story, event(3, "truncate"), event(4, "rename", new="u")], 1)
    assert moved == {("d", "u"): {key: "(b.1 at 2)"}}


def test_a_key_whose_columns_have_other_names_is_the_same() -> None:
    was, now = table(("a",), partial_keys=((0, (3,)),)), table(("x",), partial_keys=((0, (3,)),))
    assert unique_since([event(1, "alter", was, now, a="x")], 0) == {}
    made = unique_since([event(1, "alter", table(), was), event(2, "alter", was, now, a="x")], 0)
    assert made == {("d", "t"): {(("x",), (3,)): "(b.1 at 1)"}}


def test_a_key_whose_column_got_another_collation_is_another() -> None:
    was, now = (
        replace(table(("a",), ("b",)), columns=(ColumnDefinition("a", "varchar", collation=one),))
        for one in ("latin1_bin", "latin1_swedish_ci")
    )
    assert unique_since([event(1, "alter", was, was)], 0) == {}
    found = unique_since([event(1, "alter", was, was), event(2, "alter", was, now)], 0)
    assert found == {("d", "t"): {(("a",), (None,)): "(b.1 at 2)"}}


def test_keys_over_expressions_and_those_that_foreign_keys_write() -> None:
    read = table(expression_keys=(("a", "b"),))
    assert list(unique_since([event(1, "alter", table(), read)], 0)[("d", "t")]) == [
        (("a", "b"), (None, None))
    ]
    key = ForeignKey(("a",), None, "p", ("id",), "CASCADE", "NO ACTION")
    child = table(("a",), foreign=(key,))
    assert unique_since([event(1, "alter", table(), child)], 0) == {}
