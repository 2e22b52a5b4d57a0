"""Refusals are counted by the kind of their reasons, each with what to do."""

from __future__ import annotations

import pytest

from binlogkit.analyses.undoing.advice import Refusals, kind_of


@pytest.mark.parametrize(
    ("reason", "kind", "advice"),
    [
        ("a later change depends on it (same row): b.1:4 row 0, GTID u:1",
         "a later change depends on it (same row)", "--mode merge"),
        ("a later statement that is logged as text may depend on it (b.1 at 4)",
         "a later statement that is logged as text may depend on it", "--mode force"),
        ("the table was dropped later (b.1 at 4)", "the table was dropped later", "--made-again"),
        ("DROP TABLE logs no rows: make the table again, and say so (made_again)",
         "DROP TABLE logs no rows", "--made-again DB.TABLE"),
        ("it rests on what is only supposed (sign:s.t.c); suppose=, --suppose accept it",
         "it rests on what is only supposed (sign:s.t.c)", "--suppose NAME"),
        ("the name of column @1 is not known", "the name of column @1 is not known", "--schema"),
        ("the value of a before the change is not in the image",
         "the value of a before the change is not in the image", "from the table's creation"),
        ("not in the image: a, b", "not in the image", "from the table's creation"),
        ("no column changes", "no column changes", "nothing to do"),
        ("another row has its value of a, b, UNIQUE since (b.1 at 4)",
         "another row has its value of a, b, UNIQUE since", "drop the key"),
        ("no key, and not compared:", "no key, and not compared", None),
        ("a value of a is odd (a\nb)", "a value of a is odd", None),
        ("column a was converted later (b.1 at 4)", "column a was converted later", None),
    ],
)  # fmt: skip
def test_kinds(reason: str, kind: str, advice: str | None) -> None:
    found, told = kind_of(reason)
    assert found == kind
    assert told is None if advice is None else told is not None and advice in told


def test_the_most_frequent_first() -> None:
    found = Refusals()
    for place in ("b.1:4 row 0", "b.1:4 row 1"):
        found.add(f"a later change depends on it (row deleted): {place}")
    found.add("column a was dropped later (b.1 at 4)", 5)
    first, second = found.lines()
    assert first == "5 refused: column a was dropped later"
    assert second.startswith("2 refused: a later change depends on it (row deleted); --mode merge ")
