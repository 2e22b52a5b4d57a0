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
from binlogkit.spark.landing.standing import status
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import joined, pieces_of
from tests.fuzz.binlogkit_fuzz.framing import places
from tests.spark.landing.landings import land, landed
from tests.spark.landing.steps import UNLOCKED, at_step
from tests.spark.landing.test_landing import without_places

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
    found, wanted = (
        {name: len(rows) for name, rows in landed(tmp_path / lake).items()}
        for lake in ("lake", "whole")
    )
    assert found == wanted


#: A column is renamed, between rows of its table.
INSTANT = golden.case("8.0-row-full", "instant-ddl").binlogs[0]
RENAMED = "ALTER TABLE instant.t RENAME COLUMN e TO f"


def values(lake: Path) -> list[tuple[int, str, dict[str, Any]]]:
    """Where the landed rows stand, and their values but for NULL."""
    found = [
        (row["_pos"], row["_change_type"], {
            k: v for k, v in row.items() if v is not None and not k.startswith("_")
        })
        for rows in landed(lake).values() for row in rows
    ]  # fmt: skip
    return sorted(found, key=str)


@pytest.mark.parametrize("around", [0, 90], ids=["the statement", "its GTID, too"])
def test_names_do_not_hold_over_damage_that_may_have_changed_them(
    around: int, tmp_path: Path, capsys: Any
) -> None:
    """Definitions of the tables after it say them."""
    log, out, data = tmp_path / INSTANT.name, tmp_path / "lake", INSTANT.read_bytes()
    at = next(p for p in places(data) if RENAMED.encode() in data[p : p + 200])
    end = at + int.from_bytes(data[at + 9 : at + 13], "little")
    log.write_bytes(data[: at + 20 - around] + bytes(end - at - 24 + around) + data[end - 4 :])
    land(INSTANT, tmp_path / "whole")
    wanted = values(tmp_path / "whole")
    waiting = land(log, out, on_damage="report").waiting
    assert any(f"statements may be missing in {log} at " in one.reason for one in waiting)
    found = values(out)
    assert found and all(one in wanted for one in found)
    # Statements after it alter the table further.
    given = log.with_name("after.sql")
    given.write_text(
        "CREATE TABLE instant.t (b VARCHAR(300), id INT PRIMARY KEY, f DATETIME, alpha BIGINT)"
    )
    named = ["land", str(log), "--out", str(out), "--on-damage=report", f"--schema={given}"]
    assert run(named) == 1  # there is damage
    assert "wait" not in capsys.readouterr().err
    assert values(out) == wanted


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


@pytest.mark.parametrize("gone", [1, 0], ids=["rows waited", "XA transactions"])
def test_the_loss_is_said_whatever_ends_the_landing(
    gone: int, logs: tuple[Path, Path], tmp_path: Path
) -> None:
    def died() -> None:
        raise KeyboardInterrupt

    lake, counted, other = tmp_path / "lake", tmp_path / "counted", logs[1 - gone]
    land(logs[gone], lake)
    logs[gone].unlink()
    shutil.copytree(lake, counted)
    with at_step(0, "before", died, UNLOCKED) as met:
        expected = land(other, counted).lost
    assert expected
    for number in range(1, len(met) + 1, 9):
        out = tmp_path / str(number)
        shutil.copytree(lake, out)
        lost = []
        with at_step(number, "before", died, UNLOCKED):
            try:
                lost += land(other, out).lost
            except KeyboardInterrupt:
                lost += land(other, out).lost
        assert {one.table for one in lost} == {one.table for one in expected}
        assert landed(out) == landed(counted)


def test_the_command_names_what_is_lost(lake: Path, logs: tuple[Path, Path], capsys: Any) -> None:
    assert run(["land", str(logs[0]), "--out", str(lake)]) == 1
    told = capsys.readouterr().err
    assert "changes of bank.account are lost: their log, " in told
    assert str(logs[1]) in told
    assert run(["land", str(logs[0]), "--out", str(lake)]) == 0


def test_a_first_landing_may_be_a_retry(logs: tuple[Path, Path], tmp_path: Path) -> None:
    """As a nightly command has it."""
    named = ["land", str(logs[0]), "--out", str(tmp_path / "lake"), "--retry"]
    assert run(named) == 0 == run(named)
    assert landed(tmp_path / "lake")


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
        assert status == 1 and "391 changes of bank.ledger are lost" in told
    assert lands(logs[0]) == (0, "note: 0 logs in 0 batches, 0 files\n")
    logs[1].write_bytes(kept)
    status, told = lands("--retry", logs[1].parent)
    assert status == 0 and "431 rows of bank.ledger" in told  # updates have two
    status, told = lands("--retry")
    assert status == 2 and "no rows wait: nothing can be landed again" in told
    assert "no file is named" in lands()[1]


# ---- XA transactions whose XA COMMIT lands without the log that prepared them ------------------


def committed_later(cell: str, scenario: str, folder: Path) -> tuple[list[Path], dict[str, Any]]:
    """Logs of which the second commits an XA transaction of the first, and may roll others back;
    and what lands of all of them."""
    (folder / "logs").mkdir()
    binlogs = golden.case(cell, scenario).binlogs
    logs = [Path(shutil.copy(log, folder / "logs")) for log in binlogs]
    land(logs, folder / "whole", name="s")
    return logs, landed(folder / "whole")


