"""Runs of the generator: what is refused before a server starts, and what real ones leave."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from binlogkit.cli import run
from binlogkit.errors import InputError, ServerError, UsageError
from binlogkit_fixtures import generation
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.capture import PARTIAL, How
from binlogkit_fixtures.differences import compare_sets
from binlogkit_fixtures.generation import RUN, Order, generate
from binlogkit_fixtures.matrices import cell as cell_of
from binlogkit_fixtures.matrix_file import read_matrix
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.script import parse_script
from binlogkit_fixtures.servers import start
from binlogkit_fixtures.servers.daemon import docker_available
from binlogkit_fixtures.verify import check_index, folders, verify
from tests.fixtures_gen.runners import runners
from tests.mysql_client import client
from tests.waiting import LONG, until

ORDERS = """\
-- @ story One session waits for another, in vain, and tries again.
-- @ databases shop
CREATE DATABASE shop;
CREATE TABLE shop.stock (item VARCHAR(20) PRIMARY KEY, n INT UNSIGNED NOT NULL);
INSERT INTO shop.stock VALUES ('lamp', 1), ('chair', 4);
DELIMITER //
CREATE PROCEDURE shop.sell(what VARCHAR(20))
BEGIN
  UPDATE shop.stock SET n = n - 1 WHERE item = what;
END//
DELIMITER ;
-- @ mark open
-- @ session alice
BEGIN;
CALL shop.sell('lamp');
-- @ session bob
-- @ fails 1205
CALL shop.sell('lamp');
-- @ session alice
COMMIT;
-- @ wait 60.5
-- @ session bob
-- @ fails 1690
CALL shop.sell('lamp');
-- @ if binlog-checksum=NONE
INSERT INTO shop.stock VALUES ('unchecked', 0);
-- @ end
-- @ leave bob
-- @ mark closed
"""
NEW = "-- @ databases d\n-- @ requires version>=9\nCREATE DATABASE d;\n"
MATRIX = """\
servers = ["5.7", "8.0"]
rule = "each"
[settings]
binlog-checksum = ["CRC32", "NONE"]
sql-mode = "ANSI"
"""


def order(folder: Path, *scripts: str, how: How | None = None) -> Order:
    (folder / "matrix.toml").write_text(MATRIX, "utf-8")
    scenarios = [parse_script(f"s{n}", text) for n, text in enumerate(scripts or [ORDERS])]
    return Order(tuple(read_matrix(folder / "matrix.toml").cells()), tuple(scenarios), how or How())


def test_a_condition_must_be_one_that_a_cell_decides(tmp_path: Path) -> None:
    wrong = ORDERS.replace("binlog-checksum=", "binlog-cheksum=")
    with pytest.raises(UsageError, match="scenario s0 asks for 'binlog-cheksum', which no cell"):
        order(tmp_path, wrong)
    keys = load("keys")
    with pytest.raises(UsageError, match="two scenarios are called 'keys'"):
        Order((cell_of("8.0-row-full"),), (keys, keys), How())


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run ends before its first server: there is no such runner."""
    monkeypatch.setenv("BINLOGKIT_RUNNER", "nobody")


