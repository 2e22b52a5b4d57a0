"""What updates and deletes changed, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses.suspects import Images, Suspect

Make = Callable[..., pa.Table]
AT = datetime.fromtimestamp(1700000000, UTC)
COLUMNS = [
    pa.field("id", pa.int32()), pa.field("status", pa.string()), pa.field("total", pa.int32()),
    pa.field("at", pa.timestamp("us", "UTC"), metadata={b"binlogkit:kind": b"timestamp"}),
]  # fmt: skip


def told(make_changes: Make, op: str, rows: Sequence[tuple[Any, ...]], **how: Any) -> Suspect:
    changes = make_changes(COLUMNS, [(op, *row) for row in rows], **how)
    suspect = Suspect(op, {f"{op}_many": 0.5})
    images = Images(suspect)
    for batch in changes.to_batches(max_chunksize=3):
        images.feed(batch)
    images.tell()
    return suspect


def row(i: int, status: str | None, total: int, at: datetime = AT) -> dict[str, Any]:
    return {"id": i, "status": status, "total": total, "at": at}


@pytest.mark.parametrize(
    ("before", "after", "what", "levelled"),
    [
        # different values became one
        (lambda i: row(i, "new", i), lambda i: row(i, "new", 0), ["total → 0"], True),
        (lambda i: row(i, f"s{i}", 1), lambda i: row(i, None, 1), ["status → NULL"], True),
        (lambda i: row(i, f"s{i}", 1), lambda i: row(i, "", 1), ["status → ''"], True),
        # one value became another, as a job does it
        (lambda i: row(i, "new", 1), lambda i: row(i, "paid", 1), ["status: new → paid"], False),
        # each row has its own
        (lambda i: row(i, "new", i), lambda i: row(i, "new", i + 3), ["total changed"], False),
        (lambda i: row(i, "new", i), lambda i: row(i, "new", 2 * i), ["total × 2"], False),
        # few rows of many
        (lambda i: row(i, "n", i), lambda i: row(i, "n", 0 if i < 4 else i), ["total → 0"], False),
        # the time of the statement is nobody's value
        (lambda i: row(i, "new", 1, AT - timedelta(i)), lambda i: row(i, "paid", 1),
         ["status: new → paid"], False),
        # another time is
        (lambda i: row(i, "new", 1, AT - timedelta(i)),
         lambda i: row(i, "new", 1, AT - timedelta(900)), ["at → 2021-05-28 22:13:20"], True),
        # a MINIMAL image: what is not in it did not change, and what it was is not known
        (lambda i: {"id": i}, lambda _: {"total": 5}, ["total → 5"], True),
    ],
)  # fmt: skip
def test_updates(
    make_changes: Make, before: Any, after: Any, what: list[str], levelled: bool
) -> None:
    suspect = told(make_changes, "update", [(before(i), after(i)) for i in range(1, 11)])
    assert suspect.what == what
    assert ("one_value" in suspect.found) == levelled


def test_long_values_are_cut(make_changes: Make) -> None:
    rows = [(row(i, f"s{i}", 1), row(i, "x" * 1000, 1)) for i in range(5)]
    (what,) = told(make_changes, "update", rows).what
    assert what == f"status → {'x' * 40}…"


@pytest.mark.parametrize(
    ("keys", "what", "score"),
    [([*range(1, 21)], "id 1 to 20", 24), ([*range(1, 60, 3)], "id 1 to 58", 40),
     ([7], "id 7", 24)],
)  # fmt: skip
def test_deletes(make_changes: Make, keys: list[int], what: str, score: int) -> None:
    """Neighbouring keys are a purge's."""
    suspect = told(make_changes, "delete", [(row(i, "new", 1), None) for i in keys])
    assert suspect.what == [what]
    assert suspect.score == score


def test_a_key_of_several_columns_has_no_neighbours(make_changes: Make) -> None:
    rows = [(row(i, "new", 1), None) for i in range(1, 9)]
    suspect = told(make_changes, "delete", rows, key=("id", "status"))
    assert (suspect.what, suspect.score) == (["id 1 to 8"], 40)
