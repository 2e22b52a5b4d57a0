"""Definitions that were given to a landing stay with it: its answers are those of the logs with
them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from binlogkit.cli import run
from binlogkit.log import open_log
from binlogkit.log.index import Joined, parts_of
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.dump import load_schema
from binlogkit.spark.landing import Landing, current, keep_current, summary
from binlogkit.spark.landing.given import read_given
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import write_series
from tests.spark.landing.landings import land, landed
from tests.spark.landing.steps import UNLOCKED, at_step

FIRST, SECOND = golden.case("8.0-row-full", "transactions").binlogs
ACCOUNT = "bank.account"


def tables_after(log: Path) -> Catalog:
    """The tables as a log leaves them."""
    joined = Joined(parts_of(open_log(log).carriers))
    catalog = Catalog("8.0.31")
    for one in joined.series.definitions({p.source for p in joined.positions if p.source}):
        catalog.enter(one)
    return catalog


@pytest.fixture
def given() -> Catalog:
    """What --schema would say of the second log's tables."""
    return tables_after(FIRST)


def answers(source: Any, tables: list[str], since: tuple[str, int]) -> list[Any]:
    """What a landing, or the logs, say of tables."""
    found: list[Any] = []
    for table in tables:
        state = source.state(table)
        found += [
            state.rows["values"].to_pylist(),
            state.key,
            state.findings["finding"].to_pylist(),
        ]
        found.append(source.diff(table, since).rows.num_rows)
        for one in state.rows["values"].to_pylist()[:3] if len(state.key) == 1 else ():
            changes = source.life(table, one[state.key[0]]).rows
            found += [changes["op"].to_pylist(), changes["pos"].to_pylist()]
    sql = str(source.undo(table=tables).script()).splitlines()
    words = ("DELETE", "INSERT", "UPDATE")
    return [*found, [line for line in sql if line.lstrip().startswith(words)]]


def check(out: Path, given: Catalog, *logs: Path) -> None:
    """All answers are those of the logs."""
    landing, log = Landing(out), open_log([*logs], schema=given)
    tables, since = landing.tables(), (logs[0].name, 4)
    assert tables
    found, wanted = (answers(one, tables, since) for one in (landing, log))
    assert found == wanted and all(found[-1])
    kept = {one.table: one for one in keep_current(out)}
    for table in tables:
        assert kept[table].how != "refused"
        assert current(out, table).num_rows == log.state(table).rows.num_rows
    assert any(one.compared for one in landing.unlogged().images)


def test_answers_are_those_of_the_logs_with_them(given: Catalog, tmp_path: Path) -> None:
    assert not land(SECOND, tmp_path, schema=given).waiting
    check(tmp_path, given, SECOND)


def test_they_are_given_once_rows_wait(given: Catalog, tmp_path: Path) -> None:
    assert land(SECOND, tmp_path).waiting
    assert land(SECOND, tmp_path, schema=given).rows
    assert not land(SECOND, tmp_path).waiting
    check(tmp_path, given, SECOND)


def test_a_landing_that_did_not_keep_them_is_mended(given: Catalog, tmp_path: Path) -> None:
    """As one by an earlier version, which kept none."""
    land(SECOND, tmp_path, schema=given)
    shutil.rmtree(tmp_path / "given")
    (tmp_path / "ledger" / "complete").unlink()
    assert not land(SECOND, tmp_path, schema=given).rows
    check(tmp_path, given, SECOND)


