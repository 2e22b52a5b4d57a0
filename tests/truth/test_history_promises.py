"""What the campaign of histories calls a broken promise of undo, and what it does not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from binlogkit_fixtures.manifest import Column, Table
from tests.truth.history_promises import Mark, between
from tests.truth.history_rows import Cells, Change

Row = tuple[int, int, int]
_NAMES = ("id", "v", "w")


def _table(rows: Sequence[Row], options: str = "") -> Table:
    columns = tuple(Column(name, "int", None, None, True, None, False) for name in _NAMES)
    return Table(columns, ("id",), "InnoDB", f"CREATE TABLE t{options}", tuple(rows))


def _change(pos: int, before: Row | None, after: Row | None, done: str, *, later: bool) -> Change:
    old, new = (None if r is None else dict(zip(_NAMES, r, strict=True)) for r in (before, after))
    return Change(pos, old, new, later, done == "undone", done == "left")


def _move(done: str) -> Change:
    return _change(1, (1, 1, 1), (2, 1, 1), done, later=False)


#: The mode, changes with the rows before and after them, rows afterwards, and whether the mode
#: promises them; the first change is chosen, and others up to position 5.
CASES: dict[str, tuple[str, list[Change], list[Row], bool]] = {
    "force keeps later cells of a row that gets its key back": (
        "force", [_move("undone"), _change(9, (2, 1, 1), (2, 5, 1), "", later=True)],
        [(1, 5, 1)], True,
    ),
    "force loses a later cell of such a row": (
        "force", [_move("undone"), _change(9, (2, 1, 1), (2, 5, 1), "", later=True)],
        [(1, 1, 1)], False,
    ),
    "force gives such a row another row's value": (
        "force", [_move("undone"), _change(8, None, (7, 6, 6), "", later=True),
                  _change(9, (2, 1, 1), (2, 5, 1), "", later=True)],
        [(1, 6, 1), (7, 6, 6)], False,
    ),
    "force sets back what came back by itself and was set later": (
        "force", [_change(1, (1, 1, 1), (1, 2, 1), "undone", later=False),
                  _change(2, (1, 2, 1), (1, 1, 1), "undone", later=False),
                  _change(9, (1, 1, 1), (1, 5, 1), "", later=True)],
        [(1, 1, 1)], True,
    ),
    "skip leaves a row between two changes": (
        "skip", [_move("left"), _change(2, (2, 1, 1), (3, 1, 1), "undone", later=False),
                 _change(9, None, (1, 4, 4), "", later=True)],
        [(1, 4, 4), (2, 1, 1)], True,
    ),
    "skip leaves a row between two changes that it undoes": (
        "skip", [_move("undone"), _change(2, (2, 1, 1), (3, 1, 1), "undone", later=False)],
        [(2, 1, 1)], False,
    ),
    "skip leaves a row as no change left it": (
        "skip", [_move("left"), _change(2, (2, 1, 1), (3, 1, 1), "undone", later=False),
                 _change(9, None, (1, 4, 4), "", later=True)],
        [(1, 4, 4), (2, 8, 1)], False,
    ),
    "cascade leaves a row between later changes": (
        "cascade", [_change(1, (1, 1, 1), (1, 2, 1), "undone", later=False),
                    _change(8, (1, 2, 1), (1, 2, 7), "", later=True),
                    _change(9, (1, 2, 7), (1, 2, 8), "undone", later=True)],
        [(1, 1, 7)], True,
    ),
    "cascade undoes a later change that it did not choose": (
        "cascade", [_change(1, (1, 1, 1), (1, 2, 1), "undone", later=False),
                    _change(8, (1, 2, 1), (1, 2, 7), "", later=True)],
        [(1, 1, 1)], False,
    ),
    "cascade undoes a later change of a row that gets its key back": (
        "cascade", [_move("undone"), _change(9, (2, 1, 1), (2, 5, 1), "undone", later=True)],
        [(1, 1, 1)], True,
    ),
    "merge gives a row a value of no time": (
        "merge", [_move("undone"), _change(9, (2, 1, 1), (2, 5, 1), "", later=True)],
        [(1, 6, 1)], False,
    ),
    "merge keeps a later cell of a row that gets its key back": (
        "merge", [_move("undone"), _change(9, (2, 1, 1), (2, 5, 1), "", later=True)],
        [(1, 5, 1)], True,
    ),
    "merge gives a row its old cell under its new key": (
        "merge", [_change(1, (1, 1, 1), (1, 2, 1), "undone", later=False),
                  _change(9, (1, 2, 1), (2, 2, 1), "", later=True)],
        [(2, 1, 1)], True,
    ),
    **{
        f"merge leaves a row that {what}, as what is left out left it: {promised}": (
            "merge+rest", changes, [(1, 1, 1), row], promised,
        )
        for what, changes, rows in (
            ("moved since", [_change(1, None, (2, 0, 0), "left", later=False),
                             _change(2, (2, 0, 0), (2, 5, 0), "undone", later=False),
                             _change(9, (2, 5, 0), (3, 5, 0), "", later=True)],
             [(3, 0, 0), (3, 7, 0)]),
            ("was changed under another key", [_change(1, None, (2, 0, 0), "left", later=False),
                                               _change(2, (2, 0, 0), (3, 0, 0), "undone",
                                                       later=False),
                                               _change(9, (3, 0, 0), (3, 5, 0), "", later=True)],
             [(2, 5, 0), (2, 7, 0)]),
            ("no image has whole", [Change(1, None, {"id": 2, "w": 3}, False, False, True),
                                    _change(2, (2, 0, 3), None, "undone", later=False)],
             [(2, 0, 3), (2, 0, 7)]),
            ("got its key by DEFAULT", [Change(1, None, {"v": 0, "w": 3}, False, False, True),
                                        _change(2, (0, 0, 3), (3, 0, 3), "undone", later=False)],
             [(0, 0, 3), (0, 0, 7)]),
        )
        for row, promised in zip(rows, (True, False), strict=True)
    },
    **{
        f"cascade leaves a change out, and undoes a later one: {promised}": (
            "cascade+rest", [Change(1, None, {"v": 0, "w": 0}, False, False, True),
                             _change(9, (0, 0, 0), (3, 0, 0), "undone", later=True)],
            [row, (1, 1, 1)], promised,
        )
        for row, promised in (((0, 0, 0), True), ((0, 0, 7), False))
    },
    **{
        f"cascade undoes a change, and a later one that removed the row: {promised}": (
            "cascade", [_change(1, (1, 1, 1), (1, 2, 1), "undone", later=False),
                        _change(8, (1, 2, 1), (1, 2, 7), "", later=True),
                        _change(9, (1, 2, 7), None, "undone", later=True)],
            [row], promised,
        )
        for row, promised in (((1, 1, 7), True), ((1, 2, 7), False), ((1, 1, 8), False))
    },
    **{
        f"cascade leaves a row as it was within a statement: {promised}": (
            "cascade", [_change(1, (1, 1, 1), (1, 2, 1), "undone", later=False),
                        Change(8, None, {"id": 2, "v": 5}, True, False, False),
                        Change(9, {"id": 2, "v": 5}, {"id": 3, "v": 5, "w": 0}, True, True, False)],
            [(1, 1, 1), row], promised,
        )
        for row, promised in (((2, 5, 7), True), ((2, 6, 7), False))
    },
    **{
        f"refuse leaves a row that moved, and {what} its key": (
            "refuse", [_change(1, None, (4, 0, 0), "undone", later=False),
                       _change(8, (1, 1, 1), (2, 1, 1), "", later=True),
                       _change(9, None, (1, 9, 9), "", later=True)],
            [row, (2, 1, 1)], promised,
        )
        for what, row, promised in (
            ("another with", (1, 9, 9), True), ("what was never there with", (1, 9, 1), False),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("what", CASES)
def test_what_is_promised(what: str) -> None:
    mode, changes, after, promised = CASES[what]
    begin: list[Row] = [(1, 1, 1)]
    times = [_played(begin, changes, until) for until in (0, 5, 10)]
    marks = [Mark("b", pos, {"t": _table(rows)}, pos)
             for pos, rows in zip((0, 5, 10), times, strict=True)]  # fmt: skip
    mode, rest = mode.removesuffix("+rest"), mode.endswith("+rest")
    tables = {"t": _table(after)}
    broken = [*between(mode, marks, marks[0], marks[1], tables, {"t": changes}, rest=rest)]
    assert (not broken) == promised, broken


@pytest.mark.parametrize(
    ("options", "value", "promised"), [(" ON DELETE SET NULL", 5, True), ("", 5, False),
                                       (" ON DELETE SET NULL", 6, False)],
)  # fmt: skip
def test_cascade_and_a_row_that_a_foreign_key_changed_in_its_statement(
    options: str, value: int, promised: bool
) -> None:
    """(2, 5, 1) was inserted; (2, 0, 1), which SELECT shows, is of no event."""
    changes = [_change(1, (1, 1, 1), (1, 2, 1), "undone", later=False),
               _change(8, None, (2, 5, 1), "", later=True),
               _change(9, (1, 2, 1), None, "undone", later=True)]  # fmt: skip
    times: list[list[Row]] = [[(1, 1, 1)], [(1, 2, 1)], [(2, 0, 1)]]
    marks = [Mark("b", pos, {"t": _table(rows, options)}, pos)
             for pos, rows in zip((0, 5, 10), times, strict=True)]  # fmt: skip
    tables = {"t": _table([(1, 1, 1), (2, value, 1)], options)}
    broken = [*between("cascade", marks, marks[0], marks[1], tables, {"t": changes})]
    assert (not broken) == promised, broken


def _played(rows: Sequence[Row], changes: Sequence[Change], until: int) -> list[Row]:
    now = {*rows}
    for change in changes:
        if change.pos <= until:
            if change.before is not None:
                now.remove(_row(change.before))
            if change.after is not None:
                now.add(_row(change.after))
    return sorted(now)


def _row(cells: Cells) -> Row:
    found, v, w = (cells.get(name, 0) for name in _NAMES)
    return found, v, w