def states(lake: Path) -> list[Any]:
    found = [Landing(lake).state(table) for table in Landing(lake).tables()]
    return [([row["values"] for row in s.rows.to_pylist()], s.determined) for s in found]


@pytest.mark.parametrize(
    ("cell", "scenario", "grown"),
    [
        ("8.0-row-full", "transactions", False),
        ("8.0-row-no-gtid", "transactions", True),
        ("8.0-row-durable", "restarts", False),
    ],
)
def test_a_log_that_prepared_them_is_read_where_it_was(
    cell: str, scenario: str, grown: bool, tmp_path: Path
) -> None:
    """Also if it has grown since, by the event that ends it."""
    logs, whole = committed_later(cell, scenario, tmp_path)
    data, lake = logs[0].read_bytes(), tmp_path / "lake"
    if grown:
        logs[0].write_bytes(data[: [*places(data)][-1]])
    land(logs[0], lake, name="s")
    logs[0].write_bytes(data)
    for log in logs[1:]:
        assert not land(log, lake, name="s").lost
    assert landed(lake) == whole
    assert land(logs, lake, name="s").batches == 0


@pytest.mark.parametrize(
    ("cell", "scenario", "how", "back"),
    [
        ("8.0-row-no-gtid", "transactions", "gone", "--retry"),
        ("8.0-row-full", "transactions", "another", "named elsewhere"),
        ("8.0-row-durable", "restarts", "cut", "with all others"),
    ],
)
def test_their_changes_are_lost_until_the_log_is_back(
    cell: str, scenario: str, how: str, back: str, tmp_path: Path, capsys: Any
) -> None:
    logs, whole = committed_later(cell, scenario, tmp_path)
    first, lake, data = logs[0], tmp_path / "lake", logs[0].read_bytes()
    land(first, lake, name="s")
    end = str(first), Landing(lake).transactions().to_pylist()[-1]["pos"]
    before = {name: len(findings(lake, name)) for name in Landing(lake).tables()}
    first.unlink()
    if how != "gone":
        first.write_bytes(logs[1].read_bytes() if how == "another" else data[:700])
    lost = land(logs[1], lake, name="s").lost
    assert lost and {(one.file, one.lost) for one in lost} == {(str(first), True)}
    assert land(logs[1], lake, name="s").lost == []  # it is said once
    assert status(lake)["waiting"]["table"].to_pylist() == [one.table for one in lost]
    for one in lost:
        (gap,) = [f for f in findings(lake, one.table) if "are lost" in f["meaning"]]
        assert gap["file"] == str(logs[1]) and not Landing(lake).state(one.table).determined
        then = Landing(lake).state(one.table, at=end).findings.to_pylist()
        assert len([f for f in then if f["finding"] == "gap"]) == before[one.table]
    if back == "--retry":
        assert run(["land", str(logs[1]), "--retry", "--out", str(lake), "--name=s"]) == 1
        assert f"are lost: their log, {first} from" in capsys.readouterr().err
    first.write_bytes(data)
    if back == "--retry":
        assert run(["land", "--retry", "--out", str(lake), "--name=s"]) == 0
    else:
        folder = Path(shutil.copytree(first.parent, tmp_path / "other"))
        named = folder / first.name if back == "named elsewhere" else folder
        assert not land(named, lake, name="s").lost
    for log in logs[2:]:
        land(log, lake, name="s")
    assert not status(lake)["waiting"].num_rows
    assert without_places(landed(lake)) == without_places(whole)
    assert states(lake) == states(tmp_path / "whole")
    assert land(logs, lake, name="s").batches == 0


@pytest.mark.parametrize("how", ["clear", "drop"])
def test_a_table_that_may_be_a_masked_one_under_another_name(
    how: str, tmp_path: Path, capsys: Any
) -> None:
    """Its columns have names (binlog_row_metadata=FULL), and the log before it is missing, in which
    it may have been renamed."""
    first, second = golden.case("8.0-row-full-metadata", "transactions").binlogs
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    logs.mkdir()
    shutil.copy(first, logs)
    pieces = pieces_of(second.read_bytes())
    for piece in pieces:
        piece.data = piece.data.replace(b"ledger", b"ledge2")
    (logs / "binlog.000003").write_bytes(joined(pieces))
    given = ["--out", str(lake), "--mask", "bank.ledger.memo=drop"]
    assert run(["land", str(logs), *given]) == 1
    said = capsys.readouterr().err
    assert (
        "bank.ledge2 wait" in said and "bank.ledge2.memo may be that of bank.ledger.memo=d" in said
    )
    assert [*landed(lake, "bank/ledge*")] == ["bank/ledger"]
    again = ["--retry", "--mask", f"bank.ledge2.memo={how}", *["--change-terms"] * (how == "drop")]
    assert run(["land", *given, *again]) == 0
    rows = landed(lake, "bank/ledge2")["bank/ledge2"]
    assert rows and all(("memo" in row) == (how == "clear") for row in rows)
    shutil.copy(logs / "binlog.000003", logs / "binlog.000005")
    assert run(["land", str(logs), *given, *again[1:3]]) == 0
