"""The guard: a child ends with its caller, and its files go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers.guarded import Guarded
from tests.waiting import LONG, until

_CALLER = """
import sys, time
from pathlib import Path
from binlogkit_fixtures.servers.guarded import Guarded
folder = Path(sys.argv[1])
child = Guarded(["/bin/sleep", "600"], {}, folder / "log", None, folder)
print(child.pid, child._process.pid, flush=True)
time.sleep(600)
"""


def _start(folder: Path, *argv: str) -> Guarded:
    folder.mkdir()
    return Guarded(list(argv), {"PATH": os.defpath}, folder / "log", None, folder)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def _await_end(pid: int) -> None:
    until(lambda: _gone(pid), f"process {pid} ends")


def test_the_exit_status_and_the_log(tmp_path: Path) -> None:
    child = _start(tmp_path / "x", "/bin/sh", "-c", "echo said; exit 3")
    assert child.status(LONG) == 3
    assert child.status() == 3
    assert (tmp_path / "x" / "log").read_text() == "said\n"
    child.end()
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_signals_arrive(tmp_path: Path, how: str) -> None:
    child = _start(tmp_path / "x", "/bin/sleep", "600")
    assert child.status() is None
    getattr(child, how)()
    assert child.status(LONG) == -(signal.SIGKILL if how == "kill" else signal.SIGTERM)
    child.end()


def test_end_kills_what_runs_and_can_keep_the_files(tmp_path: Path) -> None:
    child = _start(tmp_path / "x", "/bin/sleep", "600")
    child.end(keep=True)
    _await_end(child.pid)
    assert (tmp_path / "x" / "log").exists()


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="could not be started"):
        _start(tmp_path / "x", "/no/such/mysqld")
    assert not (tmp_path / "x").exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_child_dies_with_its_caller(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    caller = subprocess.Popen(
        [sys.executable, "-c", _CALLER, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with caller:
        assert caller.stdout is not None
        child, guard = map(int, caller.stdout.readline().split())
        caller.send_signal(number)
        try:
            caller.wait(LONG)
        finally:
            caller.kill()
    _await_end(child)
    _await_end(guard)
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_the_child_dies_with_its_guard(tmp_path: Path) -> None:
    child = _start(tmp_path / "x", "/bin/sleep", "600")
    os.kill(child._process.pid, signal.SIGKILL)
    _await_end(child.pid)
    until(lambda: child.status() is not None, "the guard's end is noticed")
    assert child.status() == -signal.SIGKILL
    child.end()
