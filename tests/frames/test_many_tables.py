"""Thousands of tables in turns: batches with rows in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.frames import share_decoding, share_gathering
from tests.frames.test_memory import bench

DATA = Path(__file__).parents[1] / "_data"
LOGS = [str(path) for path in sorted(DATA.glob("8.0-row-full*/*/binlog.000001"))]
TABLES, TURNS = 30, 20


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A log that writes a row to each table in turn."""
    path = tmp_path_factory.mktemp("logs") / "turns.000001"
    module = bench()
    with path.open("wb") as file:
        module.many_tables(module.Log(file), TABLES / 10_000)
    return str(path)


def test_a_table_has_one_batch_for_many_turns(turns: str) -> None:
    batches = list(bk.open(turns).batches())
    assert [batch.batch.num_rows for batch in batches] == [TURNS] * TABLES
    assert {batch.table for batch in batches} == {("d", f"t{i}") for i in range(TABLES)}


def test_a_version_that_comes_back_stands_where_it_came(tmp_path: Path) -> None:
    """A table's rows come in log order, though those of a version are decoded together."""
    path, module = tmp_path / "back.000001", bench()
    with path.open("wb") as file:
        log = module.Log(file)
        for i, columns in enumerate((1, 1, 2, 3, 2, 1)):
            log.begin()
            log.event(19, module.table_map(i, "t", b"\3" * columns, b""))
            log.event(30, module.rows_head(i, columns), b"\0" + bytes([i, 0, 0, 0]) * columns)
            log.commit(i)
    batches = [each.batch for each in bk.open(str(path)).batches()]
    found = [row["@1"] for batch in batches for row in batch["after"].to_pylist()]
    assert found == [0, 1, 2, 3, 4, 5]
    assert [batch["after"].type.num_fields for batch in batches] == [1, 2, 3, 2, 1]
    seqs = [seq for batch in batches for seq in batch["seq"].to_pylist()]
    assert seqs == sorted(seqs)


def test_windows_are_longer_the_more_tables_there_are() -> None:
    def takes(tables: int, most: int = share_decoding.SHARE_MOST) -> int:
        share = share_decoding.Share({}, False, 0, 0, most, tables=set(range(tables)))
        return next(size for size in range(0, 1 << 27, 1 << 20) if _full(share, size))

    assert takes(1) < takes(1_000) < takes(10_000) == takes(100_000) == share_decoding.SHARE_MOST
    assert takes(10_000, share_decoding.SHARE_MOST_SORTED) == share_decoding.SHARE_MOST_SORTED


def _full(share: share_decoding.Share, size: int) -> bool:
    share.size = size
    return share.full


@pytest.mark.parametrize("threads", [1, 3])
def test_a_share_is_closed_by_its_columns(
    turns: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rows(turns)
    for module in (share_decoding, share_gathering):
        monkeypatch.setattr(module, "SHARE_COLUMNS", 7 * 20)
    batches = list(bk.open(turns, threads=threads).batches())
    assert len(batches) == TABLES * TURNS
    assert rows(turns, threads=threads) == whole


def test_records_come_in_the_logs_order(turns: str) -> None:
    records = [(r["pos"], r["table"]) for r in bk.open(turns).row_records()]
    assert records == sorted(records)
    assert [table for _, table in records] == [f"t{i}" for i in range(TABLES)] * TURNS


def rows(source: Any, **options: Any) -> list[dict[str, Any]]:
    """All rows, in the log's order."""
    found = [row for b in bk.open(source, **options).batches() for row in b.batch.to_pylist()]
    return sorted(found, key=lambda row: int(row["seq"]))


def test_a_small_batch_has_its_own_gtids() -> None:
    for log in LOGS:
        for b in bk.open(log).batches():
            gtids = b.batch.column("gtid")
            b.batch.validate(full=True)
            assert set(gtids.dictionary.to_pylist()) == set(gtids.to_pylist()) - {None}
