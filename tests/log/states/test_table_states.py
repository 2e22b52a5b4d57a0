"""States of several tables: each made when it is taken, and what they show of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError

LOG = Path(__file__).parents[2] / "_data" / "8.0-row-full" / "keys" / "binlog.000001"
NAMES = ["keyed.pk", "keyed.pk_last"]


def test_it_shows_what_it_gives_and_takes_none() -> None:
    states = bk.open(LOG).states(NAMES)
    for _ in range(2):
        assert repr(states) == "<states: tables: keyed.pk, keyed.pk_last; taken: 0>"
        assert states._repr_html_().count("<td>") == 2
    first = next(states)
    assert repr(states).endswith("taken: 1>")
    cells = "<td>keyed.pk</td><td>6</td><td>yes</td></tr><tr><td>keyed.pk_last</td><td></td>"
    assert cells in states._repr_html_()
    assert [first.table, *(state.table for state in states)] == [
        ("keyed", "pk"), ("keyed", "pk_last"),
    ]  # fmt: skip
    assert repr(states).endswith("taken: 2>") and next(states, None) is None
    with pytest.raises(UsageError, match="these states have been read already"):
        list(states)


def test_a_log_is_not_read_to_show_its_tables() -> None:
    states = bk.open(b"\xfebin" + bytes(40)).states()
    assert "not read yet" in repr(states) and "not read yet" in states._repr_html_()
    states = bk.open(LOG).states()
    found = [".".join(state.table) for state in states]
    assert repr(states) == (
        f"<states: tables: {', '.join(found[:10])}, and {len(found) - 10} more; "
        f"taken: {len(found)}>"
    )


def test_names_are_escaped() -> None:
    states = bk.open(LOG).states(["`<script>\x1b`.t"])
    assert "&lt;script&gt;\\x1b" in states._repr_html_()
    assert "<script" not in states._repr_html_() and "\x1b" not in repr(states)


def test_a_wrong_argument_is_an_error_at_once() -> None:
    log = bk.open(LOG)
    with pytest.raises(UsageError, match="name it"):
        log.states(key=["id"])
    with pytest.raises(UsageError, match="not 7"):
        log.states([7])  # type: ignore[list-item]
