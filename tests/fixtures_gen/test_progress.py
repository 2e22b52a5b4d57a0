"""Nothing is drawn before two seconds, nor where nobody looks."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from binlogkit_fixtures import progress as module


def _console(terminal: bool) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=terminal, width=80), out


def test_quick_work_draws_nothing() -> None:
    console, out = _console(terminal=True)
    with module.progress_bar(2, console) as progress:
        progress("one")
        progress("two")
    assert out.getvalue() == ""


def test_long_work_draws_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    console, out = _console(terminal=True)
    with module.progress_bar(2, console) as progress:
        progress("5.7-row-full/keys")
    assert "5.7-row-full/keys" in out.getvalue()
    assert "1/2" in out.getvalue()


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    console, out = _console(terminal=False)
    with module.progress_bar(1, console) as progress:
        progress("one")
    assert out.getvalue().strip() == ""
