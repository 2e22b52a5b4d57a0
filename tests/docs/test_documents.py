"""README.md and docs/*.md: every command and snippet in them runs, and what is generated is fresh.

A fence names a language and what the block needs: ``python``, ``sh`` and ``console`` alone run
anywhere; ``server``, ``oracle``, ``spark``, ``store`` (moto's server, a mock of S3) and ``pytest``
behind it say what it needs. Lines that set this project up are not run here: the tests themselves
run in what they make.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import click
import pytest

from binlogkit.analyses.conformance.result import Verdict
from binlogkit.analyses.conformance.rule import Kind
from binlogkit.analyses.undoing.blocked import MODES
from binlogkit.cli import cli
from binlogkit.frames.schema import CellState
from binlogkit.rows.soundness.finding import Grade
from binlogkit.rows.transactions import Outcome
from binlogkit.schemas import NAMES, load
from tests.sources.stores.gate import Gate
from tests.spark.landing.buckets import bucket

ROOT = Path(__file__).resolve().parents[2]
NEEDS = {"", "server", "oracle", "spark", "store", "pytest"}
LANGUAGES = {"python", "sh", "console", "sql", "json", "text"}
#: Blocks that take a minute: no part of the gate.
LONG = {
    "fixtures.md-server", "landing.md", "landing.md-store", "conformance.md",
    "first-incident.md-server", "cookbook.md", "cookbook.md-console", "cookbook.md-server",
}  # fmt: skip
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
F = TypeVar("F", bound=Callable[..., None])
SETUP = re.compile(r"^(make|pip install|jupyter|sudo|docker|export) .*\n", re.M)


def document_id(path: Path) -> str:
    return path.name


def marks(name: str, needs: str) -> list[Any]:
    needed = [getattr(pytest.mark, needs)] if needs in ("server", "oracle", "spark") else []
    return needed if name in LONG else [*needed, pytest.mark.gate]


def parameters(tool: ModuleType, languages: set[str], needs: set[str]) -> list[Any]:
    """A parameter for each document and need: the blocks in order."""
    found = []
    for path in DOCUMENTS:
        by_need: dict[str, list[Any]] = {}
        for block in tool.blocks(path.read_text("utf-8")):
            if block.language in languages and block.needs in needs:
                by_need.setdefault(block.needs, []).append(block)
        for need, chosen in by_need.items():
            name = "-".join(filter(None, [path.name, need]))
            found.append(pytest.param(chosen, id=name, marks=marks(name, need)))
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The blocks that each test is for."""
    wanted = getattr(metafunc.function, "blocks_of", None)
    if wanted is not None:
        metafunc.parametrize("chosen", parameters(sys.modules["make_docs"], *wanted))


def blocks_of(languages: set[str], needs: set[str]) -> Callable[[F], F]:
    """Run the test for each document's blocks of these languages and needs."""

    def mark(function: F) -> F:
        function.blocks_of = (languages, needs)  # type: ignore[attr-defined]
        return function

    return mark


@pytest.mark.parametrize("path", DOCUMENTS, ids=document_id)
def test_every_block_says_what_it_is(path: Path, tool: ModuleType) -> None:
    text = path.read_text("utf-8")
    assert text.count("```") == 2 * len(tool.blocks(text))
    for block in tool.blocks(text):
        assert block.language in LANGUAGES, block
        assert block.needs in NEEDS, block


@blocks_of({"python"}, {"", "server", "spark"})
def test_python(chosen: list[Any], workspace: Path, request: pytest.FixtureRequest) -> None:
    if chosen[0].needs == "spark":
        request.getfixturevalue("spark")  # the session that binlogkit.spark.session() finds
    namespace: dict[str, Any] = {"__name__": "document"}
    for block in chosen:
        code = block.code
        if block.needs == "spark":  # Spark's processes stay in the folder where its session began
            code = code.replace('load("', f'load("{workspace}/')
            code = code.replace('"stream/', f'"{workspace}/stream/')
        exec(compile(code, "document", "exec"), namespace)


@pytest.mark.slow
@blocks_of({"sh"}, {"", "server", "oracle"})
def test_commands(chosen: list[Any], workspace: Path, tool: ModuleType) -> None:
    for block in chosen:
        done = tool.shell("set -o pipefail\n" + SETUP.sub("", block.code), workspace)
        assert done.returncode == 0, f"{block.code}\n{done.stdout}"


@pytest.mark.slow
@blocks_of({"sh"}, {"store"})
def test_commands_with_a_store(
    chosen: list[Any], workspace: Path, tool: ModuleType, moto: Gate
) -> None:
    with bucket(moto) as url:
        for block in chosen:
            code = SETUP.sub("", block.code).replace("s3://lakes", url)
            done = tool.shell("set -o pipefail\n" + code, workspace)
            assert done.returncode == 0, f"{block.code}\n{done.stdout}"


@pytest.mark.slow
@blocks_of({"python"}, {"pytest"})
def test_tests_in_documents(chosen: list[Any], workspace: Path) -> None:
    """A test file as another project would have it, run by a pytest of its own."""
    for number, block in enumerate(chosen):
        path = workspace / f"test_of_document_{number}.py"
        path.write_text(block.code, "utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)],
            cwd=workspace,
            capture_output=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert re.search(r"\d+ passed", done.stdout)


@pytest.mark.parametrize("path", DOCUMENTS, ids=document_id)
def test_targets_of_make_are_there(path: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for target in re.findall(r"^make (\w+)$|`make (\w+)`", path.read_text("utf-8"), re.M):
        assert "".join(target) in targets


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=marks(f"{path.name}-console", ""))
        for path in DOCUMENTS
    ],
)
def test_generated_files_are_fresh(path: Path, tool: ModuleType) -> None:
    """Whole documents, tables of fields, and what console blocks print."""
    text = tool.generated()[path]()
    assert path.read_text("utf-8") == text, f"{path.name}: run python -m tools.make_docs"


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=document_id)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if not target.startswith(("http://", "https://", "#")):
            assert (path.parent / target.partition("#")[0]).exists(), target


def test_the_documents_name_every_command() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    for name in cli.list_commands(click.Context(cli)):
        assert f"`{name}`" in text


def test_the_documents_name_every_setting() -> None:
    """Environment variables that the packages read."""
    text = (ROOT / "docs" / "servers.md").read_text("utf-8")
    sources = [
        path.read_text("utf-8")
        for root in ("toolkit", "fixtures_gen")
        for path in (ROOT / root).rglob("*.py")
    ]
    named = {n for source in sources for n in re.findall(r"BINLOGKIT_[A-Z_]+[A-Z]", source)}
    for name in named:
        family = re.sub(r"_\d.*", "", name)
        assert family in text, name


def test_the_records_document_names_every_key() -> None:
    """Each key of each schema stands in the section of its record."""
    text = (ROOT / "docs" / "records.md").read_text("utf-8")
    sections = dict(re.findall(r"^## `?(\w+)`?.*?\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    for name in NAMES:
        for key in load(name)["properties"]:
            assert re.search(rf"`{key}`", sections[name]), f"{name}: {key}"


def test_the_glossary_has_every_word_of_a_fixed_list() -> None:
    """Outcomes, grades, modes, verdicts and kinds, as outputs print them."""
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    states = [state.name.lower() for state in CellState if state > CellState.NULL]
    for word in (*Outcome, *Grade, *Kind, *Verdict, *MODES, *states):
        assert f"`{word}`" in text, word
