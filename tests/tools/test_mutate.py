"""A sample of the faults that ``make mutate`` makes, and that every test run must notice."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tools" / "mutate.py"
#: Of the rooms that judge and of those that read, with quick tests beside them.
MODULES = (
    "analyses/audit/limits.py", "analyses/audit/rhythm.py", "analyses/row_image.py",
    "rows/filters.py", "rows/where.py", "sources/keyring.py", "sources/option_file.py",
)  # fmt: skip


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.skipif(find_spec("cosmic_ray") is None, reason="cosmic-ray is not installed")
def test_a_sample_of_faults_is_noticed() -> None:
    done = run("--modules", *MODULES, "--sample", "2", "--seed", "1", "--allow", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("14 faults, 0 not noticed")


def test_each_survivor_is_a_line_that_is_there() -> None:
    listed = tomllib.loads((ROOT / "tools" / "survivors.toml").read_text("utf-8"))["survivor"]
    for one in listed:
        source = (ROOT / "toolkit" / "binlogkit" / one["module"]).read_text("utf-8")
        assert one["was"] in map(str.strip, source.splitlines()), one["was"]
        assert one["why"] and one.get("becomes") != one["was"]
