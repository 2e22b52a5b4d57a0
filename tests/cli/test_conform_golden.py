"""``conform --against golden``: the lines beside a log are the judge; no mysqlbinlog is needed."""

from __future__ import annotations

import json
import lzma
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from binlogkit.cli import run
from binlogkit.schemas import load
from binlogkit_fixtures import golden

CASE = Path(__file__).parents[1] / "_data" / "8.0-row-full" / "crash"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASE, tmp_path / "case"))


def _rows(folder: Path) -> list[dict[str, object]]:
    with lzma.open(folder / "rows.jsonl.xz") as lines:
        return [json.loads(line) for line in lines]


def _decoded(folder: Path, rows: list[dict[str, object]]) -> Path:
    path = folder.parent / "decoded.jsonl"
    kept = [{k: v for k, v in row.items() if k not in ("raw", "integers")} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    return path


def test_all_logs_of_a_case_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = sorted(str(p) for p in folder.glob("binlog.00000?"))
    assert len(logs) == 2
    assert run(["conform", "--against", "golden", *logs, "--format", "jsonl"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "agree: 30 events, 5 rows, 12 cells compared with the expected lines" in said.err


def test_a_wrong_decoder_is_called_by_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of one log only, a value other, a row lost: by JSON lines and by JUnit XML."""
    log = str(folder / "binlog.000001")
    rows = [row for row in _rows(folder) if row["file"] == "binlog.000001"]
    image = rows[0]["after"]
    assert isinstance(image, dict)
    column = next(name for name, value in image.items() if isinstance(value, int))
    image[column] = str(image[column])
    lost = rows.pop()
    junit, html = folder.parent / "junit.xml", folder.parent / "report.html"
    words = ["conform", "--against", "golden", log, "--decoded", str(_decoded(folder, rows)),
             "--as", "binlogkit", "--decoder", "<mine>", "--junit", str(junit),
             "--html", str(html)]  # fmt: skip
    assert run([*words, "--format", "jsonl", "--explained"]) == 1
    said = capsys.readouterr()
    first, second = (json.loads(line) for line in said.out.splitlines())
    assert (first["column"], first["rule"], first["kind"]) == (
        column, "number-as-text", "representation",
    )  # fmt: skip
    assert (second["pos"], second["reason"]) == (lost["pos"], "<mine> lacks this row")
    assert "differ: " in said.err
    suite = ElementTree.parse(junit).getroot()
    assert suite.attrib == {"name": "<mine>", "tests": "3", "failures": "2"}
    failures = {case.get("name"): case.find("failure") for case in suite.iter("testcase")}
    assert failures["representation: number-as-text"] is None
    assert failures["unexplained"] is not None
    assert failures["verdict"] is not None
    page = html.read_text("utf-8")
    assert "<h1>Conformance of &lt;mine&gt;</h1>" in page and "<mine>" not in page
    assert "&lt;mine&gt; lacks this row" in page
    assert "<dt>judge</dt><dd>the expected lines</dd>" in page
    assert page.count('<div class="card bad">') == 2  # the verdict, and what nobody explains
    assert f'<td class="n s">{lost["pos"]}</td>' in page


def _bare(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first log's rows with the keys that suffice."""
    kept = ("pos", "db", "table", "op", "before", "after")
    return [{k: row[k] for k in kept} for row in rows if row["file"] == "binlog.000001"]


def test_the_verdict_comes_first_then_what_nobody_explains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number as text, which is representation, NULL for a value, which is the decoder's fault in
    two rows, and another value: by default one record of each that counts."""
    case = golden.case("8.0-row-full", "keys")
    rows = _bare(case.rows)
    numbers = [
        (row["after"], name)
        for row in rows
        for name, value in (row["after"] or {}).items()
        if isinstance(value, int)
    ]
    for (image, name), other in zip(numbers[:20:5], (str, None, None, -77), strict=True):
        image[name] = other(image[name]) if callable(other) else other
    path = _decoded(tmp_path / "case", rows)
    words = ["conform", "--against", "golden", str(case.binlogs[0]), "--decoded", str(path)]
    assert run([*words, "--format", "jsonl"]) == 1
    said = capsys.readouterr()
    listed = [json.loads(line) for line in said.out.splitlines()]
    assert [(d["kind"], d["rule"]) for d in listed] == [
        ("unexplained", ""),
        ("ours", "value-as-null"),
    ]
    verdict, wrong, more = said.err.splitlines()
    assert "differ: " in verdict and "2 wrong in the decoder, 1 representation, 1 unexpl" in verdict
    assert wrong == "binlogkit: 2 value-as-null: the log has a value, the decoder says NULL"
    assert more.endswith("listed with --explained: 1 number-as-text, 2 value-as-null")
    assert run([*words, "--format", "jsonl", "--explained"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert run([*words, "--decoder", "mine"]) == 1
    head = capsys.readouterr().out.splitlines()[0].split()
    assert head[-4:] == ["mine", "expected", "reason", "proof"]


def test_the_verdict_stands_above_the_list(folder: Path) -> None:
    """Also where both streams are one."""
    path = _decoded(folder, _bare(_rows(folder))[1:])
    done = subprocess.run(
        [sys.executable, "-m", "binlogkit", "conform", "--against", "golden",
         str(folder / "binlog.000001"), "--decoded", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False,
    )  # fmt: skip
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith("binlogkit: differ: ") and second.startswith("file ")
    assert done.returncode == 1


def test_the_form_of_a_row_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conform", "--row-form"]) == 0
    assert json.loads(capsys.readouterr().out) == load("decoded_row")


def test_a_masked_column_is_in_no_difference(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A difference does not name its table: a column of the name, masked in any, is masked."""
    log, html = str(folder / "binlog.000001"), folder.parent / "report.html"
    rows = [row for row in _rows(folder) if row["file"] == "binlog.000001"]
    image = rows[0]["after"]
    assert isinstance(image, dict)
    column, other = list(image)[:2]
    image[column], image[other] = 987654321, "7654321.987"
    words = ["conform", "--against", "golden", log, "--decoded", str(_decoded(folder, rows)),
             "--as", "binlogkit", "--html", str(html)]  # fmt: skip
    run(words)
    page, said = html.read_text("utf-8"), capsys.readouterr()
    assert "987654321" in page and "7654321.987" in page and "987654321" in said.out
    run([*words, "--mask", f"{rows[0]['db']}.{rows[0]['table']}.{column}=drop"])
    page, said = html.read_text("utf-8"), capsys.readouterr()
    assert "987654321" not in page and "7654321.987" in page and said.out == ""
    assert '<td class="c s">masked</td>' in page


def test_expected_lines_from_elsewhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unpacked, as in an archive; none are an error."""
    alone = folder.parent / "alone"
    alone.mkdir()
    log = shutil.copy(folder / "binlog.000001", alone / "binlog.000001")
    assert run(["conform", "--against", "golden", str(log)]) == 2
    assert "no expected lines here" in capsys.readouterr().err
    for name in ("events", "rows"):
        with lzma.open(folder / f"{name}.jsonl.xz") as lines:
            (folder.parent / f"{name}.jsonl").write_bytes(lines.read())
    assert run(["conform", "--against", "golden", "--golden", str(folder.parent), str(log)]) == 0
    (folder.parent / "rows.jsonl").write_text("[]\n")
    assert run(["conform", "--against", "golden", "--golden", str(folder.parent), str(log)]) == 2
    assert "line 1 is no expected record" in capsys.readouterr().err


@pytest.mark.oracle
@pytest.mark.gate
def test_in_three(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both judges, one after the other: each event is compared twice."""
    log = str(folder / "binlog.000001")
    words = ["conform", "--against", "mysqlbinlog", "--against", "golden", log]
    assert run([*words, "--format", "jsonl"]) == 0
    err = capsys.readouterr().err
    assert "mysqlbinlog" in err
    assert "and the expected lines" in err
