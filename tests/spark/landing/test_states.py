"""Rows of landed tables at a point are those of the logs, and of the server, without the logs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import InputError, SchemaError, UsageError
from binlogkit.log.states.forwards import States
from binlogkit.log.states.point import Point
from binlogkit.rows.filters import written_table_name
from binlogkit.spark.landing import Landing
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden, manifest
from binlogkit_fixtures.demo.truth import compared
from tests.analyses.verify.conftest import keys_log, log_of, of_server, said, write_series
from tests.spark.landing.landings import land

NAMES = ("name", "seq")


def name_of(case: golden.GoldenCase) -> str:
    return str(case)


def rows(state: object) -> list[str]:
    records = ({n: v for n, v in r.items() if n not in NAMES} for r in state.records())  # type: ignore[attr-defined]
    return [json.dumps(record, sort_keys=True) for record in records]


def written(table: str) -> str:
    return written_table_name(*table.split(".", 1))


@pytest.mark.sampled(0, 4)
@pytest.mark.parametrize("case", golden.cases(), ids=name_of)
def test_states_are_the_logs_and_the_servers(case: golden.GoldenCase, tmp_path: Path) -> None:
    """Of all golden logs: BINLOGKIT_CAMPAIGNS=1 pytest tests/spark/landing/test_states.py."""
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    waiting = {one.table for one in landing.ledger.waiting}
    for table in waiting:
        with pytest.raises(InputError, match="wait and have not landed: the names"):
            landing.state(table)
    tables = sorted({*log.table_names()} - waiting)
    for table, theirs in zip(tables, log.states(tables), strict=True):
        mine = landing.state(table)
        assert rows(mine) == rows(theirs), table
        assert mine.determined == theirs.determined, table
    marks = manifest.read(case.path).marks
    points = [Point(log, {"at": (mark.file, mark.pos)}) for mark in marks]
    names = {name for mark in marks for name in map(written, mark.tables)}
    states = States(log, sorted(names - waiting), points, {})
    for mark, point in zip(marks, points, strict=True):
        for table in (table for table in mark.tables if written(table) not in waiting):
            mine = landing.state(written(table), at=(mark.file, mark.pos))
            theirs = states.at(point, written(table))
            found, check = compared(table, mark, mine), compared(table, mark, theirs)
            assert (found.verdict, found.rows) == (check.verdict, check.rows), (table, mark.name)
            assert rows(mine) == rows(theirs), (table, mark.name)
            assert mine.determined == theirs.determined, (table, mark.name)


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("8.0-row-full", "transactions"),
        pytest.param("5.7-row-no-gtid", "ddl", marks=pytest.mark.slow),
    ],
)
def test_states_before_tables_are_made(cell: str, name: str, tmp_path: Path) -> None:
    """Where the log shows that a table was not there, so does its landing."""
    case, later = golden.case(cell, name), 0
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    ends = log.transactions(engine="pyarrow")["end_pos"].to_pylist()
    for table in landing.tables():
        for pos in (*ends[:2], ends[len(ends) // 2]):
            mine, theirs = (
                one.state(table, at=(case.binlogs[0].name, pos)) for one in (landing, log)
            )
            assert rows(mine) == rows(theirs), (table, pos)
            told = [
                [(row["finding"], row["determined"]) for row in state.findings.to_pylist()]
                for state in (mine, theirs)
            ]
            assert told[0] == told[1], (table, pos)
            later += ("made_later", True) in told[0]
    assert later > 1


def test_states_from_the_transactions_that_concern_a_table(tmp_path: Path) -> None:
    """Of the others only those in the log of the point are read; the state has their GTIDs."""
    (tmp_path / "logs").mkdir()
    write_series(tmp_path / "logs", logs=6, each=12)
    land(tmp_path / "logs", tmp_path / "out")
    landing, log = Landing(tmp_path / "out"), bk.open(tmp_path / "logs")
    ends = log.transactions(engine="pyarrow").select(["end_file", "end_pos"]).to_pylist()
    points = [None, *(tuple(ends[i].values()) for i in (35, 62))]
    fewer = 0
    for table in landing.tables():
        for at in points:
            mine, theirs = (one.state(table, at=at) for one in (landing, log))
            assert rows(mine) == rows(theirs), (table, at)
            for name in ("determined", "gtids", "position", "definition"):
                assert getattr(mine, name) == getattr(theirs, name), (table, at, name)
            own = landing.concerning(table, at).ledger.transactions
            fewer += len(own) < len(ends) // 2
    assert fewer > len(landing.tables())


@pytest.mark.parametrize(
    ("cell", "name"),
    [("8.0-row-full", "keys"), ("8.0-row-full", "ddl"), ("5.7-row-full", "transactions")],
)
@pytest.mark.sampled(1, 3)
def test_differences_are_the_logs(cell: str, name: str, tmp_path: Path) -> None:
    """Between a point in the middle and the last but one, or the end; also of renamed tables."""
    case = golden.case(cell, name)
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    ends = log.transactions(engine="pyarrow").select(["end_file", "end_pos"]).to_pylist()
    first, last = (tuple(ends[i].values()) for i in (len(ends) // 2, -2))
    differing = 0
    for table in landing.tables():
        for second in (None, last):
            found, expected = (one.diff(table, first, second) for one in (landing, log))
            assert [*found.records()] == [*expected.records()], (table, second)
            assert found.findings.to_pylist() == expected.findings.to_pylist()
            assert (found.table, found.key) == (expected.table, expected.key)
            differing += found.rows.num_rows
    assert differing > 4


@pytest.mark.parametrize("pos", [24213, 24507, 24723])
def test_later_images_show_that_a_row_was_made_without_being_logged(
    pos: int, tmp_path: Path
) -> None:
    case, table = golden.case("8.0-row-full", "statements"), "stmts.untraced"
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    at = (case.binlogs[0].name, pos)
    mine, theirs = (one.state(table, at=at) for one in (landing, log))
    assert rows(mine) == rows(theirs)
    assert mine.findings.to_pylist() == theirs.findings.to_pylist()
    assert not mine.determined and mine.findings["finding"].to_pylist() == ["unlogged"]
    made = log.boundaries(engine="pyarrow").to_pylist()
    before = next(b["pos"] for b in made if (b["db"], b["table"]) == ("stmts", "untraced"))
    assert landing.state(table, at=(at[0], before)).determined


def test_a_table_without_its_create_is_known_from_its_first_change_on(tmp_path: Path) -> None:
    """As in the log, so that nothing is said of columns before it."""
    _, second = golden.case("8.0-row-full-metadata", "transactions").binlogs
    land(second, tmp_path)
    landing, log = Landing(tmp_path), bk.open(second)
    ends = log.transactions(engine="pyarrow")["end_pos"].to_pylist()
    known = dict.fromkeys((False, True), 0)
    for table in landing.tables():
        for pos in (4, *ends[:: len(ends) // 3]):
            mine, theirs = (one.state(table, at=(second.name, pos)) for one in (landing, log))
            assert (mine.columns, mine.key) == (theirs.columns, theirs.key), (table, pos)
            assert rows(mine) == rows(theirs)
            known[mine.columns is not None] += 1
    assert all(known.values())


def test_statements_that_wrote_rows_leave_them_undetermined(tmp_path: Path) -> None:
    """What a statement logged as text did, DDL aside, stands in the ledger without its text."""
    case = golden.case("8.0-mixed-full", "statements")
    land(case.path, tmp_path, Terms(masks=parse_masks(["stmts.val.f=drop"])))
    landing, log = Landing(tmp_path), bk.open(case.path)
    found = [(landing.state(table), log.state(table)) for table in landing.tables()]
    assert [a.determined for a, _ in found] == [b.determined for _, b in found]
    told = ["statement_write" in a.findings["finding"].to_pylist() for a, _ in found]
    assert told == ["statement_write" in b.findings["finding"].to_pylist() for _, b in found]
    assert any(told)


def test_columns_that_are_masked_are_left_out(tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "incident")
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    masks = parse_masks(["shop.orders.total=hash", "shop.orders.status=drop"], key)
    land(case.path, tmp_path / "lake", Terms(masks=masks))
    state = Landing(tmp_path / "lake").state("shop.orders")
    plain = bk.open(case.path).state("shop.orders")
    assert state.determined and len(state.columns or ()) == len(plain.columns or ()) - 2
    shown, whole = state.frame(), plain.frame()
    assert len(shown) > 100
    assert shown.equals(whole.drop(columns=["total", "status"]))
    land(case.path, tmp_path / "keyless", Terms(masks=parse_masks(["orders.id=drop"])))
    with pytest.raises(SchemaError, match="its key is masked"):
        Landing(tmp_path / "keyless").state("shop.orders")


def test_cascades_from_a_table_that_does_not_land_are_told(tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "keys")
    land(case.path, tmp_path, Terms(tables=("keyed.child",)))
    state = Landing(tmp_path).state("keyed.child")
    assert not state.determined
    assert "cascades" in state.findings["finding"].to_pylist()


def test_what_has_not_landed_is_not_passed_over(tmp_path: Path) -> None:
    """The ledger is brought up to date first: a landing may end before its logs land."""
    case = golden.case("8.0-row-full", "transactions")
    first, *_ = case.binlogs
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(first, logs)
    land(logs, tmp_path / "lake")
    for log in case.binlogs:
        shutil.copy(log, logs)

    def fails(*_: object) -> list[object]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        land(logs, tmp_path / "lake", run=fails)
    with pytest.raises(InputError, match="its tables lack changes of its ledger"):
        Landing(tmp_path / "lake").state("bank.account")
    land(logs, tmp_path / "lake")
    assert rows(Landing(tmp_path / "lake").state("bank.account")) == rows(
        bk.open(logs).state("bank.account")
    )


def test_logs_all_of_which_came_from_others_do_not_count_again(tmp_path: Path) -> None:
    """A replica's log of the same transactions, its DDL among them, lies beside its source's."""
    case = golden.case("8.0-row-full", "incident")
    for name in ("a", "b"):
        shutil.copytree(
            case.path, tmp_path / name, ignore=shutil.ignore_patterns("*.json", "*.txt")
        )
    land([tmp_path / "a", tmp_path / "b"], tmp_path / "lake")
    mine, theirs = Landing(tmp_path / "lake").state("shop.orders"), bk.open(case.path)
    assert mine.determined
    assert rows(mine) == rows(theirs.state("shop.orders"))


def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    land(golden.case("8.0-row-full", "incident").path, tmp_path)
    landing = Landing(tmp_path)
    with pytest.raises(UsageError, match="names no database"):
        landing.state("orders")
    with pytest.raises(UsageError, match="is not one of the logs read"):
        landing.state("shop.orders", at=("binlog.000009", 4))
    state = landing.state("shop.nothing")
    assert (state.rows.num_rows, state.determined) == (0, False)


def test_what_is_doubted_of_other_engines_is_the_logs(tmp_path: Path) -> None:
    """BLACKHOLE keeps no rows, those of MERGE tables are in others."""
    case = golden.case("8.0-row-full", "engines")
    land(case.path, tmp_path)
    landing, log = Landing(tmp_path), bk.open(case.path)
    found = {}
    for table in landing.tables():
        mine, theirs = (one.state(table).findings for one in (landing, log))
        assert mine["finding"].to_pylist() == theirs["finding"].to_pylist(), table
        found[table] = set(mine["finding"].to_pylist())
    assert "blackhole" in found["engines.hole"] and "merge" in found["engines.merged"]
    assert "merge" in found["engines.part_a"]


def test_a_gap_doubts_what_was_there_before_it(tmp_path: Path) -> None:
    logs = write_series(tmp_path)
    waiting = land([logs[0], logs[2]], tmp_path / "lake").waiting
    accepted = [f"definition:{one.table}" for one in waiting]
    assert not land([logs[0], logs[2]], tmp_path / "lake", suppose=accepted).waiting
    landing, log = Landing(tmp_path / "lake"), bk.open([logs[0], logs[2]])
    for table in landing.tables():
        mine, theirs = landing.state(table), log.state(table)
        assert mine.findings.to_pylist() == theirs.findings.to_pylist(), table
        assert not mine.determined and "gap" in mine.findings["finding"].to_pylist()


def test_a_change_outside_the_logs_stands_after_what_emptied_the_table(tmp_path: Path) -> None:
    """A row of before a TRUNCATE is there again: the rows before it are as the log says."""
    _, (database, create, *told) = keys_log()
    filled, _, changed, *_ = [one for one in told if any(b"\x02pk\0" in p.data for p in one)]
    sql = bytes(create[-1].data)[create[-1].data.index(b"CREATE") :]
    emptied = said(create, sql, b"TRUNCATE keyed.pk")
    log = tmp_path / "binlog.000001"
    log.write_bytes(log_of([database, create, filled, emptied, changed]))
    land(log, tmp_path / "lake")
    landing, opened = Landing(tmp_path / "lake"), bk.open(log)
    ends = opened.transactions(engine="pyarrow")["end_pos"].to_pylist()
    for pos, count, determined in zip(ends[2:], (4, 0, 1), (True, False, False), strict=True):
        mine, theirs = (one.state("keyed.pk", at=(log.name, pos)) for one in (landing, opened))
        assert (len(rows(mine)), mine.determined) == (count, determined), pos
        assert (rows(theirs), theirs.determined) == (rows(mine), determined), pos


@pytest.mark.parametrize("steps", ["a2 b5 a4", "b2 a5 b5", "a5 b3 b5", "b5 a3 a5", "a2 b3 a4 b5"])
def test_logs_of_two_servers_that_grow_in_turn(steps: str, tmp_path: Path) -> None:
    """Each with copies of the other's transactions: a TRUNCATE of one stands between rows of both,
    and any position of both is a point."""
    _, (database, create, *told) = keys_log()
    filled, *_ = [one for one in told if any(b"\x02pk\0" in p.data for p in one)]
    sql = bytes(create[-1].data)[create[-1].data.index(b"CREATE") :]
    emptied = said(create, sql, b"TRUNCATE keyed.pk")
    story = [database, create, filled, emptied, said(filled, b"three", b"seven")]
    folders = {"a": tmp_path / "binlog", "b": tmp_path / "alike"}
    ends = dict[str, list[int]]()
    for folder in folders.values():
        folder.mkdir()
    for step in steps.split():
        name, count = step[0], int(step[1])
        server = {"a": 80, "b": 99}[name]
        path = folders[name] / "binlog.000001"
        path.write_bytes(of_server(log_of(story[:count]), server))
        ends[name] = bk.open(path).transactions(engine="pyarrow")["end_pos"].to_pylist()
        land(folders[name], tmp_path / "lake")
    landing = Landing(tmp_path / "lake")
    texts: dict[int, list[str | None]] = {
        2: [],
        3: ["one", "two", "three", None],
        4: [],
        5: ["one", "two", "seven", None],
    }
    for name, several in ends.items():
        place = str(folders[name] / "binlog.000001")
        for order in (["a", "b"], ["b", "a"]):
            log = bk.open([folders[one] for one in order])
            for count, pos in enumerate(several[1:], 2):
                mine, theirs = (one.state("keyed.pk", at=(place, pos)) for one in (landing, log))
                for state in (mine, theirs):
                    values = [values["name"] for values in state.rows["values"].to_pylist()]
                    assert (values, state.determined) == (texts[count], True), (name, count)


def test_a_table_that_was_emptied_after_a_gap_is_whole_again(tmp_path: Path) -> None:
    case = golden.case("8.0-row-full", "engines")
    log = tmp_path / "binlog.000001"
    data = bytearray(case.binlogs[0].read_bytes())
    pos = bk.open(case.path).changes("engines.heap")["pos"][0].as_py()
    data[pos + 40] ^= 1
    log.write_bytes(data)
    land(log, tmp_path / "lake", on_damage="report")
    landing, read = Landing(tmp_path / "lake"), bk.open(log, on_damage="report")
    truncated = next(b for b in landing.ledger.boundaries if b.action == "truncate")
    for at, determined in (((str(log), truncated.pos), False), (None, True)):
        mine, theirs = (one.state("engines.heap", at=at) for one in (landing, read))
        assert (mine.determined, theirs.determined) == (determined, determined)
        assert mine.findings.to_pylist() == theirs.findings.to_pylist()
