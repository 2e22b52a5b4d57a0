"""Inputs that cannot be read: each is named, after what could be read was delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.cli import run

LOG = Path(__file__).parents[1] / "_data" / "8.0-row-full" / "keys" / "binlog.000001"


def test_each_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "prose").write_text("no log at all")
    (tmp_path / "empty").touch()
    files = [str(tmp_path / "missing"), str(LOG), str(tmp_path / "prose"), str(tmp_path / "empty")]
    assert run(["events", *files, "--format", "jsonl"]) == 2
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == len(list(bk.open(LOG).event_records()))
    lines = said.err.splitlines()
    assert len(lines) == 3
    assert lines[0] == f"binlogkit: {files[0]}: no such file"
    assert lines[1].startswith(f"binlogkit: {files[2]}: not a binary log")
    assert lines[2].startswith(f"binlogkit: {files[3]}: the file is empty")


def test_when_none_can_be_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["events", f"{tmp_path}/a*", f"{tmp_path}/b*"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"binlogkit: {tmp_path}/{n}*: no file matches" for n in "ab"]


def test_in_python(tmp_path: Path) -> None:
    log = bk.open([str(tmp_path / "a"), str(LOG), str(tmp_path / "b")])
    with pytest.raises(bk.errors.InputError) as caught:
        list(log.event_records())
    assert [e.file for e in (caught.value, *caught.value.others)] == [
        str(tmp_path / "a"),
        str(tmp_path / "b"),
    ]
    assert str(caught.value) == f"{tmp_path}/a: no such file; {tmp_path}/b: no such file"
