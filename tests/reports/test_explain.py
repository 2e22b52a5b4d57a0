"""The forms of an explanation: what fits a screen, what is escaped, what is cut and says so."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.cells import cell_len

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit.events.query import RowsQuery
from binlogkit.events.table_map import TableMap
from binlogkit.reports.explain import html as explain_html
from binlogkit.reports.explain.text import hex_lines, render
from binlogkit_fixtures import golden
from binlogkit_fixtures.writer import LogWriter, format_description

LOG = golden.case("8.0-row-full", "json").binlogs[0]
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202egnp.exe\n\"' onload=x"


@pytest.fixture
def hostile() -> bk.Explanation:
    """Names and statements that an attacker chose."""
    log = LogWriter(format_description("8.0.31"))
    table_map = TableMap(1, 1, HOSTILE, HOSTILE, b"\x03", b"", b"\x00", None)
    log.add(table_map, EventType.TABLE_MAP_EVENT)
    log.add(RowsQuery(HOSTILE), EventType.ROWS_QUERY_LOG_EVENT)
    return bk.explain(log.data)


def test_text_holds_no_control_character(hostile: bk.Explanation) -> None:
    for line in hostile.text().split("\n"):
        assert line.isprintable() and "\u202e" not in line
    assert r"\x1b[31m" in hostile.text(200)


@pytest.mark.parametrize("width", [80, 100, 132, 200])
def test_lines_fit(width: int) -> None:
    """Only what cannot be broken passes the edge, and nothing is lost by breaking it."""
    for walk in bk.explain(LOG).events[:60]:
        text = "".join(render(walk, width))
        _, _, table = text.partition("\n\n")
        assert all(cell_len(line) <= width for line in table.split("\n"))
        if width == 200:
            assert all(part.field in text for _, part in walk.root.walk() if part.parts)


def test_bytes_are_cut_and_say_so() -> None:
    assert hex_lines(bytes(3)) == ["00 00 00"]
    assert hex_lines(b"") == [""]
    assert hex_lines(bytes(100), 8, 2) == ["00 00 00 00 00 00 00 00"] * 2 + ["… 84 more"]


class Page(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.targets: set[str] = set()
        self.links: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.targets |= {str(value) for name, value in attrs if name == "id"}
        self.links |= {str(value) for name, value in attrs if name == "href"}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_escaped(hostile: bk.Explanation) -> None:
    for html in (hostile.html(), hostile._repr_html_()):
        page = Page(html)
        assert not {"script", "iframe", "img", "link"} & set(page.tags)
        assert not {"onload", "style", "src"} & page.attributes
        assert "<script>alert(1)</script>" in page.text
        assert "\x1b" not in html and "\u202e" not in html
    assert "default-src 'none'" in hostile.html()


def test_a_notebook_shows_the_nesting() -> None:
    html = bk.explain(LOG, at=4)._repr_html_()
    assert "<td>header</td>" in html and "<td>&emsp;timestamp</td>" in html
    assert "\\u" not in html


def test_every_byte_leads_to_its_field() -> None:
    explained = bk.explain(LOG, at=[4, 126])
    page = Page(explained.html())
    assert page.links <= {f"#{target}" for target in page.targets}
    assert len({link for link in page.links if "b" in link}) > 50  # and fields to their bytes
    bytes_shown = re.findall(
        r'<a (?:id="e\d+b\d+" )?href="#e\d+p\d+" class="b\d" title="[^"]*">([0-9a-f]{2})</a>',
        explained.html(),
    )
    assert bytes.fromhex("".join(bytes_shown)) == b"".join(w.data for w in explained.events)


def test_long_events_say_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_html, "MOST_BYTES", 16)
    monkeypatch.setattr(explain_html, "MOST_ROWS", 10)
    html = bk.explain(LOG, at=4).html()
    assert "more bytes" in html and "more fields are not shown here" in html


def test_a_file_of_its_own(tmp_path: Path) -> None:
    """Nothing is loaded from elsewhere."""
    html = bk.explain(LOG, at=4).html()
    assert not re.search(r"(?:src|href)=[\"'](?!#)", html)
    assert "url(" not in html
