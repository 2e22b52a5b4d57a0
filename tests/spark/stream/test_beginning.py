"""A stream that begins with a snapshot: its rows and the changes after it are the table."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import InputError, UsageError
from binlogkit.spark.options import parse_options
from binlogkit.spark.stream.reach import Limit
from binlogkit_fixtures import golden
from tests.spark.stream.streams import Query, batch_of

CASES = [
    golden.case("8.0-row-full", "transactions"),
    golden.case("5.7-row-no-gtid", "transactions"),
]
#: Bases are at each fourth transaction's end; from the last one back, so that one of them stands
#: between the prepare of an XA transaction and its commit.
STEP = 4
TABLES = ("bank.account", "bank.ledger", "bank.note", "bank.digit")


def held(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """What the table holds after all changes of a changelog."""
    table: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        assert row["_cells"] is None
        values = tuple(value for name, value in row.items() if name[0] != "_")
        if row["_change_type"] in ("delete", "update_preimage"):
            assert table[values]
            table[values] -= 1
        else:
            table[values] += 1
    return +table


def wanted(log: bk.Log, table: str) -> Counter[tuple[Any, ...]]:
    state = log.state(table)
    assert state.determined
    return Counter(tuple(row.values()) for row in state.rows["values"].to_pylist())


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["_sequence"])


def ends(log: bk.Log) -> list[tuple[str, int]]:
    """Where transactions end."""
    return [(r["file"], r["end_pos"]) for r in log.transaction_records()]


def base_at(log: bk.Log, table: str, at: tuple[str, int], out: Path) -> str:
    log.state(table, at=at).to_parquet(out)
    return str(out)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.cell)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.slow
def test_a_base_at_each_transaction(case: Any, table: str, tmp_path: Path) -> None:
    """Also between an XA transaction's prepare and its commit, which is in the next log."""
    log = bk.open([str(path) for path in case.binlogs])
    options = {"records": "changelog", "table": table}
    whole, schema = batch_of(*case.binlogs, **options)
    want = wanted(log, table)
    whole = in_order(whole)
    assert held(whole) == want
    first = whole[0]["_file"], whole[0]["_pos"]
    places = [at for at in ends(log) if at > first]
    for number, at in enumerate(places[::-STEP]):
        base = base_at(log, table, at, tmp_path / f"{number}.parquet")
        query = Query(*case.binlogs, schema=schema, base=base, **options)
        rows = query.all()
        assert held(rows) == want, at
        begun = query.rows[0]
        later = in_order(row for batch in query.rows[1:] for row in batch)
        assert {row["_change_type"] for row in begun} <= {"insert"}
        assert later == whole[len(whole) - len(later) :]
        for name in ("_sequence", "_commit_version") if begun and later else ():
            assert max(row[name] for row in begun) < min(row[name] for row in later)
    assert len(places) > 10


def renamed(case: Any, folder: Path) -> list[Path]:
    """The logs as those of another server: no base is at a position in them."""
    folder.mkdir()
    return [
        Path(shutil.copy(path, folder / path.name.replace("binlog", "other")))
        for path in case.binlogs
    ]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.slow
def test_a_base_of_a_server_that_failed_over(table: str, tmp_path: Path) -> None:
    """Only its GTIDs tell what is in it; an XA transaction that was prepared then is not."""
    case = CASES[0]
    log, logs = bk.open([str(path) for path in case.binlogs]), renamed(case, tmp_path / "logs")
    options = {"records": "changelog", "table": table}
    whole, schema = batch_of(*logs, **options)
    want = wanted(log, table)
    for number, at in enumerate(ends(log)[:10:-STEP]):
        base = base_at(log, table, at, tmp_path / f"{number}.parquet")
        query = Query(tmp_path / "logs", schema=schema, base=base, **options)
        assert held(query.all()) == want, at
        assert len(query.rows[1]) < len(whole) or not query.rows[0]


@pytest.mark.slow
def test_logs_that_come_behind_a_base(tmp_path: Path) -> None:
    """The folder is empty first; each batch is read by another process, and again."""
    case, logs, options = CASES[0], tmp_path / "logs", {"records": "changelog", "table": TABLES[0]}
    log = bk.open([str(path) for path in case.binlogs])
    schema = batch_of(*case.binlogs, **options)[1]
    base = base_at(log, TABLES[0], ends(log)[20], tmp_path / "base.parquet")
    logs.mkdir()
    query = Query(logs, schema=schema, base=base, index=str(tmp_path / "index"), **options)
    offsets = [query.offset]
    # Without the log that the base is in, its GTIDs say where to go on.
    for path in case.binlogs:
        query.restart()
        while query.batch(Limit(size=900)):
            offsets.append(query.offset)
            query.restart()
        shutil.copy(path, logs)
    query.restart()
    while query.batch(Limit(size=900)):
        offsets.append(query.offset)
    assert held(query.all()) == wanted(log, TABLES[0])
    assert len(offsets) > 5
    for rows, (start, end) in zip(query.rows, pairwise(offsets), strict=True):
        query.restart()
        assert query.read(start, end) == rows


