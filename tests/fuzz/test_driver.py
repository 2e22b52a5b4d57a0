"""``tools/fuzz.py`` runs a target under atheris, and tells what it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "tools" / "fuzz.py"

needs_atheris = pytest.mark.skipif(
    sys.platform != "linux" or find_spec("atheris") is None, reason="atheris is for Linux"
)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.slow
@needs_atheris
def test_a_target_runs(tmp_path: Path) -> None:
    done = run("metadata", "--runs", "3000", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["target"] == "metadata" and result["inputs"] == 3000
    assert result["edges"] > 20
    assert list((tmp_path / "metadata" / "corpus").iterdir())


@pytest.mark.slow
@needs_atheris
def test_a_broken_promise_is_kept_and_told(tmp_path: Path) -> None:
    """With a parser that raises what nothing documents."""
    (tmp_path / "sitecustomize.py").write_text(
        "import binlogkit._kernel.metadata as m\n"
        "def broken(*_):\n    raise KeyError('planted')\n"
        "m.resolve = broken\n",
        encoding="utf-8",
    )
    done = run("metadata", "--runs", "3000", "--out", str(tmp_path), PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert json.loads(done.stdout)["status"] != 0
    assert "planted" in done.stderr
    assert list((tmp_path / "metadata").glob("crash-*"))


@pytest.mark.slow
@needs_atheris
def test_an_input_that_takes_too_long_is_told(tmp_path: Path) -> None:
    """By the CPU time that it takes: a busy machine is no hang."""
    (tmp_path / "sitecustomize.py").write_text(
        "import time\n"
        "import binlogkit._kernel.metadata as m\n"
        "def slow(*_):\n"
        "    end = time.process_time() + 1.2\n"
        "    while time.process_time() < end:\n"
        "        pass\n"
        "m.resolve = slow\n",
        encoding="utf-8",
    )
    arguments = ("metadata", "--runs", "3000", "--timeout", "1", "--out", str(tmp_path))
    done = run(*arguments, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "TimeoutError: the input took " in done.stderr
    assert list((tmp_path / "metadata").glob("crash-*"))


@pytest.mark.slow
def test_targets_are_listed() -> None:
    done = run("--list")
    assert done.returncode == 0 and "query" in done.stdout.split()
    assert run("nothing").returncode == 2
