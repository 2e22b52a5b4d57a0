"""Every page in a real Chromium: axe, no request, no scroll to the side, light, dark and printed.

The pictures are kept in ``out/pages``. axe-core comes from npm, checked by its digest.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binlogkit.cli import run
from binlogkit.reports.html import render
from binlogkit.sources.sample import sample
from binlogkit_fixtures import golden
from binlogkit_fixtures.servers import cache, fetch
from tests.browser import PAPER, Browser, browser
from tests.reports.test_html import HOSTILE, everywhere

pytestmark = pytest.mark.browser

AXE = "axe-core@4.14.1"
AXE_SHA256 = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
OUT = Path(__file__).parents[2] / "out" / "pages"
WIDTHS = (1400, 390)
LONG = "<b>\u202e" + "x" * 1_000_000  # what cannot be broken into lines
MASKED = ("--mask", "shop.orders.comment=drop")
COMMANDS = {
    "audit": ("audit", "LOG"),
    "audit-masked": ("audit", "LOG", *MASKED),
    "explain": ("explain", "LOG", "--at", "76027"),
    "explain-masked": ("explain", "LOG", "--at", "45461", *MASKED),
    "explain-large": ("explain", "LOG", "--at", "76096"),
    "explain-several": ("explain", "LOG", "--at", "4", "--at", "126", "--at", "234", "--at", "470"),
    "diff": ("diff", "LOG", "--table", "shop.orders", "--from", "binlog.000001:75000"),
    "undo": ("undo", "LOG", "--at", "75676"),
    "undo-merged": ("undo", "LOG", "--at", "75676", "--mode", "merge"),
    "suspects": ("audit", str(golden.case("8.0-row-full", "ddl").binlogs[0])),
    "conform": (
        "conform", "--against", "golden", str(golden.case("8.0-row-full", "keys").binlogs[0]),
    ),
}  # fmt: skip
PAGES = (*COMMANDS, "hostile", "long")
LARGE = ("explain-large",)  # axe takes minutes for thousands of fields; they are like the others


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe."""
    file = tmp_path_factory.mktemp("axe") / f"{AXE.replace('@', '-')}.tgz"
    fetch.with_npm(AXE, file)
    assert cache.sha256(file) == AXE_SHA256
    with tarfile.open(file) as archive:
        source = archive.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode("utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each page."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in PAGES}
    for name, command in COMMANDS.items():
        words = [sample() if word == "LOG" else word for word in command]
        assert run([*map(str, words), "--html", str(found[name])]) in (0, 1)
    found["hostile"].write_text(render(everywhere(" ".join(HOSTILE))), "utf-8", "replace")
    found["long"].write_text(render(everywhere(LONG)), "utf-8")
    OUT.mkdir(parents=True, exist_ok=True)
    return found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    try:
        with browser() as one:
            yield one
    except LookupError as exc:
        pytest.skip(str(exc))


def test_the_browser_sees_what_is_wrong(chromium: Browser, axe: str, tmp_path: Path) -> None:
    """A page with every fault: what the other tests look for can be found."""
    page = tmp_path / "wrong.html"
    page.write_text(
        "<p style='color: #eee; background: #fff'>pale</p><p style='width: 3000px'>wide</p>"
        "<script src='http://127.0.0.1:9/x.js'></script>"
    )
    chromium.open(page, 390)
    assert _faults(chromium, axe) >= {"color-contrast", "html-has-lang"}
    assert _width(chromium) > 390
    assert "http://127.0.0.1:9/x.js" in chromium.requested


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_on_a_screen(
    chromium: Browser, axe: str, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    chromium.open(pages[name], width, scheme=scheme)
    chromium.picture(OUT / f"{name}-{width}-{scheme}.png")
    assert chromium.requested == [pages[name].resolve().as_uri()]
    assert chromium.complaints == []
    assert _width(chromium) <= width
    chromium.value("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert _width(chromium) <= width
    if name not in LARGE:
        assert _faults(chromium, axe) == set()


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("hostile", "long")])
def test_printed(chromium: Browser, pages: dict[str, Path], name: str) -> None:
    """What is open fits the first page; what is folded is open behind it."""
    width, height = PAPER
    chromium.open(pages[name], width, type="print")
    chromium.picture(OUT / f"{name}-printed.png")
    open_parts = "main > section, main > .cards"
    ends = f"Math.max(...[...document.querySelectorAll('{open_parts}')].map({_BOTTOM}))"
    hidden = (
        "[...document.querySelectorAll('details.section table')].filter(one => !one.offsetHeight)"
    )
    if "explain" not in name:
        assert chromium.value(ends) <= height
    assert chromium.value(f"{hidden}.length") == 0
    chromium.printed(OUT / f"{name}.pdf")
    assert (OUT / f"{name}.pdf").read_bytes().startswith(b"%PDF")


_BOTTOM = "one => one.getBoundingClientRect().bottom"


def test_bytes_and_fields_are_side_by_side(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["explain-large"], 1400)
    places = chromium.value(
        "['.dump', '.walk table'].map(one => document.querySelector(one).getBoundingClientRect())"
        ".map(one => [one.left, one.right, one.top])"
    )
    (_, dump_ends, dump_top), (table_begins, _, table_top) = places
    assert dump_ends < table_begins
    assert dump_top < 400 and table_top < 400
    chromium.open(pages["explain-large"], 390)
    top = "document.querySelector('.walk table').getBoundingClientRect().top"
    assert chromium.value(top) < 900


def test_the_culprit_is_marked_where_it_happened(chromium: Browser, pages: dict[str, Path]) -> None:
    """In the picture as it is drawn: above the bar of its minute, in the tone of what is wrong."""
    chromium.open(pages["audit"], 1400)
    drawn: Any = chromium.value(
        "(() => { const mark = document.querySelector('line.culprit').getBoundingClientRect();"
        "const bars = [...document.querySelectorAll('figure > svg > rect.updates')]"
        ".map(one => one.getBoundingClientRect());"
        "const high = bars.reduce((a, b) => a.height > b.height ? a : b);"
        "return [mark.left, high.left, high.right]; })()"
    )
    mark, begins, ends = drawn
    assert begins <= mark <= ends


def _faults(page: Browser, axe: str) -> set[str]:
    page.value(f"{axe}; null")
    found = page.value(
        "axe.run(document, {resultTypes: ['violations']}).then(done => done.violations.map("
        "one => [one.id, one.help, one.nodes.slice(0, 3).map(node => node.html.slice(0, 200))]))"
    )
    for fault in found:
        print(*fault, sep="\n  ")
    return {fault[0] for fault in found}


def _width(page: Browser) -> int:
    return int(page.value("document.scrollingElement.scrollWidth"))
