"""Mistaken command lines: one clear line, the right status, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONG

Run = Callable[..., Any]

FULL = Path("/dev/full")
has_full = pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["rows"], "Missing argument 'FILE...'. (see binlogkit rows --help)"),
        (["nonsense"], "there is no command 'nonsense' (see binlogkit --help)"),
        (["row", "F"], "there is no command 'row'; did you mean rows?"),
        (
            [os.devnull],
            f"there is no command '{os.devnull}'; did you mean binlogkit audit {os.devnull}?",
        ),
        (["events", "x", "--format", "xml"], "'xml' is not one of 'table'"),
        (["events", "x", "--stop-position", "-1"], "-1 is not in the range x>=0"),
        (["events", "x", "--thread", "-1"], "-1 is not in the range x>=0"),
        (["events", ""], "no log is named"),
        (["audit", "x", "--columns", "db"], "--columns and --limit are for records: name a"),
        (["audit", "x", "--limit", "3"], "--columns and --limit are for records: name a"),
        (["events", os.devnull], "the file is empty"),
        (["verify", os.devnull], "the file is empty"),
    ],
)
def test_one_line_says_what_is_wrong(run: Run, words: list[str], complaint: str) -> None:
    done = run(*words)
    assert (done.status, done.out) == (2, b"")
    assert complaint in done.complaint


def process(program: str, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *map(str, words)], stderr=subprocess.PIPE, text=True, timeout=LONG,
        check=False, **options,
    )  # fmt: skip


@has_full
@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["events"], ["rows", "--format", "jsonl"], ["rows", "--format", "parquet"], ["verify"],
     ["explain"], ["undo"], ["transactions", "--format", "csv"]],
    ids=" ".join,
)  # fmt: skip
def test_a_full_disk_is_told(program: str, small: Path, words: list[str]) -> None:
    name, *rest = words
    with FULL.open("wb") as full:
        done = process(program, name, small, *rest, stdout=full)
    assert done.returncode == 2
    told = "binlogkit: standard output cannot be written: No space left on device\n"
    assert done.stderr.endswith(told) and "Traceback" not in done.stderr


@has_full
def test_a_full_disk_behind_a_name_is_told(run: Run, small: Path) -> None:
    done = run("audit", small, "--html", FULL)
    assert done.status == 2
    assert done.complaint == f"binlogkit: {FULL} cannot be written: No space left on device"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="closes descriptors as a POSIX shell does")
def test_closed_streams(program: str, small: Path) -> None:
    """``>&-`` and ``2>&-``."""
    done = process(program, "events", small, preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "standard output is closed" in done.stderr
    for words, status in ((["events", "nofile"], 2), (["events", small], 0)):
        silent = subprocess.run(
            [program, *map(str, words)], stdout=subprocess.PIPE, timeout=LONG, check=False,
            preexec_fn=lambda: os.close(2),
        )  # fmt: skip
        assert silent.returncode == status
        assert b"binlogkit" not in silent.stdout


def test_html_on_standard_output_is_not_a_name(run: Run, small: Path) -> None:
    for words in (["explain", small, "--at", "4", "--html", "-"], ["audit", small, "--html", "-"]):
        done = run(*words)
        assert done.out.startswith(b"<!DOCTYPE html>")
        assert done.err == ""


@pytest.mark.parametrize("command", ["events", "rows"])
def test_tables_of_several_logs_name_them(run: Run, small: Path, command: str) -> None:
    header, first, *_ = run(command, small, small).out.decode().splitlines()
    assert header.split()[0] == "file" and first.startswith(str(small))
    assert run(command, small).out.decode().split()[0] == "pos"
