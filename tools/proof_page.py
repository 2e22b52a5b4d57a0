"""The page of what is proved where, in Markdown (docs/proof.md), from the tests' markers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.prove import PARTS, part_of

ROOT = Path(__file__).resolve().parents[1]
#: What takes a test out of the gate, unless it has the marker ``gate`` (tests/conftest.py).
LONG = ("server", "oracle", "spark", "notebook", "browser", "slow", "campaign")


@dataclass(frozen=True, slots=True)
class Module:
    """A file of tests: its first sentence, and how many of its tests are in the gate or not."""

    path: str
    about: str
    gate: int
    proof: int


def page() -> str:
    """The text of docs/proof.md: tools/proof.md with its two tables."""
    parts, files = [], []
    for name, part in PARTS.items():
        tests = ", ".join(f"`{test}`" for test in part.tests)
        parts.append(f"| `{name}` | {part.proves} | {tests} |\n")
    for module in modules():
        if module.proof:
            name = f"`{module.path}` ({part_of(module.path)})"
            files.append(f"| {name} | {module.about} | {module.gate} | {module.proof} |\n")
    template = (ROOT / "tools" / "proof.md").read_text(encoding="utf-8")
    return template.replace("{parts}", "".join(parts)).replace("{files}", "".join(files))


def modules() -> Iterator[Module]:
    """Every file of tests, by its path from tests/."""
    folder = ROOT / "tests"
    for path in sorted(folder.rglob("test_*.py")):
        yield _module(str(path.relative_to(folder)), ast.parse(path.read_text(encoding="utf-8")))


def _module(path: str, tree: ast.Module) -> Module:
    everywhere = {mark for node in tree.body for mark in _assigned(node)}
    counts = {True: 0, False: 0}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            marks = everywhere | {mark for one in node.decorator_list for mark in _marks(one)}
            counts["gate" in marks or not marks & {*LONG}] += 1
    about = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ").rstrip(".:")
    return Module(path, about.replace("|", "\\|"), counts[True], counts[False])


def _assigned(node: ast.stmt) -> Iterator[str]:
    """The marks of ``pytestmark = …``."""
    if isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
    ):
        yield from _marks(node.value)


def _marks(expression: ast.expr) -> Iterator[str]:
    """X of each ``pytest.mark.X`` that all parameters of a test have."""
    if isinstance(expression, ast.Call):
        expression = expression.func
    if isinstance(expression, ast.List | ast.Tuple):
        for one in expression.elts:
            yield from _marks(one)
    match expression:
        case ast.Attribute(value=ast.Attribute(attr="mark"), attr=name):
            yield name
