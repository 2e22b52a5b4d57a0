"""What counts as a difference, and which are accepted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.answers.binlogkit_answers.asking import Answers
from tests.answers.binlogkit_answers.differences import (
    Difference,
    Listed,
    differences,
    listed,
    undecided,
)
from tests.answers.binlogkit_answers.store import Digests, keep, kept, read, written

OLD = Digests("key", {"report": {"rows": "aaaa", "undo": "bbbb"}, "stop": {"rows": "cccc"}})
ROWS = Difference("golden/a", "report", "rows", "dddd")
ENTRY = Listed(("damaged/*", "golden/*"), ("rows",), "the bytes at 4 say so", "")


def changed(**texts: dict[str, str]) -> Digests:
    return replace(OLD, texts={**OLD.texts, **texts})


@pytest.mark.parametrize(
    ("new", "found"),
    [
        (OLD, []),
        (replace(OLD, key="another"), ["log  the input itself"]),
        (changed(report={"rows": "dddd", "undo": "bbbb"}), ["log report rows"]),
        (changed(report={"rows": "aaaa"}), ["log report undo"]),
        (changed(report={**OLD.texts["report"], "redo": "eeee"}), ["log report redo"]),
        (changed(stop={}), ["log stop rows"]),
        (changed(stop={"rows": "cccc", "undo": "ffff"}), ["log stop undo"]),
        (changed(report4={"rows": "ffff"}), ["log report4 rows"]),
    ],
)
def test_what_differs(new: Digests, found: list[str]) -> None:
    assert list(map(str, differences("log", OLD, new))) == found


def test_a_way_that_is_like_another_says_nothing_of_its_own() -> None:
    old = Digests("key", {"report": {"rows": "aaaa"}})
    new = Digests("key", {"report": {"rows": "bbbb"}})
    assert list(map(str, differences("log", old, new))) == ["log report rows"]


def test_what_is_undecided() -> None:
    entry = replace(ENTRY, answers=ENTRY.digest([ROWS]))
    assert undecided([ROWS], [entry], []) == []
    assert undecided([ROWS], [], []) == ["golden/a report rows: not listed"]
    assert undecided([ROWS], [replace(entry, columns=("undo",))], ["golden/a"])
    assert undecided([ROWS], [replace(entry, inputs=("golden/b",))], ["golden/b"])
    assert undecided([], [entry], ["series/a"]) == [
        "the bytes at 4 say so …: listed, and nothing differs"
    ]
    assert undecided([], [entry], ["golden/a"]) == []


def test_an_accepted_answer_that_changes_again_is_undecided() -> None:
    entry = replace(ENTRY, answers=ENTRY.digest([ROWS]))
    [wrong] = undecided([replace(ROWS, now="eeee")], [entry], [])
    assert "answered otherwise since" in wrong


def test_the_list_is_read(tmp_path: Path) -> None:
    path = tmp_path / "differences.toml"
    path.write_text(
        '[[difference]]\ninputs = ["a/*"]\ncolumns = ["rows"]\nreason = "why"\nanswers = "abcd"\n'
    )
    assert listed(path) == [Listed(("a/*",), ("rows",), "why", "abcd")]


def test_digests_are_read_as_written(tmp_path: Path) -> None:
    from tests.answers.binlogkit_answers.asking import COLUMNS

    path = tmp_path / "digests.txt"
    texts = {"report": {COLUMNS[0]: "aaaa", COLUMNS[7]: "bb.b"}, "stop": {COLUMNS[7]: "-"}}
    whole = {"one": Digests("k1", texts), "two/three": Digests("k2", {"report": {}})}
    lines = "".join(written(name, told) for name, told in whole.items())
    path.write_text(" ".join(COLUMNS) + "\n" + lines, "ascii")
    assert read(path) == whole


def test_full_answers_are_read_as_kept(tmp_path: Path) -> None:
    answers = Answers("key", {"report": {"rows": "one\ntwo"}, "stop": {}})
    keep(tmp_path / "new", "a/b", answers)
    assert kept(tmp_path / "new", "a/b") == answers
    assert kept(tmp_path / "new", "a/c") is None