@pytest.mark.usefixtures("no_server")
def test_what_is_there_is_not_touched(tmp_path: Path) -> None:
    asked, out = order(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("not to be lost")
    with pytest.raises(UsageError, match="out is not empty"):
        generate(asked, out)
    with pytest.raises(InputError, match=RUN):
        generate(asked, out, resume=True)
    (out / RUN).write_text('{"format_version": 7}')
    with pytest.raises(InputError, match="not the file of a run"):
        generate(asked, out, resume=True)
    assert sorted(path.name for path in out.iterdir()) == ["mine", RUN]


@pytest.mark.usefixtures("no_server")
def test_only_the_same_run_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first start fails for want of a server, so that nothing but its order is there."""
    asked, out = order(tmp_path), tmp_path / "out"
    for resume in (False, True):
        with pytest.raises(UsageError, match="'nobody' is none of"):
            generate(asked, out, resume=resume)
        assert [path.name for path in out.iterdir()] == [RUN]
    with pytest.raises(UsageError, match="a run was begun in"):
        generate(asked, out)
    same = order(
        tmp_path, ORDERS.replace("\n-- @ session bob", "\n-- a remark\n\n-- @ session bob")
    )
    with pytest.raises(UsageError, match="'nobody' is none of"):
        generate(same, out, resume=True)
    others = {
        "scenarios": order(tmp_path, ORDERS.replace("'lamp', 1", "'lamp', 2")),
        "cells": Order(asked.cells[:1], asked.scenarios, asked.how),
        "clock": order(tmp_path, how=How(clock="real")),
        "cells and scenarios": Order(asked.cells[:1], asked.scenarios * 0, asked.how),
    }
    for what, other in others.items():
        with pytest.raises(UsageError, match=f"was begun with other {what}: resume it"):
            generate(other, out, resume=True)
    monkeypatch.setenv("BINLOGKIT_RUNNER", "local")
    with pytest.raises(UsageError, match="was begun with other runner: "):
        generate(asked, out, resume=True)
    assert [path.name for path in out.iterdir()] == [RUN]


@pytest.mark.usefixtures("no_server")
def test_one_run_is_at_work_in_a_folder(tmp_path: Path) -> None:
    asked, out = order(tmp_path), tmp_path / "out"
    out.mkdir()
    with (
        generation.alone(out),
        pytest.raises(UsageError, match="another run is at work in"),
    ):
        generate(asked, out, resume=True)
    assert list(out.iterdir()) == []


# ---- real servers -------------------------------------------------------------------------------


def write_order(folder: Path, sign: str) -> list[str]:
    """The command that makes the order's scenario; ``sign`` is in the servers' command lines."""
    (folder / "orders.sql").write_text(ORDERS, "utf-8")
    (folder / "modern.sql").write_text(NEW, "utf-8")
    (folder / "matrix.toml").write_text(f'{MATRIX}report-host = "{sign}"\n', "utf-8")
    return [
        "fixtures", "generate", "--no-mysqlbinlog", "--matrix", str(folder / "matrix.toml"),
        "--scenario", str(folder / "orders.sql"), "--scenario", str(folder / "modern.sql"),
    ]  # fmt: skip


@pytest.fixture(params=runners())
def runner(request: pytest.FixtureRequest) -> str:
    """Both ways to run a server, where there are both."""
    name = str(request.param)
    available = docker_available()
    if name == "docker" and not available:
        pytest.skip(str(available.reason))
    return name


@pytest.mark.server
def test_a_run_is_interrupted_and_resumed(
    runner: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the terminal's SIGINT, to the whole group, and by SIGTERM: nothing half stays."""
    monkeypatch.setenv("BINLOGKIT_RUNNER", runner)
    sign, out = secrets.token_hex(8), tmp_path / "out"
    command = write_order(tmp_path, sign)
    words = [*command, "--out", str(out), "--servers", "1"]
    both = (signal.SIGINT, signal.SIGTERM)
    for number in both if runner == "local" else both[:1]:
        interrupt(words, out, number)
        await_end(sign, runner)
        there = [path.parent for path in out.rglob("manifest.json")]
        assert sorted(p.name for p in out.iterdir()) == sorted(
            {RUN, *(p.parent.name for p in there)}
        )
        assert [finding for folder in there for finding in verify(folder)] == []
        words = [*command, "--out", str(out), "--servers", "2", "--resume"]
    assert run(words) == 0
    printed, noted = capsys.readouterr()
    cells = [cell.name for cell in read_matrix(tmp_path / "matrix.toml").cells()]
    assert printed.splitlines() == [str(out / cell / "orders") for cell in cells]
    assert noted.count("left out: it requires version>=9.0") == 0
    assert noted.count("it requires version>=9, and the server is") == len(cells)
    assert list(check_index(out)) == []
    assert [finding for folder in folders(out) for finding in verify(folder)] == []
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.0*")}
    assert run(words) == 0
    assert capsys.readouterr().out == printed
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.0*")} == before


def interrupt(words: list[str], out: Path, number: signal.Signals) -> None:
    """Begin a run, end it while a server is at work, and see that all of it is gone."""
    process = subprocess.Popen(
        [sys.executable, "-m", "binlogkit", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            until(lambda: _at_work(process, out), "a server is at work")
            (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
            _, said = process.communicate(timeout=LONG)
        finally:
            process.kill()
    assert (process.returncode, said.strip()) == (130, "binlogkit: interrupted")


def _at_work(process: subprocess.Popen[str], out: Path) -> bool:
    assert process.poll() is None, "it ended before it was interrupted"
    return any(path.is_dir() for path in (out / PARTIAL).glob("*/*"))


def await_end(sign: str, runner: str) -> None:
    """No server whose command has the sign is there, nor will be: guards end them, if need be."""

    def found() -> list[bytes | str]:
        return [*commands(sign), *(containers(sign) if runner == "docker" else ())]

    until(lambda: not found(), lambda: f"these end: {found()}")


def commands(sign: str) -> Iterator[bytes]:
    """The command lines of this machine's processes that have it."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended just now
            text = path.read_bytes()
            if sign.encode() in text:
                yield text


def containers(sign: str) -> list[str]:
    """Containers, running or not, with it in their command."""
    done = subprocess.run(
        ["docker", "ps", "-a", "--no-trunc", "--format", "{{.Command}}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if sign in line]


@pytest.mark.server
def test_two_runs_are_equal_after_normalisation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One with the story's clock and one with the real one; and a third of another story."""
    monkeypatch.setenv("BINLOGKIT_RUNNER", "local")
    whole = order(tmp_path)
    asked = Order(whole.cells[1:], whole.scenarios, whole.how)
    generate(asked, tmp_path / "a")
    generate(Order(asked.cells, asked.scenarios, How(clock="real")), tmp_path / "b")
    other = ORDERS.replace("('chair', 4)", "('chair', 5)")
    one = order(tmp_path, other)
    generate(Order(asked.cells, one.scenarios, one.how), tmp_path / "c")
    for case in compare_sets(tmp_path / "a", tmp_path / "b"):
        assert (case.case, case.result) == (f"{asked.cells[0].name}/s0", "equal"), case
        assert {d.kind for d in case.differences} <= {
            "commit-clock", "exec-time", "xid", "table-id", "created",
        }  # fmt: skip
    for cell in asked.cells:  # what the matrix sets is what sessions have
        text = json.loads((tmp_path / "a" / cell.name / "s0" / "manifest.json").read_text("utf-8"))
        assert text["settings"]["binlog_checksum"] == cell.options["binlog-checksum"]
        assert text["settings"]["sql_mode"].startswith("REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES")
        rows = text["marks"][-1]["tables"]["shop.stock"]["rows"]
        assert ["lamp", 0] in rows
        assert ["unchecked", 0] in rows
        assert [error["code"] for error in text["errors"]] == [1205, 1690]
    words = ["fixtures", "diff", "--format", "jsonl"]
    assert run([*words, str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert {json.loads(line)["result"] for line in capsys.readouterr().out.splitlines()} == {
        "equal"
    }
    assert run([*words, "--each", str(tmp_path / "a"), str(tmp_path / "c")]) == 1
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    unexplained = [record["first"] for record in records if record["kind"] == "unexplained"]
    assert any("WRITE_ROWS_EVENT data" in first for first in unexplained)
    assert any("mark open shop.stock" in first for first in unexplained)


@pytest.mark.server
def test_a_statement_that_goes_otherwise_ends_the_run(tmp_path: Path) -> None:
    """What was whole before it stays, to be resumed once the story is right: another run."""
    wrong = order(tmp_path, ORDERS, ORDERS.replace("-- @ fails 1690", ""))
    out = tmp_path / "out"
    one = Order(wrong.cells[:1], wrong.scenarios, wrong.how)
    with pytest.raises(ServerError, match=r"scenario s1, step .*error 1690"):
        generate(one, out)
    name = one.cells[0].name
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_dir()) == [
        name, f"{name}/s0",
    ]  # fmt: skip


@pytest.mark.server
def test_the_mysql_client_takes_a_scenario(tmp_path: Path) -> None:
    """Directives and all: it gives the tables that the generator's play of it gives."""
    text = ORDERS.replace("-- @ fails 1205\n", "").replace("-- @ fails 1690\n", "")
    text = text.replace("CALL shop.sell('lamp')", "CALL shop.sell('chair')")
    text = text.replace("BEGIN;\nCALL", "CALL").replace("COMMIT;\n", "")
    asked = order(tmp_path, text)
    cell = asked.cells[1]  # where what stands in the block runs as well
    made = generate(Order((cell,), asked.scenarios, asked.how), tmp_path / "out")
    with start(cell.spec()) as server:
        done = subprocess.run(
            [
                *client(), "--protocol=tcp", f"--user={server.user}", f"--host={server.host}",
                f"--port={server.port}", "--batch",
            ],
            input=text, capture_output=True, text=True, check=False,
            env=os.environ | {"MYSQL_PWD": server.password},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        rows = server.query("SELECT item, n FROM shop.stock ORDER BY item")
    table = mf.read(made.folders[0]).mark("closed").tables["shop.stock"]
    assert rows == list(table.rows) == [("chair", 1), ("lamp", 1), ("unchecked", 0)]