def test_what_one_servers_logs_follow_is_in_anothers(tmp_path: Path) -> None:
    """As of a chain's servers: the base ends before the first log of one of them begins."""
    case, table = CASES[0], TABLES[0]
    options = {"records": "changelog", "table": table}
    log = bk.open([str(path) for path in case.binlogs])
    schema = batch_of(*case.binlogs, **options)[1]
    base = base_at(log, table, ends(log)[12], tmp_path / "base.parquet")
    for path, name in zip(case.binlogs, ("one.000001", "two.000001"), strict=True):
        (tmp_path / name).mkdir()
        shutil.copy(path, tmp_path / name / name)
    both = [tmp_path / name / name for name in ("one.000001", "two.000001")]
    made = Query(*both, schema=schema, base=base, **options).all()
    want = Query(*case.binlogs, schema=schema, base=base, **options).all()
    # With what one server prepares and another one, that replicated it, commits.
    assert list(map(_told, made)) == list(map(_told, want))
    assert any(str(row["_gtid"]).endswith(":29") for row in made)


def _told(row: dict[str, Any]) -> list[Any]:
    return [row[name] for name in row if name[0] != "_" or name in ("_change_type", "_gtid")]


def test_bases_that_do_not_fit(tmp_path: Path) -> None:
    case, table = CASES[0], TABLES[0]
    options = {"records": "changelog", "table": table}
    log = bk.open([str(path) for path in case.binlogs])
    schema = batch_of(*case.binlogs, **options)[1]
    places = ends(log)
    early, late = (
        base_at(log, table, places[number], tmp_path / f"{number}.parquet") for number in (12, 31)
    )
    query = Query(*case.binlogs, schema=schema, base=early, **options)
    query.all()
    other = Query(*case.binlogs, schema=schema, base=late, **options)
    with pytest.raises(UsageError, match="began with another one"):
        other.latest(query.offset)
    plain = Query(*case.binlogs, schema=schema, **options)
    plain.all()
    with pytest.raises(UsageError, match="began without a base"):
        query.latest(plain.offset)
    # The second log alone, behind a base that ends before it begins.
    lonely = Query(case.binlogs[1], schema=schema, base=early, **options)
    with pytest.raises(InputError, match=r"neither the base nor the logs have 80808080-.*:14-30"):
        lonely.all()
    cut = tmp_path / "binlog.000001"
    cut.write_bytes(case.binlogs[0].read_bytes()[: places[12][1] - 40])
    shorter = Query(cut, schema=schema, base=early, **options)
    with pytest.raises(InputError, match="the base is at 4290 in it, and it ends"):
        shorter.all()
    no_gtids = CASES[1]
    old = bk.open([str(path) for path in no_gtids.binlogs])
    base = base_at(old, table, ends(old)[12], tmp_path / "old.parquet")
    elsewhere = Query(*renamed(no_gtids, tmp_path / "renamed"), schema=schema, base=base, **options)
    with pytest.raises(InputError, match="no base for these logs"):
        elsewhere.all()
    doubtful = bk.open(str(case.binlogs[1])).state(table)
    assert not doubtful.determined
    doubtful.to_parquet(tmp_path / "doubtful.parquet")
    unsure = Query(*case.binlogs, schema=schema, base=str(tmp_path / "doubtful.parquet"), **options)
    with pytest.raises(InputError, match="did not determine"):
        unsure.all()
    absent = Query(*case.binlogs, schema=schema, base=early, records="changelog", table=TABLES[1])
    with pytest.raises(UsageError, match=r"has no one table bank\.ledger"):
        absent.all()


@pytest.mark.parametrize(
    "options",
    [
        {"records": "rows"},
        {"records": "changelog", "startingOffset": "latest"},
        {"records": "changelog", "duplicates": "keep"},
        {"records": "changelog", "base": "mysql://127.0.0.1:1"},
    ],
)
def test_options_beside_a_base(options: dict[str, str]) -> None:
    given = {"path": "x", "table": "shop.t", "base": "b.parquet", **options}
    with pytest.raises(UsageError, match=r"^base is of streams|keep the server's first"):
        parse_options(given)
