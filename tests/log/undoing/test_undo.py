"""Plans over a whole log: in the order of its events, with what cannot be taken back."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.analyses.undoing.blocked import MODES
from binlogkit.analyses.undoing.undo import pieces
from binlogkit.errors import UnmetWarning
from binlogkit.log.undoing import dependents
from binlogkit.log.undoing.log_plans import LogPlans
from binlogkit.reports import sql
from binlogkit_fixtures import golden
from tests.analyses.undoing.plan_cases import batch_of

# What mysqlbinlog prints as BINLOG; the rest becomes SQL and comments.
IN_BASE64 = ("FORMAT_DESCRIPTION_EVENT", "TABLE_MAP_EVENT", "WRITE_ROWS_EVENT",
             "UPDATE_ROWS_EVENT", "DELETE_ROWS_EVENT")  # fmt: skip

CASCADES = "9-row-full/cascades"  # tables that foreign keys join


def place(plan: dict[str, Any]) -> tuple[Any, ...]:
    return plan["file"], plan["pos"], plan["row"], plan["table"]


def logs(cell: str, scenario: str) -> list[Path]:
    return list(golden.case(cell, scenario).binlogs)


def test_a_text_of_two_logs_is_undone_from_its_end(tmp_path: Path) -> None:
    """The positions begin anew with the second log, and with one file's name."""
    paths = logs("8.0-row-full", "shutdown")
    statements = []
    for path in paths:
        data = path.read_bytes()
        for event in bk.open(str(path)).event_records():
            pos, end = int(str(event["pos"])), int(str(event["end_pos"]))
            if event["type"] in IN_BASE64:
                encoded = base64.b64encode(data[pos:end]).decode()
                statements.append(f"BINLOG '\n{encoded}\n'/*!*/;\n")
    text = tmp_path / "binlog.sql"
    text.write_text("DELIMITER /*!*/;\n" + "".join(statements), "ascii")
    expected = [place(plan)[1:] for plan in bk.open([str(path) for path in paths]).undo()]
    found = [place(plan)[1:] for plan in bk.open(str(text)).undo()]
    assert found == expected
    assert [pos for pos, *_ in found] != sorted((pos for pos, *_ in found), reverse=True)
    assert [place(plan)[1:] for plan in bk.open(str(text)).redo()] == found[::-1]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=str(case), marks=[pytest.mark.quick] * (str(case) == CASCADES))
        for case in golden.cases()
    ],
)
@pytest.mark.sampled(0, 12)
def test_plans_do_not_depend_on_how_later_changes_are_sifted(
    case: golden.GoldenCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = bk.open([str(path) for path in case.binlogs])
    half = case.binlogs[-1].stat().st_size // 2

    def made(few: int, **how: Any) -> Any:
        monkeypatch.setattr(dependents, "FEW_BYTES", few)
        try:
            plans = log.undo(despite_gaps=True, **how)
        except UnmetWarning as error:
            return str(error)
        found = (plans.dependents(), plans.conflicts())
        return plans.script(despite_refused=True), [table.to_pylist() for table in found]

    for mode in MODES:
        for filters in ({"stop_position": half}, {"op": "delete"}):
            sifted, every = (made(few, mode=mode, **filters) for few in (0, 1 << 60))
            assert sifted == every, (mode, filters)


@pytest.mark.parametrize("scenario", ["ddl", "statements"])
def test_undo_is_redo_backwards(scenario: str) -> None:
    log = bk.open([str(path) for path in logs("5.7-mixed-full", scenario)])
    undo, redo = list(log.undo()), list(log.redo())
    assert {place(plan) for plan in undo} == {place(plan) for plan in redo}
    for plans in (undo, redo):
        steps = [plan["step"] for plan in plans]
        assert steps == sorted(steps)
    # One for each row that TRUNCATE took, where redo has one for all.
    places = [list(dict.fromkeys(p["pos"] for p in plans)) for plans in (undo, redo[::-1])]
    assert places[0] == places[1]


def test_statements_that_log_no_rows_are_refused_as_boundaries_tell() -> None:
    log = bk.open([str(path) for path in logs("5.7-mixed-full", "ddl")])
    boundaries = log.boundaries(engine="pyarrow").to_pylist()
    actions = ("statement_write", "truncate", "drop", "drop_database", "unknown")
    expected = [(b["pos"], b["table"] or "") for b in boundaries if b["action"] in actions]
    refused = [p for p in log.redo() if p["refused"] and not p["set"] and p["kind"] == "update"]
    altered = [p for p in refused if p["refused"].startswith("ALTER TABLE logs no rows")]
    assert [(p["pos"], p["table"]) for p in refused if p not in altered] == expected
    lossy = {
        b["pos"] for b in boundaries if b["action"] == "alter" and "DROP COL" in b["statement"]
    }
    assert lossy <= {p["pos"] for p in altered} < {b["pos"] for b in boundaries}
    assert {p["refused"].split(":")[0] for p in refused} >= {
        "DROP TABLE logs no rows", "TRUNCATE logs no rows", "the change is logged as a statement",
    }  # fmt: skip


def test_filters_choose_among_them() -> None:
    log = bk.open([str(path) for path in logs("5.7-mixed-full", "ddl")])
    every = list(log.undo())
    table = next(p["table"] for p in every if "DROP TABLE" in (p["refused"] or ""))
    with pytest.warns(UnmetWarning) as warned:
        chosen = list(log.undo(table=table))
    told = [str(warning.message) for warning in warned]
    assert f"no rows of {table} were read" in told[0] and "without row events" in told[1]
    assert chosen == [p for p in every if p["table"] == table]
    middle = every[len(every) // 2]["pos"]
    assert list(log.undo(start_position=middle)) == [p for p in every if p["pos"] >= middle]


@pytest.mark.parametrize("commands", ["undo", "redo"])
def test_plans_name_tagged_gtids(commands: str) -> None:
    log = bk.open(Path(__file__).parents[2] / "_data/9-row-full/modern/binlog.000001")
    plans = getattr(log, commands)()
    rows = {r["gtid"] for r in log.row_records()}
    assert len(rows) > 5 and any(gtid.count(":") == 2 for gtid in rows)
    of_rows = [p for p in plans if not (p["refused"] or "").startswith("ALTER TABLE logs no rows")]
    assert {plan["gtid"] for plan in of_rows if plan["kind"]} <= rows


def test_whose_changes_are_chosen() -> None:
    log = bk.open([str(path) for path in logs("8.0-row-full", "incident")])
    rows = log.rows(op="update")
    chosen = log.undo(op="update").chosen
    counts = (len(rows), rows["gtid"].nunique(), rows["thread_id"].nunique())
    assert chosen[0] == "{} changes of {} transactions on {} connections".format(*counts)
    biggest = rows.groupby(["gtid", "thread_id"], observed=True).size().nlargest(1)
    ((key, count),) = biggest.items()
    gtid, thread = map(str, (key if isinstance(key, tuple) else ()))
    (one, listed) = log.undo(gtid=gtid).chosen
    assert one.endswith("of 1 transaction on 1 connection")
    assert listed == f"{count} changes of GTID {gtid} on thread {thread}"


def test_whole_transactions() -> None:
    """One row of a transaction is named; all its changes are undone, of other tables as well."""
    log = bk.open([str(path) for path in logs("8.0-row-full", "transactions")])
    rows = list(log.row_records())
    for row in rows:
        others = [r for r in rows if r["gtid"] == row["gtid"]]
        if row["gtid"] and len({(r["db"], r["table"]) for r in others}) > 1:
            break
    where = {"table": f"{row['db']}.{row['table']}", "gtid": row["gtid"]}
    assert len(log.undo(**where)) < len(others)
    for make in (log.undo, log.redo):
        assert sorted(place(p) for p in make(by_transaction=True, **where)) == sorted(
            place(r) for r in others
        )


def test_the_object_has_its_script() -> None:
    log = bk.open([str(path) for path in logs("8.0-row-full", "keys")])
    for found, title in ((log.undo(op="update"), "undo"), (log.redo(op="update"), "redo")):
        text = found.script(commit=True)
        assert text.startswith(f"-- {title}\n-- made by binlogkit\n")
        assert "SET @bk_commit = 1;\n" in text and "SET @bk_despite_refused = 0;\n" in text
        lines = "".join(sql.script(found)).splitlines()
        assert (
            text.splitlines()[2:]
            == [line.replace("@bk_commit = 0", "@bk_commit = 1") for line in lines][2:]
        )


@pytest.mark.parametrize("title", ["undo", "redo"])
def test_a_notebook_shows_the_scripts_first_rows(title: str) -> None:
    log = bk.open([str(path) for path in logs("8.0-row-full", "incident")])
    plans = log.undo(table="shop.orders") if title == "undo" else log.redo(table="shop.orders")
    page = plans._repr_html_()
    assert page.count("<tr>") == 21 and page.count("statements: 326") == 1
    mode = "mode: refuse; " * (title == "undo")
    assert repr(plans) == f"<{title}: {mode}changes: 326; statements: 326>"
    first = next(iter(plans))
    assert f"<td>{first['pos']}</td>" in page.split("<tr>")[2]


@pytest.mark.parametrize("title", ["undo", "redo"])
def test_where_nothing_is_chosen_that_is_said(title: str) -> None:
    log = bk.open([str(path) for path in logs("8.0-row-full", "incident")])
    with pytest.warns(UnmetWarning, match="no change was chosen") as found:
        plans = getattr(log, title)(table="shop.orders", where={"id": 99999})
    assert found[0].filename == __file__ and len(found) == 1
    assert "none was chosen" in repr(plans) and "none was chosen" in plans._repr_html_()


def test_a_notebook_escapes_names_and_values() -> None:
    field = pa.field("<script>", pa.string(), metadata={"binlogkit:kind": "text"})
    batch = batch_of(
        [field], [("insert", None, {"<script>": "<script>\x1b"})], ("s", "<script>"), ()
    )
    for backwards in (True, False):
        page = LogPlans(pieces([batch], backwards=backwards), backwards=backwards)._repr_html_()
        assert page.count("&lt;script&gt;") >= 3
        assert "<script" not in page and "\x1b" not in page


@pytest.mark.parametrize("mode", ["refuse", "skip"])
def test_what_later_changes_keep_from_being_undone_shows_what_they_left(mode: str) -> None:
    log = bk.open([str(path) for path in logs("8.0-row-full", "incident")])
    rows: list[Any] = [row["values"] for row in log.state("shop.orders").records()]
    now = {row["id"]: row for row in rows}
    frame = log.undo(at=75676, mode=mode).frame()
    refused = frame[frame["skipped" if mode == "skip" else "refused"].fillna(False).astype(bool)]
    assert len(refused) == 18 and refused["detail"].str.contains("GTID").all()
    if mode == "refuse":
        assert refused["refused"].unique() == ["a later change depends on it (same row)"]
    for shown in refused.to_dict("records"):
        row, cells = now[json.loads(shown["key"])["id"]], json.loads(shown["now"])
        assert cells == {column: row[column] for column in json.loads(shown["before"])}
        assert cells["total"] == "0.00" and shown["after"] is None


@pytest.mark.parametrize("cell", ["5.7-row-full", "8.0-row-full"])
def test_the_incident_is_undone_in_what_nobody_edited_since(cell: str) -> None:
    """All rows that the lost condition hit, and what colleagues did with some of them stays."""
    log = bk.open([str(path) for path in logs(cell, "incident")])
    transactions = log.transactions()
    bad = transactions[transactions["updates"] > 0].nlargest(1, "rows").iloc[0]
    place = (bad["file"], int(bad["pos"]))
    plans = log.undo(at=place, mode="merge")
    states = log.state("shop.orders", at=place), log.state("shop.orders")
    rows_of: list[list[Any]] = [[r["values"] for r in state.records()] for state in states]
    before, now = ({row["id"]: row for row in rows} for rows in rows_of)
    since = log.rows("shop.orders", start_position=int(bad["end_pos"]), op="update")
    frame, kept = plans.frame().set_index(["pos", "row"]), 0
    for plan in plans:
        (key,) = (item["value"] for item in plan["where"] if item["column"] == "id")
        row = dict(now[key])
        row |= {item["column"]: item["value"] for item in plan["set"]}
        later = {item["column"]: item["value"] for item in plan["later"]}
        kept += len(later)
        assert later.items() <= now[key].items() and not later.keys() & {"updated_at"}
        edited = (since["after.id"] == key).any() or (since["before.id"] == key).any()
        own = later.keys() | ({"updated_at"} if edited else set())
        assert row == before[key] | {column: now[key][column] for column in own}
        assert bool(later) == bool(edited)
        shown = frame.loc[plan["pos"], plan["row"]]
        for state, rows in (("before", before[key]), ("now", now[key]), ("after", row)):
            cells = json.loads(shown[state])
            assert cells.keys() >= later.keys() | {"total"} and cells.items() <= rows.items()
        assert list(shown["later"]) == list(later)
    assert len(plans) == bad["updates"] == 75 and kept > 0
    assert f"'committed, {kept} columns kept'" in plans.script()
    assert sum("keeps later values: " in line for line in plans.script().splitlines()) < kept
