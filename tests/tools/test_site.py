"""The site of the documents: every page, every link, what the references hold (tools/site)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import binlogkit
from binlogkit.cli import cli
from tools.site.__main__ import ROOT, navigation, targets, write_sources
from tools.site.reference import results

LINK = re.compile(r' href="([^"#:?]*)(?:\?[^"#]*)?(?:#([^"]*))?"')


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` builds it."""
    pytest.importorskip("sphinx")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "tools.site", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(html: Path) -> None:
    """Pages, downloads, and places in pages; Sphinx knows only those that it made itself."""
    pages = {page: page.read_text("utf-8") for page in html.rglob("*.html")}
    broken = []
    for page, text in pages.items():
        for file, place in LINK.findall(text):
            target = (page.parent / file).resolve() if file else page
            there = target.exists()
            if there and place and target in pages:
                there = f'id="{place}"' in pages[target]
            if not there:
                broken.append(f"{page.name}: {file}#{place}")
    assert broken == []
    assert len(pages) > len([*(ROOT / "docs").glob("*.md")])


@pytest.mark.slow
def test_the_references_name_what_the_code_has(html: Path) -> None:
    commands = (html / "reference" / "commands.html").read_text("utf-8")
    for name in cli.list_commands(click.Context(cli)):
        assert f'id="binlogkit-{name}"' in commands
    python = "".join(p.read_text("utf-8") for p in (html / "reference").glob("*.html"))
    for name in binlogkit.__all__:
        one = getattr(binlogkit, name)
        home = one.__name__ if type(one).__name__ == "module" else f"binlogkit.{name}"
        assert f'id="{home}"' in python or f'id="module-{home}"' in python, name
    for name in [n for n in vars(binlogkit.Log) if not n.startswith("_")]:
        assert f'id="binlogkit.Log.{name}"' in python, name
    for name in results():
        assert f'id="{name}"' in python, name


@pytest.mark.slow
def test_a_link_to_nowhere_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    source = tmp_path / "source"
    write_sources(source)
    for page in [*source.rglob("*.md")]:
        if page.name not in ("README.md", "stores.md", "glossary.md"):
            page.unlink()
    broken = "[nothing](nothing.md) [no place](glossary.md#no-such-word)"
    (source / "README.md").write_text("# Title\n\n```{toctree}\ndocs/stores\ndocs/glossary\n```\n")
    (source / "docs" / "stores.md").write_text(f"# Stores\n\n{broken}\n")
    (source / "docs" / "glossary.md").write_text("# Glossary\n\n## gap\n")
    words = ["-W", "--keep-going", "-q", "-b", "html", str(source), str(tmp_path / "html")]
    command = [sys.executable, "-m", "sphinx", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "nothing.md" in done.stderr and "no-such-word" in done.stderr


def test_the_readme_names_every_document() -> None:
    """README's table is the navigation: each document is in it once."""
    readme = (ROOT / "README.md").read_text("utf-8")
    trees = "".join(navigation(readme)).splitlines()
    listed = [line for line in trees if line.startswith("docs/")]
    documents = sorted(f"docs/{path.stem}" for path in (ROOT / "docs").glob("*.md"))
    assert sorted(listed) == documents


def test_targets_are_of_the_repository() -> None:
    text = "[a](b.md#c) [d](https://example.org/x.md) [e](../README.md) [f](#g)"
    assert [*map(str, targets("docs/x.md", text))] == ["docs/b.md", "README.md"]