def growing(log: Path, folder: Path) -> tuple[Path, Path]:
    """The first half of a log, and the log."""
    folder.mkdir()
    begun, data = folder / log.name, log.read_bytes()
    begun.write_bytes(data[: len(data) // 2])
    return begun, log


def test_later_landings_know_them(given: Catalog, tmp_path: Path) -> None:
    out = tmp_path / "lake"
    log, whole = growing(SECOND, tmp_path / "logs")
    assert land(log, out, schema=given).rows
    log.write_bytes(whole.read_bytes())
    arrived = land(log, out)
    assert arrived.rows and not arrived.waiting
    check(out, given, log)
    (only,) = read_given(Folder(out))
    land(log, out, schema=given)
    assert read_given(Folder(out)) == [only]  # it is known


@pytest.mark.slow
def test_whatever_ends_the_landing_that_they_were_given_to(given: Catalog, tmp_path: Path) -> None:
    """Rows land under the names that it had, or wait, or had not begun to land."""

    def died() -> None:
        raise KeyboardInterrupt

    with at_step(0, "before", died, UNLOCKED) as met:
        land(SECOND, tmp_path / "counted", schema=given)
    wanted = landed(tmp_path / "counted")
    waited = 0
    for number in range(1, len(met) + 1, 10):
        out = tmp_path / str(number)
        with at_step(number, "before", died, UNLOCKED), pytest.raises(KeyboardInterrupt):
            land(SECOND, out, schema=given)
        kept = bool((out / "given").exists() and read_given(Folder(out)))
        arrived = land(SECOND, out)
        assert bool(arrived.waiting) == (not kept)
        waited += not kept
        if not kept:
            land(SECOND, out, schema=given)
        assert landed(out) == wanted
    assert waited


def test_those_given_anew_count_from_the_next_log_on(given: Catalog, tmp_path: Path) -> None:
    """A wrong one, by which the rows wait, is replaced."""
    wrong = load_schema("CREATE TABLE bank.account (id INT PRIMARY KEY)")
    out = tmp_path / "lake"
    assert {one.table for one in land(SECOND, out, schema=wrong).waiting} >= {ACCOUNT}
    assert not land(SECOND, out, schema=given).waiting
    check(out, given, SECOND)
    other = load_schema("CREATE TABLE bank.account (id INT PRIMARY KEY, a INT, b INT)")
    assert not land(SECOND, out, schema=other).rows  # all has landed: nothing is given newly
    assert len(read_given(Folder(out))) == 2
    check(out, given, SECOND)


def test_after_missing_logs_they_are_given_again(given: Catalog, tmp_path: Path) -> None:
    """Else the table may have been altered in these."""
    folder = tmp_path / "logs"
    folder.mkdir()
    later = Path(shutil.copy(SECOND, folder / "binlog.000009"))
    first = Path(shutil.copy(FIRST, folder))
    out = tmp_path / "lake"
    assert land([first, later], out).waiting
    assert not land([first, later], out, schema=given).waiting
    assert not land([first, later], out).waiting
    whole = Landing(out).state(ACCOUNT).rows["values"].to_pylist()
    assert whole == open_log([FIRST, SECOND]).state(ACCOUNT).rows["values"].to_pylist()


def test_no_value_of_a_masked_column_is_in_answers(given: Catalog, tmp_path: Path) -> None:
    terms = Terms(masks=parse_masks([f"{ACCOUNT}.owner=drop"]))
    land(SECOND, tmp_path, terms, schema=given)
    landing = Landing(tmp_path)
    state = landing.state(ACCOUNT)
    assert state.rows.num_rows and "owner" not in (state.columns or ())
    (own,) = [one for name, one in landing.ledger.given.items() if ".".join(name) == ACCOUNT]
    assert "owner" not in {column.name for column in own.columns}


def test_the_summary_knows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs whose first one, with the CREATE TABLE, is gone, come one by one."""
    monkeypatch.setattr(summary, "_LEAST", 1)
    folder = tmp_path / "logs"
    folder.mkdir()
    first, *logs = write_series(folder, 4, 10)
    schema, out = tables_after(first), tmp_path / "lake"
    assert land(logs[:1], tmp_path / "without").waiting
    for n in range(1, len(logs) + 1):
        # Those of the night before are given again, as a script would.
        assert not land(logs[:n], out, schema=schema if n % 2 else None).waiting
    assert (out / "ledger" / "summary.parquet").exists() and len(read_given(Folder(out))) == 1
    land(logs, tmp_path / "whole", schema=schema)
    assert landed(out) == landed(tmp_path / "whole") != {}
    for table in Landing(out).tables():
        wanted = open_log(logs, schema=schema).state(table).rows["values"].to_pylist()
        assert Landing(out).state(table).rows["values"].to_pylist() == wanted


def test_the_command_keeps_a_schema_file(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "schema.sql").write_text(
        "CREATE TABLE bank.account (id INT PRIMARY KEY, owner VARCHAR(40), balance DECIMAL(12,2));"
    )
    out = str(tmp_path / "lake")
    schema = f"--schema={tmp_path / 'schema.sql'}"
    run(["land", str(SECOND), "--out", out, "--table", ACCOUNT, schema, "--current"])
    assert "no current state" not in capsys.readouterr().err
    assert run(["state", out, "--table", ACCOUNT, "--format", "jsonl"]) in (0, 1)
    landed_rows = capsys.readouterr().out
    run(["state", str(SECOND), "--table", ACCOUNT, "--format", "jsonl", schema])
    assert landed_rows == capsys.readouterr().out != ""
