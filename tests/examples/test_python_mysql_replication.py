"""The example project, run as its user runs it: a fresh environment, the light install, its tests.

And what it is for: a defect that is new, and one that is mended, end its run with a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "python_mysql_replication"
LIGHT = ROOT / "packaging" / "light" / "pyproject.toml"
HEAVY = {"pandas", "pyarrow", "pyspark", "narwhals", "duckdb", "fsspec", "jinja2"}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "COV"))}
    env |= {"PYTHON": sys.executable, "CFLAGS": "-O1"}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True,
        check=False, timeout=600,
    )  # fmt: skip


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``./ci`` put its environment and its results."""
    folder = tmp_path_factory.mktemp("example")
    done = run("./ci", folder, cwd=EXAMPLE)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, to be changed."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project"))


def outcome(project: Path, out: Path, *chosen: str) -> tuple[int, str]:
    python = out / "venv" / "bin" / "python"
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, cwd=project)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_every_golden_case_and_every_defect_was_tried(out: Path) -> None:
    cases = {c["path"] for c in json.loads((ROOT / "tests/_data/index.json").read_text())["cases"]}
    suite = ElementTree.parse(out / "junit.xml").getroot()[0]
    found = {test.attrib["name"]: test.find("skipped") for test in suite}
    assert {f"test_rows[{case}]" for case in cases} <= set(found)
    expected = [n for n, skipped in found.items() if skipped is not None]
    assert all(name.startswith("test_known_defect[") for name in expected)
    assert len(expected) == 18
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "0")


@pytest.mark.slow
def test_the_light_install_has_neither_pandas_nor_spark(out: Path) -> None:
    python = out / "venv" / "bin" / "python"
    done = run(python, "-m", "pip", "list", "--format", "json", cwd=out)
    installed = {each["name"].lower() for each in json.loads(done.stdout)}
    assert installed >= {"binlogkit-light", "mysql-replication", "pytest"}
    assert not installed & HEAVY
    assert run(python, "-m", "pip", "check", cwd=out).returncode == 0


def change(project: Path, before: str, lines: str) -> None:
    """Put lines into the project's decoder, before the line that begins so."""
    decode = project / "decode.py"
    text = decode.read_text("utf-8")
    assert text.count(before) == 1
    decode.write_text(text.replace(before, lines + before), "utf-8")


@pytest.mark.slow
def test_a_new_defect_is_seen(out: Path, project: Path) -> None:
    """The library as it would be if it read one byte of a number wrong."""
    wrong = "    if given == 9223372036854775807:\n        return given - 256\n"
    change(project, "    if kind == FIELD_TYPE.JSON:", wrong)
    status, said = outcome(project, out, "-k", "test_rows and 5.7-row-full/types")
    assert status == 1
    assert "python-mysql-replication with 5.7-row-full/types" in said
    assert "golden  9223372036854775807" in said
    assert "bytes   after: 0xFFFFFFFFFFFFFF7F" in said
    assert "bigint: little-endian" in said


@pytest.mark.slow
def test_an_error_that_is_not_known_is_seen(out: Path, project: Path) -> None:
    """In the midst of the rows, and behind the last of them, where no row is lacking."""
    wrong = "        if pos > 20000:\n            raise KeyError(pos)\n"
    change(project, "        for number", wrong)
    status, said = outcome(project, out, "-k", "test_rows and 8.0-row-full/incident")
    assert status == 1
    assert "python-mysql-replication lacks these rows" in said
    change(project, "\n\ndef image(", '    raise RuntimeError("behind the last row")\n')
    status, said = outcome(project, out, "-k", "test_rows and 5.7-row-full/shutdown")
    assert status == 1
    assert "RuntimeError: behind the last row" in said


@pytest.mark.slow
def test_a_mended_defect_is_seen(out: Path, project: Path) -> None:
    """The library as it would be if it knew the year 0000."""
    mended = "    if kind == FIELD_TYPE.YEAR and given == 1900:\n        return 0\n"
    change(project, "    if kind == FIELD_TYPE.JSON:", mended)
    status, said = outcome(project, out, "-k", "test_known_defect and year")
    assert status == 1
    assert "[XPASS(strict)] the year 0000 is 1900" in said


def test_the_light_distribution_is_the_whole_with_fewer_requirements() -> None:
    """The same sources, versions, data and entry points, but for the command."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    light = tomllib.loads(LIGHT.read_text("utf-8"))
    assert light["build-system"] == whole["build-system"]
    assert light["tool"]["setuptools"] == whole["tool"]["setuptools"]
    needed = {Requirement(each).name for each in light["project"]["dependencies"]}
    assert needed - {"pytest"} < {Requirement(r).name for r in whole["project"]["dependencies"]}
    assert set(light["project"]["dependencies"]) <= {
        *whole["project"]["dependencies"], *whole["dependency-groups"]["dev"]
    }  # fmt: skip
    assert not needed & HEAVY
    for key in ("version", "requires-python", "license"):
        assert light["project"][key] == whole["project"][key]
    points = dict(whole["project"]["entry-points"])
    del points["binlogkit.commands"]
    assert light["project"]["entry-points"] == points
    for link in LIGHT.parent.iterdir():
        if link.is_symlink():
            assert link.resolve() == ROOT / link.name
