"""What a record did, in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from binlogkit.frames.fields.rows import ROW
from binlogkit.reports.changes import change_text, operations_text, with_changes
from binlogkit.reports.output import Output

Image = dict[str, Any] | None


@pytest.mark.parametrize(
    ("before", "after", "key", "words"),
    [
        (
            {"id": 1, "a": "x", "b": None},
            {"id": 1, "a": "y", "b": ""},
            ("id",),
            "id 1: a x → y, b NULL → ''",
        ),
        ({"id": 1, "a": 2}, {"id": 3, "a": 2}, ("id",), "id 1: id 1 → 3"),
        ({"id": 1, "a": 2}, {"id": 3, "a": 2}, (), "id 1 → 3"),
        ({"id": 1}, {"total": "0.00"}, ("id",), "id 1: total → 0.00"),
        ({"a": 1}, {"b": 2}, ("id",), "b → 2"),
        (None, {"id": 1, "a": None}, ("id",), "id 1, a NULL"),
        ({"id": 1, "a": "0x00"}, None, ("id",), "id 1, a 0x00"),
        ({"a": 1}, {"a": 1}, (), ""),
        (None, None, (), ""),
        (
            {"j": {"a": 1}},
            {"j": {"json_diff": [{"op": "remove", "path": "$.a"}]}},
            (),
            'j {"a":1} → {"json_diff":[{"op":"remove","path":"$.a"}]}',
        ),
    ],
)
def test_change(before: Image, after: Image, key: tuple[str, ...], words: str) -> None:
    assert change_text({"before": before, "after": after}, key) == words


@pytest.mark.parametrize(
    ("inserts", "updates", "deletes", "words"),
    [(0, 0, 0, ""), (1, 0, 0, "1 insert"), (2, 75, 1, "2 inserts, 75 updates, 1 delete")],
)
def test_operations(inserts: int, updates: int, deletes: int, words: str) -> None:
    record = {"inserts": inserts, "updates": updates, "deletes": deletes}
    assert operations_text(record) == words


@pytest.mark.parametrize(
    ("output", "there"),
    [
        (Output(), True),
        (Output("jsonl"), False),
        (Output("csv", columns=["pos", "changes"]), True),
        (Output("csv", columns=["pos"]), False),
    ],
)
def test_records_have_the_words_where_they_are_shown(output: Output, there: bool) -> None:
    records, declared = with_changes(
        [{"pos": 4}], ROW, output, lambda record: f"at {record['pos']}"
    )
    assert [*records] == [{"pos": 4} | ({"changes": "at 4"} if there else {})]
    assert ("changes" in [field.name for field in declared]) is there
