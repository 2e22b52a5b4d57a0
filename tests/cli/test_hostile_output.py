"""What strangers typed into a log reaches neither the terminal nor a spreadsheet as it is."""

from __future__ import annotations

import csv
import io
import os
import pty
import re
import select
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONG

Run = Callable[..., Any]

ESCAPE = b"\x1b[31m"  # colours what follows
BIDI = "\u202e12".encode()  # turns the rest of the line around
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ANSI = re.compile("\x1b\\[[0-9;]*m")
#: Colours, the cursor hidden and shown, one line up, a line erased: what rich's live display sends.
OUR_BAR = re.compile("\x1b\\[(?:[0-9;]*m|\\?25[lh]|1A|2K)|\r")


@pytest.fixture(scope="module")
def hostile(
    golden_log: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory, resealed: Any
) -> Path:
    """A log with sequences for terminals in names, values and statements."""
    original = golden_log("8.0-row-full-metadata/keys").read_bytes()
    changed = original
    for old, new in (
        (b"keyed", ESCAPE),
        (b"tenant", b"t\x1b[2Jx"),
        (b"three", BIDI),
        (b"first", b"=1+1 "),
        (b"longer now", b"\x07\r\nx\x00\x9by\x7f\xc2\x85"),
    ):
        assert len(old) == len(new) and old in changed
        changed = changed.replace(old, new)
    path = tmp_path_factory.mktemp("hostile") / "binlog.000001"
    path.write_bytes(resealed(original, changed))
    return path


COMMANDS = [
    ["events"],
    ["rows"],
    ["transactions"],
    ["audit"],
    ["audit", "--section", "by_table"],
    ["state", "--table", "`\x1b[31m`.`pk`"],
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("form", ["table", "jsonl"])
def test_no_control_character_is_printed(
    run: Run, hostile: Path, command: list[str], form: str
) -> None:
    name, *rest = command
    done = run(name, hostile, *rest, "--format", form)
    text = done.out.decode("utf-8")
    assert text
    assert not UNSAFE.search(text.replace("\n", ""))
    assert not UNSAFE.search(done.err.replace("\n", ""))
    if form == "jsonl":
        assert len(done.records) == text.count("\n")


def test_json_lines_keep_every_character(run: Run, hostile: Path) -> None:
    records = run("rows", hostile, "--format", "jsonl").records
    values = [v for r in records for v in (r["after"] or {}).values() if isinstance(v, str)]
    assert {r["db"] for r in records} == {ESCAPE.decode()}
    assert any(value.startswith("\u202e") for value in values)
    assert any("t\x1b[2Jx" in (r["after"] or {}) for r in records)


def test_undo_has_no_control_characters(run: Run, hostile: Path) -> None:
    done = run("undo", hostile, "--table", "pk")
    assert done.out
    assert not UNSAFE.search(done.out.decode("utf-8").replace("\n", ""))


@pytest.mark.parametrize(("raw", "cell"), [(False, "'=1+1 "), (True, "=1+1 ")])
def test_formulas(
    run: Run,
    golden_log: Callable[[str], Path],
    tmp_path: Path,
    resealed: Any,
    raw: bool,
    cell: str,
) -> None:
    """A database whose name a spreadsheet would take for a formula."""
    original = golden_log("8.0-row-full-metadata/keys").read_bytes()
    path = tmp_path / "formula"
    path.write_bytes(resealed(original, original.replace(b"keyed", b"=1+1 ")))
    options = ["--csv-raw"] if raw else []
    for command in ("rows", "audit"):
        more = ["--section", "by_table"] if command == "audit" else []
        done = run(command, path, "--format", "csv", "--columns", "db", *more, *options)
        header, *cells = csv.reader(io.StringIO(done.out.decode("utf-8"), newline=""))
        assert header == ["db"]
        assert cells and all(row == [cell] for row in cells)


def test_errors_name_files_safely(run: Run, tmp_path: Path) -> None:
    name = tmp_path / "a\x1b[31m\u202eb\nc"
    done = run("events", name)
    assert done.status == 2
    assert not UNSAFE.search(done.complaint)
    name.write_bytes(b"text")
    done = run("events", name)
    assert done.status == 2
    assert not UNSAFE.search(done.complaint)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["rows"], ["events"], ["audit"]], ids=" ".join)
def test_a_real_terminal_gets_only_our_own_colours(
    program: str, hostile: Path, command: list[str]
) -> None:
    """Each stream has its own terminal: a progress bar may move the cursor of one of them."""
    name, *rest = command
    leaders, followers = zip(pty.openpty(), pty.openpty(), strict=True)
    try:
        process = subprocess.Popen(
            [program, name, str(hostile), *rest],
            stdin=subprocess.DEVNULL,
            stdout=followers[0],
            stderr=followers[1],
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
        )
        for follower in followers:
            os.close(follower)
        out, err = _everything(leaders)
        assert process.wait(LONG) in (0, 1)
    finally:
        for leader in leaders:
            os.close(leader)
    assert ESCAPE not in out + err
    shown = ANSI.sub("", out.decode("utf-8")).replace("\r\n", "")
    assert len(shown) > 1000
    assert not UNSAFE.search(shown)
    assert not UNSAFE.search(OUR_BAR.sub("", err.decode("utf-8")).replace("\r\n", ""))


def _everything(leaders: Iterable[int]) -> list[bytes]:
    """What each terminal was sent until its other side closed."""
    texts = dict.fromkeys(leaders, b"")
    live = set(texts)
    while live:
        for leader in select.select(sorted(live), [], [])[0]:
            try:
                chunk = os.read(leader, 1 << 16)
            except OSError:  # Linux: the other side is closed
                chunk = b""
            texts[leader] += chunk
            if not chunk:
                live.remove(leader)
    return list(texts.values())


def test_the_html_report_runs_nothing(
    run: Run, golden_log: Callable[[str], Path], tmp_path: Path, resealed: Any
) -> None:
    """A database called <img>, and statements that close their cell."""
    original = golden_log("8.0-row-full-metadata/keys").read_bytes()
    changed = original.replace(b"keyed", b"<img>").replace(b"CREATE TABLE", b"</td></tr>\"'")
    path, report = tmp_path / "log", tmp_path / "report.html"
    path.write_bytes(resealed(original, changed))
    done = run("audit", path, "--html", report)
    assert done.status in (0, 1)
    text = report.read_text("utf-8")
    assert "&lt;img&gt;" in text and "<img>" not in text
    assert "</td></tr>\"'" not in text


def test_names_cannot_end_their_quotes_in_sql(
    run: Run, golden_log: Callable[[str], Path], tmp_path: Path, resealed: Any
) -> None:
    """A database called `a`;-- and a value that would end its literal."""
    original = golden_log("8.0-row-full-metadata/keys").read_bytes()
    changed = original.replace(b"keyed", b"a`;--").replace(b"three", b"x'; #")
    path = tmp_path / "log"
    path.write_bytes(resealed(original, changed))
    done = run("undo", path, "--table", "pk", "--op", "update")
    text = done.out.decode("utf-8")
    assert "`a``;--`.`pk`" in text
    assert "a`;--`" not in text.replace("a``;--`", "")
    assert "X'78273B202321'" in text and "'x'; #" not in text
