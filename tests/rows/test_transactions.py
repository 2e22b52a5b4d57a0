"""Transactions of the golden logs: what they are, how they ended."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.events.gtid_set import GtidSet
from binlogkit_fixtures import golden
from binlogkit_fixtures.golden import GoldenCase, cases
from tests.fuzz.binlogkit_fuzz.framing import places

CASES = cases()


def case_id(case: GoldenCase) -> str:
    return f"{case.cell}-{case.scenario}"


@pytest.mark.sampled(4, 24)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_gtid_is_one_transaction(case: GoldenCase) -> None:
    records = list(bk.open([str(p) for p in case.binlogs]).transaction_records())
    gtids = [r["gtid"] for r in records if r["gtid"]]
    assert len(gtids) == len(set(gtids))
    told = case.manifest.marks[
        -1
    ].gtid_retrieved  # of relay logs: they lack what their server did itself
    executed = GtidSet.parse(case.manifest.marks[-1].gtid_executed if told is None else told)
    marked = {g for g in gtids if g in executed}
    assert len(marked) == executed.count()
    assert [r["tx"] for r in records] == list(range(len(records)))


@pytest.mark.sampled(8, 24)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_row_counts_are_those_of_the_rows(case: GoldenCase) -> None:
    log = bk.open([str(p) for p in case.binlogs])
    by_op: dict[Any, int] = {}
    for row in log.row_records():
        by_op[row["op"]] = by_op.get(row["op"], 0) + 1
    records = list(log.transaction_records())
    for op in ("insert", "update", "delete"):
        assert sum(r[f"{op}s"] for r in records) == by_op.get(op, 0)
    assert sum(r["rows"] for r in records) == sum(by_op.values())


def outcomes(case: GoldenCase, upto: int) -> list[Any]:
    paths = [str(p) for p in case.binlogs][:upto]
    return list(bk.open(paths).transaction_records())


@pytest.mark.parametrize("cell", ["5.7-row-full", "8.0-row-full"])
def test_prepared_transactions_are_resolved_in_later_files(cell: str) -> None:
    case = next(c for c in CASES if c.cell == cell and c.scenario == "transactions")
    assert len(case.binlogs) > 1
    alone = [r for r in outcomes(case, 1) if r["xa"] and r["outcome"] == "prepared"]
    both = {r["pos"]: r for r in outcomes(case, 2) if r["file"] == str(case.binlogs[0])}
    resolved = [both[r["pos"]] for r in alone if both[r["pos"]]["resolved_file"]]
    assert resolved
    for record in resolved:
        assert record["resolved_file"] == str(case.binlogs[1])
        assert record["outcome"] in ("committed", "rolled_back")
    left = [r["xa"] for r in outcomes(case, 2) if r["outcome"] == "prepared"]
    prepared = case.manifest.marks[-1].prepared  # the server prints its hex in upper case
    assert sorted(str(x).lower() for x in left) == sorted(x.lower() for x in prepared)


def test_a_cut_log_ends_in_a_cut_transaction(tmp_path: Path) -> None:
    case = next(c for c in CASES if c.cell == "8.0-row-full" and c.scenario == "keys")
    data = case.binlogs[0].read_bytes()
    log = bk.open(data)
    whole = list(log.transaction_records())
    rows = [r for r in log.row_records() if r["pos"] > 10_000]
    cut = bk.open(data[: rows[0]["end_pos"]])
    records = list(cut.transaction_records())
    assert records[-1]["outcome"] == "cut"
    assert [r["gtid"] for r in records] == [r["gtid"] for r in whole][: len(records)]
    assert not cut.damages


@pytest.mark.parametrize("cell", ["8.0-row-no-gtid", "8.0-row-full", "5.7-row-no-gtid"])
@pytest.mark.parametrize("more", [0, 30], ids=["", "and its GTID"])
def test_rows_whose_beginning_is_lost_end_as_the_server_says(
    cell: str, more: int, tmp_path: Path
) -> None:
    """An XA transaction's with its XA PREPARE: it may have been rolled back."""
    log = golden.case(cell, "transactions").binlogs[0]
    data = log.read_bytes()
    events = places(data)
    path, asked = tmp_path / log.name, ["end_pos", "outcome", "xa", "xid"]

    def ends() -> dict[int, tuple[Any, ...]]:
        found = bk.open(path, on_damage="report").transactions(engine="pyarrow").select(asked)
        return {row["end_pos"]: tuple(row.values()) for row in found.to_pylist()}

    path.write_bytes(data)
    wanted, met = ends(), set[str]()
    bodies = [data[p:end] for p, end in pairwise(events)]
    starts = [i for i, body in enumerate(bodies) if b"XA START" in body]
    for i in [*starts[:5], *[i for i, body in enumerate(bodies) if body[-9:-4] == b"BEGIN"][:2]]:
        begin, end = events[i] + 20 - more, events[i + 1] - 4
        path.write_bytes(data[:begin] + bytes(end - begin) + data[end:])
        after = next(p for p in sorted(wanted) if p > events[i])
        assert ends()[after] == wanted[after]
        met.add(str(wanted[after][1]))
    assert "committed" in met and met & {"rolled_back", "prepared"}
