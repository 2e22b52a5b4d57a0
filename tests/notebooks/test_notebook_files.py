"""What is committed: notebooks without outputs or traces of a machine, and a how-to that runs."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import nbformat
import pytest

from binlogkit_fixtures import golden

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
HOW_TO = ROOT / "docs" / "investigating.md"
_nbformat: Any = nbformat  # its functions have no types
#: An absolute path of Unix or Windows, or a home directory. A bare `/path/to` is an example.
MACHINE = re.compile(r"(?<![\w.:/])/(?:work|home|root|tmp|usr|var|mnt|Users)/|[A-Za-z]:\\\\|~/")


@pytest.fixture(params=NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def notebook(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_there_is_a_notebook() -> None:
    names = ["cache", "damaged", "dropped", "incident", "judging", "platform"]
    assert [path.stem for path in NOTEBOOKS] == names


def test_it_is_committed_as_written_not_as_run(notebook: Path) -> None:
    content = json.loads(notebook.read_text("utf-8"))
    _nbformat.validate(content)
    assert content["nbformat"] == 4
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    assert set(content["metadata"]) == {"kernelspec", "language_info"}
    for cell in content["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


def test_it_names_no_machine(notebook: Path) -> None:
    text = notebook.read_text("utf-8")
    assert MACHINE.search(text) is None
    assert MACHINE.search('"open(/home/me/binlog)"')


def test_its_prose_states_no_numbers(notebook: Path) -> None:
    """Numbers are computed by cells; prose has versions (three parts) and code only."""
    for cell in _nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"`[^`]*`|\d+\.\d+\.\d+", "", cell.source)
            assert not re.search(r"\d", prose), cell.source


def test_the_how_to_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Python blocks, one after another, on the incident's log, beside the golden ones."""
    case = golden.case("8.0-row-full", "incident")
    for log in case.binlogs:
        shutil.copy(log, tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "_data").symlink_to(golden.case("8.0-row-full", "keys").path.parents[1])
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", HOW_TO.read_text("utf-8"), re.DOTALL)
    assert len(blocks) > 5
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for number, block in enumerate(blocks, 1):
            exec(compile(block, f"{HOW_TO.name}, block {number}", "exec"), names)  # our own text
    marks = {name: case.manifest.mark(name) for name in ("before", "after", "end")}
    tables = {name: mark.tables["shop.orders"].records() for name, mark in marks.items()}
    totals = {name: sum(Decimal(str(r["total"])) for r in rows) for name, rows in tables.items()}
    assert names["bad"]["pos"] == marks["before"].pos
    assert names["lost"] == totals["before"] - totals["after"]
    assert [r["values"] for r in names["before"].records()] == tables["before"]
    assert [r["values"] for r in names["now"].records()] == tables["end"]
    assert "keeps later values: " in names["script"]
    assert names["script"].count("\nUPDATE ") == len(names["hit"])
    assert "sha256" in printed.getvalue()
