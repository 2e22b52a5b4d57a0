"""What documents, comments and docstrings cite is in this repository: files, and their headings."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ("toolkit", "fixtures_gen", "tests", "tools")
CITED = re.compile(r"[\w./-]*\w\.(?:md|py|sh|toml|yaml)\b(?:, \"([^\"]+)\")?")
ELSEWHERE = {
    "pyspark/core/context.py", "pyspark/sql/worker/lookup_data_sources.py",
    "matrix.toml",  # the reader's own
}  # fmt: skip


def tracked() -> set[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a checkout")
    return set(done.stdout.splitlines())


FILES = tracked()
PLACES = {
    "/".join(parts[at:]) for p in FILES for parts in [p.split("/")] for at in range(len(parts))
}


def prose(path: Path) -> Iterator[str]:
    """The comments and docstrings of a module, or a whole document."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        yield text
        return
    if not CITED.search(text):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield re.sub(r"\s+", " ", ast.get_docstring(node) or "")


def missing(path: Path) -> list[str]:
    found = []
    for text in prose(path):
        for match in CITED.finditer(text):
            name, heading = match[0].partition(",")[0].removeprefix("./"), match[1]
            while name.startswith("../"):
                name = name[3:]
            before = text[max(0, match.start() - 80) : match.start()]
            if name in ELSEWHERE or "://" in before.split(" ")[-1]:
                continue
            if name not in PLACES:
                found.append(name)
            elif heading and name.startswith("docs/"):
                headings = re.findall(r"^#+ (.*)$", (ROOT / name).read_text("utf-8"), re.M)
                found += [match[0]] * (heading not in headings)
    return found


def test_every_cited_file_is_here() -> None:
    documents = [p for p in FILES if p.endswith(".md") or p == "Makefile"]
    modules = [p for p in FILES if p.endswith(".py") and p.startswith(PYTHON)]
    absent = {p: missing(ROOT / p) for p in (*documents, *modules) if (ROOT / p).is_file()}
    assert {p: found for p, found in absent.items() if found} == {}


def test_every_report_names_tests_that_are_here() -> None:
    text = (ROOT / "docs" / "public-reports.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    named = [re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", row) for row in rows]
    assert rows and all(named)
    absent = [
        (path, function)
        for path, function in {one for found in named for one in found}
        if f"def {function}" not in (ROOT / "tests" / path).read_text("utf-8")
    ]
    assert absent == []


def test_a_file_that_is_not_here_is_found(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        'docs/design.md, "Rooms"; docs/design.md, "Cellars"; docs/nothing.md; ../README.md'
    )
    assert missing(document) == ['docs/design.md, "Cellars"', "docs/nothing.md"]
