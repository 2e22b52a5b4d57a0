"""Rows that followed a parent's key: by the names of the end, or with statements of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.cascades import Cascaded, Cause
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.cascaded_keys import NONE_FOLLOWED, STAYED, Followed
from binlogkit.rows.schema import ForeignKey

CHILD, PARENT = ("shop", "c"), ("shop", "p")
KEY = Reference(CHILD, ("Up",), PARENT, ("id",), on_update="CASCADE")


def cascaded(seq: int, rows: int, *, stayed: bool = False) -> Cascaded:
    by = ForeignKey(("up",), "shop", "p", ("id",), "NO ACTION", "CASCADE")
    none, seqs = pa.table({}), np.full(rows, seq)
    at = Cause(seq, "binlog.000001", 4)
    return Cascaded(at, CHILD, by, "CASCADE", seqs, {}, (), none, none, stayed)


def happened(seq: int, action: str, name: tuple[str, str], **more: Any) -> Boundary:
    return Boundary(seq, None, "binlog.000001", 4, None, name, action, more.get("new"), "")


def test_as_many_as_followed_each_change() -> None:
    done = [cascaded(3, 2), cascaded(3, 1), cascaded(7, 4), cascaded(8, 0, stayed=True)]
    done += [cascaded(8, 1), *(cascaded(9, 0, stayed=True),) * 2]
    found = Followed.of(done, [KEY], [])
    assert found.by(KEY, np.array([3, 5, 7, 8, 9])).tolist() == [3, 0, 4, STAYED, NONE_FOLLOWED]
    assert len(found.along) == 7
    assert not found.left


def test_tables_that_were_renamed_since() -> None:
    moved = [happened(5, "rename", CHILD, new=("shop", "d")),
             happened(6, "rename", PARENT, new=("shop", "q"))]  # fmt: skip
    key = Reference(("shop", "d"), ("up",), ("shop", "q"), ("id",), on_update="CASCADE")
    assert Followed.of([cascaded(3, 2)], [key], moved).by(key, np.array([3])).tolist() == [2]


def test_a_key_that_is_gone_leaves_them_to_statements() -> None:
    other = Reference(CHILD, ("up",), ("shop", "q"), ("id",), on_update="CASCADE")
    done = cascaded(3, 2)
    for keys in ([], [other]):
        assert Followed.of([done], keys, []).left == [done]
    assert not Followed.of([done], [], [happened(5, "drop", CHILD)]).left


def test_rows_that_do_not_follow_back_get_statements() -> None:
    done, seqs = [cascaded(3, 2), cascaded(7, 1)], np.array([3, 7])
    found = Followed.of(done, [replace(KEY, on_update="NO ACTION")], [])
    assert (found.along, found.left) == ([], done)
    assert found.holding(KEY, seqs).tolist() == [True, True]
    apart = Followed.of(done, [KEY], [], apart=np.array([3]))
    assert (apart.along, apart.left) == (done[1:], done[:1])
    assert apart.holding(KEY, seqs).tolist() == [True, False]
    assert apart.by(KEY, seqs).tolist() == [0, 1]


def test_rows_that_are_gone_are_a_reason() -> None:
    text = "a later statement that is logged as text"
    for action, why in (("truncate", "the table was emptied later"), ("statement_write", text)):
        done = [cascaded(3, 2), cascaded(7, 1)]
        found = Followed.of(done, [KEY], [happened(5, action, CHILD)])
        assert (found.along, found.left) == (done[1:], [])
        reasons = found.reasons(np.array([2, 3, 7])).to_pylist()
        assert reasons[::2] == [None, None]
        assert reasons[1].startswith(f"rows of shop.c followed it, but {why}")
