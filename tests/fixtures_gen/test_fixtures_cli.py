"""The command ``binlogkit fixtures`` as it is typed: records, status, complaints."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from binlogkit.cli import run
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
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
    assert all(Path(log).is_file() for log in partial["logs"])
    assert {Path(log).parent for log in partial["logs"]} == {Path(partial["path"])}
    assert partial["marks"][0] == "inserted"


def test_list_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fixtures", "list", "--version", "5.7", "--scenario", "incident"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["cell", "scenario"]
    assert [line.split()[0] for line in lines[1:]] == [
        c.cell for c in golden.cases(version="5.7", scenario="incident")
    ]
    assert all(Path(line.split()[-1]).is_file() for line in lines[1:])


def test_list_on_a_terminal_has_paths_to_copy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binlogkit.reports.output.is_terminal", lambda path: True)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["fixtures", "list", "--version", "8.0", "--scenario", "transactions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cases = golden.cases(version="8.0", scenario="transactions")
    assert len(lines) == 2 * len(cases)
    for case, heading, line in zip(cases, lines[::2], lines[1::2], strict=True):
        assert heading.startswith(f"{case.cell}/transactions (8.0.31, ")
        assert shlex.split(line) == [str(log) for log in case.binlogs]


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


def test_cells_of_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fixtures", "cells", "--example"]) == 0
    path = tmp_path / "matrix.toml"
    path.write_text(capsys.readouterr().out, "utf-8")
    assert run(["fixtures", "cells", str(path), "--format", "jsonl"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {record["server"] for record in records} == {"5.6", "5.7", "8.0", "9"}
    assert {record["format"] for record in records} == {"ROW", "MIXED", "STATEMENT"}
    assert len({record["cell"] for record in records}) == len(records) < 40


def test_a_set_compared_with_itself_and_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (golden.case("5.7-row-no-checksum", "keys").path.parent for _ in range(2))
    words = ["fixtures", "diff", "--format", "jsonl"]
    assert run([*words, str(first), str(second)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "case": "keys", "result": "same", "kind": None, "count": None, "first": None,
        "reason": None,
    }  # fmt: skip
    copy = shutil.copytree(first, tmp_path / "copy")
    log = copy / "keys" / "binlog.000001"
    data = bytearray(log.read_bytes())
    data[-60] ^= 1  # without checksums nothing but the fields can show it
    log.write_bytes(data)
    shutil.copytree(first / "keys", copy / "more")
    assert run([*words, "--each", str(first), str(copy)]) == 1
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {record["result"] for record in records} == {"different", "only in B"}
    assert {record["kind"] for record in records} == {"unexplained", None}


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
        (["generate", "--out", "x", "--scenario", "none.sql"], "none.sql: unreadable"),
        (["generate", "--out", "x", "--matrix", "none.toml"], "none.toml: unreadable"),
        (["generate", "--out", "x", "--matrix", "m", "--image", "full"], "is narrowed in the file"),
        (["cells"], "a matrix file is wanted"),
        (["cells", "none.toml"], "none.toml: unreadable"),
        (["diff", "a", "b"], "not a folder"),
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
@pytest.mark.gate
def test_generate_prints_the_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--cell", "5.7-row-minimal", "--scenario", "shutdown", "--scenario", "json"]
    out = ["--out", str(tmp_path / "out"), "--no-mysqlbinlog", "--mark-each"]
    assert run(["fixtures", "generate", *words, *out]) == 0
    folders = [Path(line) for line in capsys.readouterr().out.splitlines()]
    cell = tmp_path / "out" / "5.7-row-minimal"
    assert folders == [cell / "shutdown", cell / "json"]
    assert run(["fixtures", "verify", str(tmp_path), "--format", "jsonl"]) == 0
    assert capsys.readouterr().out == ""
    few = golden.case(cell.name, "json").manifest.marks
    assert len(mf.read(cell / "json").marks) > 3 * len(few)
    assert run(["fixtures", "generate", *words, *out]) == 2
    assert "a run was begun in" in capsys.readouterr().err
