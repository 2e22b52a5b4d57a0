"""Build the site of the documents: ``python -m tools.site [OUT]``; a broken link is an error.

The sources are README.md, CHANGELOG.md, docs/*.md and what they link to, at their own paths: the
same links work here and in the repository. README.md is the first page, and its table of documents
is the navigation. The references are made from the code (``reference.py``).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tools.site import reference

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "site"
_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_ROW = re.compile(r"^\| (?P<caption>[^|]+) \| (?P<links>.*) \|$", re.M)


def build(out: Path) -> None:
    """Write the pages into ``out/source`` and the site into ``out/html``."""
    source, html = out / "source", out / "html"
    for folder in (source, html):
        shutil.rmtree(folder, ignore_errors=True)
    write_sources(source)
    command = ["-W", "--keep-going", "-q", "-j", "auto", "-b", "html", "-d", out / "doctrees"]
    words = [sys.executable, "-m", "sphinx", *map(str, command), str(source), str(html)]
    subprocess.run(words, check=True)
    shutil.copyfile(html / "README.html", html / "index.html")


def write_sources(source: Path) -> None:
    """Write all pages that the site is made of."""
    pages = ["README.md", "CHANGELOG.md"]
    pages += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))
    listed = {*pages}
    for page in pages:  # grows by the pages that are linked from these
        text = (ROOT / page).read_text("utf-8")
        for target in targets(page, text):
            if target.suffix == ".md" and str(target) not in pages:
                pages.append(str(target))
            elif (ROOT / target).is_file() and target.suffix != ".md":
                _write(source / target, (ROOT / target).read_text("utf-8"))
        text = _LINK.sub(partial(_without_folders, page), text)
        if page not in listed:
            text = f"---\norphan: true\n---\n\n{text}"
        _write(source / page, text)
    for name, text in reference.pages():
        _write(source / "reference" / f"{name}.md", text)
    readme = (source / "README.md").read_text("utf-8")
    _write(source / "README.md", readme + "".join(navigation(readme)))
    for name in ("conf.py", "site.css"):
        shutil.copyfile(Path(__file__).with_name(name), source / name)


def navigation(readme: str) -> Iterator[str]:
    """The table of documents as the tree that the site shows beside each page."""
    for row in _ROW.finditer(readme):
        linked = (link[2] for link in _LINK.finditer(row["links"]))
        documents = [target.removesuffix(".md") for target in linked if target.endswith(".md")]
        entries = []
        for document in documents:
            made = reference.PAGES.get(document, ())
            entries += [document, *(f"reference/{name}" for name in made)]
        if entries:
            tree, caption = "\n".join(entries), row["caption"]
            title = caption[0].upper() + caption[1:]
            yield f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{tree}\n```\n"


def targets(page: str, text: str) -> Iterator[Path]:
    """The files and folders of the repository that a page links to."""
    for link in _LINK.finditer(text):
        if link[2] and "://" not in link[2]:
            yield ((ROOT / page).parent / link[2]).resolve().relative_to(ROOT)


def _without_folders(page: str, link: re.Match[str]) -> str:
    """A link, or its text alone where it leads to a folder: a site has no page for it."""
    if link[2] and "://" not in link[2] and ((ROOT / page).parent / link[2]).is_dir():
        return link[1]
    return link[0]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if sys.argv[1:] else OUT)
