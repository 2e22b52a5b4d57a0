"""``binlogkit index``: what it says, and its exit status."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from binlogkit_fixtures import golden
from tests.cli.conftest import Ran

CASE = golden.case("8.0-row-full", "transactions")
Run = Callable[..., Ran]


def test_it_says_what_it_knew_and_read(run: Run, tmp_path: Path) -> None:
    for path in CASE.binlogs:
        shutil.copy(path, tmp_path)
    command = ["index", tmp_path / "binlog.0*", "--out", tmp_path / "index"]
    first, second = (run(*command) for _ in range(2))
    assert (first.status, second.status, first.out) == (0, 0, b"")
    assert "0 logs known, 2 read" in first.complaint
    assert "2 logs known, 0 read" in second.complaint


def test_damage_is_a_finding(run: Run, tmp_path: Path) -> None:
    path = Path(shutil.copy(CASE.binlogs[0], tmp_path))
    path.write_bytes(path.read_bytes()[:-10])
    done = run("index", path, "--out", tmp_path / "index")
    assert done.status == 1
    assert f"{path} is damaged at " in done.err


def test_what_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("index", CASE.binlogs[0], "--out", tmp_path / "file" / "index")
    assert done.status == 2 and "cannot be written" in done.complaint


def test_transactions_say_when_their_logs_were_read(run: Run, tmp_path: Path) -> None:
    for path in CASE.binlogs:
        shutil.copy(path, tmp_path)
    logs = sorted(tmp_path.glob("binlog.0*"))
    run("index", *logs, "--out", tmp_path / "index")
    plain = run("transactions", *logs, "--format", "jsonl")
    known = run("transactions", *logs, "--format", "jsonl", "--index", tmp_path / "index")
    assert (known.status, known.out) == (plain.status, plain.out)
    assert "2 logs from the index, last read in full since 20" in known.err
    chosen = ["--where", "id=1", "--index", tmp_path / "index"]
    assert "from the index" not in run("transactions", *logs, *chosen).err
