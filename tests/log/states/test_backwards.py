"""States back from later states, on golden logs: the way back ends where the way forth does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit_fixtures import golden
from tests.log.states.bases.test_bases import CASES, opened

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def known(state: Any) -> list[dict[str, str]]:
    """The rows by the cells that are known."""
    return [{n: repr(v) for n, v in record["values"].items()} for record in state.records()]


def agree(one: list[dict[str, str]], other: list[dict[str, str]]) -> bool:
    """Whether each row of one is a row of the other, in the cells that both know."""
    left = list(other)
    for row in sorted(one, key=len, reverse=True):
        found = next((o for o in left if all(o.get(n, v) == v for n, v in row.items())), None)
        if found is None:
            return False
        left.remove(found)
    return not left


@pytest.mark.sampled(0, 2)
@pytest.mark.parametrize("cell, scenario", CASES)
def test_back_is_where_forth_was(cell: str, scenario: str) -> None:
    """By position, by GTIDs and by time, from the end and from the middle."""
    case = golden.case(cell, scenario)
    log, compared = opened(case), 0
    marks = case.manifest.marks
    for later in (marks[-1], marks[len(marks) // 2]):
        tables = sorted(later.tables)
        bases = [s for s in log.states(tables, at=(later.file, later.pos)) if s.rows_determined]
        for mark in marks[: marks.index(later) + 1 : 3]:
            at = {"at": f"{mark.file}:{mark.pos}"}
            for base in bases:
                name = ".".join(base.table)
                forth = log.state(name, **at)  # type: ignore[arg-type]
                back = log.state(name, back_from=base, **at)  # type: ignore[arg-type]
                where = mark.pos, name, back.findings.to_pylist()
                told = back.findings["finding"].to_pylist()
                assert "contradicted" not in told or "cascades" in told, where
                if forth.rows_determined and back.rows_determined:
                    assert agree(known(forth), known(back)), where
                    compared += 1
                if back.gtids is not None and forth.gtids is not None:
                    assert back.gtids == forth.gtids
                assert back.position == forth.position
    assert compared


def test_points_of_every_kind() -> None:
    case = golden.case("8.0-row-full", "keys")
    log, marks = opened(case), case.manifest.marks
    base, mark = log.state("keyed.pk"), marks[len(marks) // 2]
    at = log.state("keyed.pk", at=f"{mark.file}:{mark.pos}", back_from=base)
    assert at.determined and at.gtids is not None
    by_gtid = log.state("keyed.pk", until_gtid=at.gtids, back_from=base)
    assert list(by_gtid.records()) == list(at.records()) and by_gtid.determined
    ended = [t for t in log.transaction_records() if t["end_pos"] <= mark.pos]
    when = EPOCH + timedelta(microseconds=ended[-1]["commit_timestamp"])
    by_time = log.state("keyed.pk", until_time=when, back_from=base)
    assert list(by_time.records()) == list(at.records()) and by_time.determined
    assert list(log.state("keyed.pk", back_from=base).records()) == list(base.records())
    with pytest.raises(UsageError, match="later than the base"):
        log.state("keyed.pk", back_from=at)
    with pytest.raises(UsageError, match="without a base"):
        log.state("keyed.pk", base_at="binlog.000001:4")
    there = log.diff("keyed.pk", f"{mark.file}:{mark.pos}", back_from=base)
    forth = log.diff("keyed.pk", f"{mark.file}:{mark.pos}")
    assert list(there.records()) == list(forth.records())
    assert there.determined and there.rows.num_rows


def test_a_row_of_which_neither_point_tells_a_cell() -> None:
    """An update between them may have changed it: it is not taken for the same."""
    case = golden.case("8.0-row-minimal", "keys")
    log, marks = opened(case), case.manifest.marks
    base = log.state("keyed.pk")
    for mark in marks[::4]:
        found = log.diff("keyed.pk", f"{marks[0].file}:{marks[0].pos}",
                         f"{mark.file}:{mark.pos}", back_from=base)  # fmt: skip
        unknown = found.before.unknown_cells + found.after.unknown_cells
        assert bool(unknown) or found.determined


def test_changes_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait in a file, and the state is the same."""
    from binlogkit.analyses.point_in_time import kept_batches

    case = golden.case("8.0-row-full", "keys")
    log, mark = bk.open([str(path) for path in case.binlogs]), case.manifest.marks[1]
    base, at = log.state("keyed.nokey"), f"{mark.file}:{mark.pos}"
    expected = list(log.state("keyed.nokey", at=at, back_from=base).records())
    monkeypatch.setattr(kept_batches, "_MOST", 100)
    assert list(log.state("keyed.nokey", at=at, back_from=base).records()) == expected
