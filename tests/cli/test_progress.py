"""The bar that long reading draws on a terminal: it ends however the command ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binlogkit.cli.progress import _Meter

Run = Callable[..., Any]

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make these streams terminals, on which a bar is drawn at once."""
    monkeypatch.setattr("binlogkit.cli.progress.PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")

    def make(*streams: str) -> None:
        for name in streams:
            monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True)

    return make


@pytest.fixture
def damaged(log: Path, tmp_path: Path) -> Path:
    """A log with a byte changed in its middle."""
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / "binlog.000001"
    path.write_bytes(data)
    return path


def test_a_bar_is_drawn_and_taken_away(run: Run, terminal: Any, log: Path) -> None:
    terminal("stderr")
    done = run("audit", log)
    assert done.status == 0
    assert done.err.count(HIDE) == done.err.count(SHOW) == 1


@pytest.mark.parametrize("more", [[], ["--on-damage", "report"]], ids=str)
def test_damage_ends_it_before_its_words(
    run: Run, terminal: Any, damaged: Path, more: list[str]
) -> None:
    terminal("stderr")
    done = run("audit", damaged, *more)
    assert done.status == 1
    assert done.err.count(HIDE) == done.err.count(SHOW) == 1
    drawn, words = done.err.rsplit(SHOW, 1)
    assert "reading" in drawn and "reading" not in words
    assert f"binlogkit: {damaged} " in words  # in one line, however narrow the terminal is
    assert "\n" not in words.split("binlogkit: ")[1].rstrip("\n")


@pytest.mark.oracle
def test_it_follows_the_judge(
    run: Run, terminal: Any, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither tables nor rows, which are read ahead, nor the log's bytes count."""
    reached: list[int] = []
    note = _Meter.reached

    def noted(meter: _Meter, number: int, offset: int) -> None:
        reached.append(offset)
        note(meter, number, offset)

    monkeypatch.setattr(_Meter, "reached", noted)
    terminal("stderr")
    done = run("conform", log)
    assert done.status == 0
    assert done.err.count(HIDE) == done.err.count(SHOW) == 1
    assert reached == sorted(reached) and reached[-1] == log.stat().st_size


def test_an_interruption_ends_it(
    run: Run, terminal: Any, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    terminal("stderr")
    monkeypatch.setattr("binlogkit.frames.events.Events.feed", interrupted)
    done = run("events", log)
    assert done.status == 130
    assert done.err.count(HIDE) == done.err.count(SHOW) == 1


def test_records_on_the_same_terminal_end_it(run: Run, terminal: Any, log: Path) -> None:
    terminal("stderr", "stdout")
    done = run("rows", log, "--format", "jsonl")
    assert done.status == 0 and done.lines
    assert "reading" not in done.err.split(SHOW)[-1]
    assert done.err.count(HIDE) == done.err.count(SHOW) <= 1
