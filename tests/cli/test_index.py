"""``binlogkit index``: what it says, and its exit status."""

from __future__ import annotations

import shutil
from pathlib import Path

from click.testing import CliRunner

from binlogkit.cli import cli
from binlogkit_fixtures import golden

CASE = golden.case("8.0-row-full", "transactions")


def test_it_says_what_it_knew_and_read(tmp_path: Path) -> None:
    for path in CASE.binlogs:
        shutil.copy(path, tmp_path)
    command = ["index", str(tmp_path / "binlog.0*"), "--out", str(tmp_path / "index")]
    first, second = (CliRunner().invoke(cli, command, standalone_mode=False) for _ in range(2))
    assert (first.return_value, second.return_value) == (0, 0)
    assert "0 logs known, 2 read" in first.output
    assert "2 logs known, 0 read" in second.output


def test_damage_is_a_finding(tmp_path: Path) -> None:
    path = Path(shutil.copy(CASE.binlogs[0], tmp_path))
    path.write_bytes(path.read_bytes()[:-10])
    command = ["index", str(path), "--out", str(tmp_path / "index")]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    assert result.return_value == 1
    assert f"{path} is damaged at " in result.output
