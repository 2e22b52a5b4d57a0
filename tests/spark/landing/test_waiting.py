"""Rows that wait, and what becomes of them if their own log is gone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from binlogkit.cli import run
from binlogkit.errors import InputError
from binlogkit.spark.landing import Landing
from binlogkit.spark.landing.journal import read_held
from binlogkit.spark.landing.landing_path import Folder
from binlogkit_fixtures import golden
from tests.spark.landing.landings import land, landed
from tests.spark.landing.steps import UNLOCKED, at_step

FIRST, SECOND = golden.case("8.0-row-full", "transactions").binlogs


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    """Two logs of a server."""
    folder = tmp_path / "logs"
    folder.mkdir()
    return Path(shutil.copy(FIRST, folder)), Path(shutil.copy(SECOND, folder))


@pytest.fixture
def lake(logs: tuple[Path, Path], tmp_path: Path) -> Path:
    """A landing of the second log, whose rows wait, and which is gone then."""
    assert land(logs[1], tmp_path / "lake").waiting
    logs[1].unlink()
    return tmp_path / "lake"


def findings(lake: Path, table: str) -> list[dict[str, Any]]:
    return [f for f in Landing(lake).state(table).findings.to_pylist() if f["finding"] == "gap"]


def test_rows_whose_log_is_gone_are_lost_once_and_block_nothing(
    lake: Path, logs: tuple[Path, Path]
) -> None:
    with pytest.raises(InputError, match="wait and have not landed"):
        Landing(lake).state("bank.account")
    waited = {one.table: one.rows for one in read_held(Folder(lake))}
    arrived = land(logs[0], lake)
    assert {one.table: one.rows for one in arrived.lost} == waited
    assert {one.file for one in arrived.lost} == {str(logs[1])}
    assert not arrived.waiting and arrived.rows
    again = land(logs[0], lake)
    assert not again.lost and not again.waiting and not again.batches
    (gap,) = [f for f in findings(lake, "bank.account") if "lost" in f["meaning"]]
    assert gap["meaning"] == f"{waited['bank.account']} changes of bank.account are lost: " + (
        "their log was gone"
    )
    assert gap["file"] == str(logs[1])


def test_names_do_not_hold_over_missing_logs(
    logs: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    """A column, or the table, may have another name since; --suppose says that none has."""
    later = logs[1].rename(logs[1].with_name("binlog.000009"))
    out = tmp_path / "lake"
    arrived = land([logs[0], later], out)
    assert arrived.rows and {one.file for one in arrived.waiting} == {str(later)}
    (reason,) = {one.reason for one in arrived.waiting}
    assert reason.endswith(f"not known: ddl: logs are missing before {later}")
    with pytest.raises(InputError, match="wait and have not landed"):
        Landing(out).state("bank.account")
    accepted = [f"--suppose=definition:{one.table}" for one in arrived.waiting]
    assert run(["land", *map(str, (logs[0], later, "--out", out)), *accepted]) == 0
    assert "bank.ledger" in capsys.readouterr().err
    land([FIRST, SECOND], tmp_path / "whole")
    strip = ("_file", "_source")
    found, wanted = (
        {n: [{k: v for k, v in row.items() if k not in strip} for row in rows] for n, rows in of}
        for of in (landed(out).items(), landed(tmp_path / "whole").items())
    )
    assert found.keys() == wanted.keys()
    assert [len(found[name]) for name in found] == [len(wanted[name]) for name in found]


def rows_of(lake: Path) -> dict[str, list[list[Any]]]:
    """The rows of the second log."""
    keys = ("_sequence", "_gtid", "_pos", "_change_type")
    return {
        name: [[r[k] for k in keys] for r in rows if r["_file"].endswith(SECOND.name)]
        for name, rows in landed(lake).items()
    }


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("place", ["logs", "other"])
def test_rows_land_if_their_log_turns_up(
    lost: bool, place: str, lake: Path, logs: tuple[Path, Path], tmp_path: Path
) -> None:
    """Where it was, or with the log before it in another folder."""
    if lost:
        assert land(logs[0], lake).lost
    folder = tmp_path / place
    folder.mkdir(exist_ok=True)
    both = [shutil.copy(log, folder / log.name) for log in (FIRST, SECOND)]
    arrived = land(both, lake)
    assert arrived.rows and not arrived.waiting and not arrived.lost
    land(both, tmp_path / "whole")
    assert rows_of(lake) == rows_of(tmp_path / "whole")
    assert not [f for f in findings(lake, "bank.account") if "lost" in f["meaning"]]


def test_rows_wait_on_where_their_log_is_still_there(tmp_path: Path) -> None:
    """It is not named, but may be."""
    land(SECOND, tmp_path)
    arrived = land(FIRST, tmp_path)
    assert arrived.waiting and not arrived.lost


def test_the_loss_is_said_whatever_ends_the_landing(
    lake: Path, logs: tuple[Path, Path], tmp_path: Path
) -> None:
    def died() -> None:
        raise KeyboardInterrupt

    counted = tmp_path / "counted"
    shutil.copytree(lake, counted)
    with at_step(0, "before", died, UNLOCKED) as met:
        land(logs[0], counted)
    for number in range(1, len(met) + 1, 9):
        out = tmp_path / str(number)
        shutil.copytree(lake, out)
        lost = []
        with at_step(number, "before", died, UNLOCKED):
            try:
                lost += land(logs[0], out).lost
            except KeyboardInterrupt:
                lost += land(logs[0], out).lost
        assert {one.table for one in lost} == {one.table for one in read_held(Folder(lake))}
        assert landed(out) == landed(counted)


def test_the_command_names_what_is_lost(lake: Path, logs: tuple[Path, Path], capsys: Any) -> None:
    assert run(["land", str(logs[0]), "--out", str(lake)]) == 1
    told = capsys.readouterr().err
    assert "changes of bank.account that waited are lost: their log, " in told
    assert str(logs[1]) in told
    assert run(["land", str(logs[0]), "--out", str(lake)]) == 0


def test_a_retry_finds_the_logs_where_they_were(
    logs: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    def lands(*arguments: object) -> tuple[int, str]:
        status = run(["land", *map(str, arguments), "--out", str(tmp_path / "lake")])
        return status, capsys.readouterr().err

    assert lands(logs[1])[0] == 1
    assert lands(logs[0])[0] == 1  # they wait: their log is not named
    kept = logs[1].read_bytes()
    logs[1].unlink()
    status, told = lands("--retry")
    assert status == 2 and f"the logs of rows that wait are gone ({logs[1]})" in told
    for named in ((logs[0],), ("--retry", logs[0])):  # what is lost is said again if asked for
        status, told = lands(*named)
        assert status == 1 and "391 changes of bank.ledger that waited are lost" in told
    assert lands(logs[0]) == (0, "note: 0 logs in 0 batches, 0 files\n")
    logs[1].write_bytes(kept)
    status, told = lands("--retry", logs[1].parent)
    assert status == 0 and "431 rows of bank.ledger" in told  # updates have two
    status, told = lands("--retry")
    assert status == 2 and "no rows wait: nothing can be landed again" in told
    assert "no file is named" in lands()[1]
