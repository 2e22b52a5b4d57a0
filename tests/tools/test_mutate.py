"""A sample of the faults that ``make mutate`` makes, and that every test run must notice."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tools.mutants import swap
from tools.mutants.faults import Fault, statement
from tools.mutants.record import Trial, figures

ROOT = Path(__file__).parents[2]
#: Of the rooms that judge and of those that read, with quick tests beside them.
MODULES = (
    "analyses/audit/limits.py", "analyses/audit/rhythm.py", "analyses/row_image.py",
    "rows/filters.py", "rows/where.py", "sources/keyring.py", "sources/option_file.py",
)  # fmt: skip


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.mutate", "--beside", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("cosmic_ray") is None, reason="cosmic-ray is not installed")
def test_a_sample_of_faults_is_noticed(tmp_path: Path) -> None:
    record = str(tmp_path / "record.json")
    options = ("--sample", "2", "--seed", "1", "--allow", "0", "--record", record)
    done = run("--modules", *MODULES, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "14 of 14 faults, 0 open"


def test_a_fault_is_put_where_its_lines_are_now() -> None:
    fault = Fault("binlogkit/rows/where.py", 2, "AddNot", ("    if a:",), ("    if not a:",))
    assert fault.put("x\ny\nz\n    if a:\n") == "x\ny\nz\n    if not a:\n"
    assert (
        fault.put("    if a:\nx\ny\nz\nz\n    if a:\n") == "    if not a:\nx\ny\nz\nz\n    if a:\n"
    )
    assert fault.put("    if b:\n") is None


def test_the_lines_of_a_statement() -> None:
    source = (
        "def f(\n    a,\n):\n    if (\n        a\n    ):\n        b(\n            a\n        )\n"
    )
    assert [statement(source, line) for line in (2, 5, 8)] == [
        range(1, 4),
        range(4, 7),
        range(7, 10),
    ]


def test_a_function_that_is_loaded_gets_a_faults_code(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    source = "TWO = 2\ndef f(x):\n    return [y + 1 for y in x]\n"
    place: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), place)
    kept = place["f"]
    bodies = swap.changed(str(path), source, source.replace("+ 1", "- 1"))
    assert bodies is not None and swap.put(str(path), bodies)
    assert kept([5]) == [4]
    assert swap.changed(str(path), source, source.replace("= 2", "= 3")) is None


def test_what_became_of_a_fault() -> None:
    fault = Fault("binlogkit/rows/a.py", 7, "AddNot", ("  if a:",), ("  if not a:",))
    known = [{"module": "rows/a.py", "was": "if a:", "why": "it is so"}]
    states = [Trial(fault), Trial(fault, "t", "t"), Trial(fault, "", "t"), Trial(fault, "", "")]
    assert [trial.state([]) for trial in states] == ["", "noticed", "closed", "open"]
    assert states[-1].state(known) == "explained"
    assert figures(states).splitlines()[-1].split() == ["all", "3", "1", "1", "0", "1"]


def test_each_survivor_is_a_line_that_is_there() -> None:
    listed = tomllib.loads((ROOT / "tools" / "survivors.toml").read_text("utf-8"))["survivor"]
    for one in listed:
        source = (ROOT / "toolkit" / "binlogkit" / one["module"]).read_text("utf-8")
        assert one["was"] in map(str.strip, source.splitlines()), one["was"]
        assert one["why"] and one.get("becomes") != one["was"]
