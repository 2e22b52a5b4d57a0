"""The command ``binlogkit fixtures`` as it is typed: records, status, complaints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from binlogkit.cli import run
from binlogkit_fixtures import golden
from binlogkit_fixtures.writer.rare import RARE


def test_the_command_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fixtures", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("generate", "verify", "list", "write"))


def test_list_as_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fixtures", "list", "--scenario", "json", "--format", "jsonl"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["cell"] for r in records] == [c.cell for c in golden.cases(scenario="json")]
    partial = next(r for r in records if r["cell"] == "8.0-row-partial-json")
    assert partial["settings"] == "binlog-row-value-options=PARTIAL_JSON"
    assert partial["server_version"] == "8.0.31"
    assert Path(partial["path"]).is_dir()
    assert partial["marks"][0] == "inserted"


def test_list_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fixtures", "list", "--version", "5.7", "--scenario", "incident"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["cell", "scenario"]
    assert [line.split()[0] for line in lines[1:]] == [
        c.cell for c in golden.cases(version="5.7", scenario="incident")
    ]


def test_verify_is_quiet_about_what_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    path = golden.case("5.7-row-no-checksum", "keys").path
    assert run(["fixtures", "verify", str(path), "--format", "jsonl"]) == 0
    assert capsys.readouterr() == ("", "")


def test_verify_tells_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = golden.case("5.7-row-no-checksum", "keys")
    folder = shutil.copytree(case.path, tmp_path / "keys")
    with (folder / "binlog.000001").open("ab") as log:
        log.write(b"x")
    assert run(["fixtures", "verify", str(tmp_path), "--format", "jsonl"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "folder": str(folder),
        "file": "binlog.000001",
        "problem": "21318 bytes instead of 21317",
    }


def test_write_names_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fixtures", "write", "--out", str(tmp_path / "rare"), "--format", "jsonl"]
    assert run([*words, "4.1-v3", "3.23-v1"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["name"] for record in records] == ["4.1-v3", "3.23-v1"]
    assert all(Path(r["path"]).read_bytes() == RARE[r["name"]].data for r in records)
    assert run([*words, "3.23-v1"]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["verify", "missing"], "not a folder"),
        (["verify"], "Missing argument"),
        (["generate"], "Missing option '--out'"),
        (["generate", "--out", "x", "--cell", "nowhere"], "there is no cell 'nowhere'"),
        (["generate", "--out", "x", "--version", "3.23"], "Invalid value for '--version'"),
        (["generate", "--out", "x", "--scenario", "none"], "Invalid value for '--scenario'"),
        (["write"], "Missing option '--out'"),
        (["write", "--out", "x", "3.23-v1", "2.0"], "there is no rare log '2.0'"),
        (["regenerate-golden", "--cell", "nowhere"], "there is no cell 'nowhere'"),
    ],
)
def test_wrong_use_has_status_two(
    words: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["fixtures", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.server
def test_generate_prints_the_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--cell", "5.7-row-minimal", "--scenario", "shutdown", "--scenario", "json"]
    out = ["--out", str(tmp_path / "out"), "--no-mysqlbinlog"]
    assert run(["fixtures", "generate", *words, *out]) == 0
    folders = [Path(line) for line in capsys.readouterr().out.splitlines()]
    cell = tmp_path / "out" / "5.7-row-minimal"
    assert folders == [cell / "json", cell / "shutdown"]
    assert run(["fixtures", "verify", str(tmp_path), "--format", "jsonl"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["fixtures", "generate", *words, *out]) == 2
    assert "is not empty" in capsys.readouterr().err
