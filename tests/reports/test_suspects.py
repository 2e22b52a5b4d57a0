"""The lead of an audit's report: who, when, before and after, undo; and the time line."""

from __future__ import annotations

from typing import Any

from binlogkit.reports.model import Highlight, RowChange, Table, TimeLine
from binlogkit.reports.suspects import SuspectExample, suspect_parts

SUSPECT = {
    "rank": 1, "score": 76, "timestamp": 1715695387, "thread_id": 106, "db": "shop",
    "table": "orders", "op": "update", "rows": 75, "transactions": 1, "what": "total → 0",
    "why": "because", "gtid": None, "file": "b.1", "pos": 75676, "undo": "binlogkit undo b.1",
}  # fmt: skip


def row(before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    return {"before": before, "after": after}


def test_the_first_are_told_at_length_and_all_are_in_the_table() -> None:
    rows = [{**SUSPECT, "rank": rank} for rank in range(1, 6)]
    found = list(suspect_parts(rows, [], []))
    assert [part.rank for part in found if isinstance(part, Highlight)] == [1, 2, 3]
    assert isinstance(found[-1], Table) and len(found[-1].rows) == 5
    assert not any(isinstance(part, TimeLine) for part in found)


def test_who_when_where_before_after_and_undo() -> None:
    changed = row({"id": 1, "total": "9.50", "at": "2024-05-14 13:00:00"},
                  {"id": 1, "total": "0.00", "at": "2024-05-14 14:00:00"})  # fmt: skip
    example = SuspectExample([changed], ["id"], "UPDATE orders SET total = 0")
    finding, _ = suspect_parts([SUSPECT], [example], [])
    assert isinstance(finding, Highlight)
    assert (finding.heading, finding.mark) == ("update shop.orders, 75 rows", "76 of 100")
    assert finding.facts == [
        ("who", "connection 106"), ("when", "2024-05-14 14:03:07 UTC"), ("where", "b.1 at 75676"),
        ("what", "total → 0"), ("statement", "UPDATE orders SET total = 0"), ("why", "because"),
    ]  # fmt: skip
    assert (finding.command, finding.tone) == ("binlogkit undo b.1", "bad")
    assert finding.changes is not None and finding.changes.total == 75
    cells = [("total", "9.50", "0.00"), ("at", "2024-05-14 13:00:00", "2024-05-14 14:00:00")]
    assert finding.changes.rows == [RowChange("id 1", cells)]


def test_the_time_line_marks_those_whose_time_is_known() -> None:
    rows = [SUSPECT, {**SUSPECT, "rank": 2, "timestamp": None}]
    minutes = [{"minute": 1715695380, "rows": 82, "inserts": 5, "updates": 77, "deletes": 0}]
    (line,) = (p for p in suspect_parts(rows, [], minutes) if isinstance(p, TimeLine))
    assert line.counts == [(1715695380, {"inserts": 5, "updates": 77, "deletes": 0})]
    assert line.marks == [(1, 1715695387, "update shop.orders, 75 rows")]
