"""The HTML report: self-contained, without anything active, whatever a log says."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.reports.html import render
from binlogkit.reports.model import (
    Card,
    Changes,
    Column,
    Highlight,
    Items,
    Part,
    Report,
    RowChange,
    Section,
    Table,
    Text,
    TimeLine,
)

HOSTILE = (
    "<script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "</title><script src=//evil.example></script>",
    "javascript:alert(1)",
    "\" onmouseover=\"alert(1)' onfocus='x",
    "<img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- --> ]]> &amp;lt; &#x3c;",
    "evil\u202egnp.exe \u2066\x1b[31m\x00\r\x9b",
    "<svg/onload=alert(1)>",
    "\ud800",
)
# What the template itself uses; a value can add nothing to it.
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "p", "div",
    "span", "ul", "li", "main", "section", "article", "details", "summary", "table", "caption",
    "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "rect", "line", "circle",
    "text", "dl", "dt", "dd", "pre", "code",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "aria-label", "aria-hidden",
    "scope", "rowspan", "tabindex", "role", "width", "height", "x", "y", "x1", "x2", "y1", "y2",
    "cx", "cy", "r", "text-anchor",
}  # fmt: skip


class Page(HTMLParser):
    """The tags, attributes and text of a page, as a browser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.cells: list[str] = []
        self.comments: list[str] = []
        self._in_cell = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "td":
            self._in_cell = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_cell:
            self.cells[-1] += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def everywhere(value: str) -> Report:
    """A report with ``value`` in every place that takes text."""
    table = Table(
        [{value: value, "code": value, "grade": value}],
        [Column(value, value), Column(value, kind="code"), Column("grade", kind="number")],
        caption=value,
        tone_by="grade",
        tones={"x": "bad"},
    )
    parts: list[Part] = [
        table,
        Table([], empty=value),
        Table([{value: [value, 1, {value: None}]}]),
        Changes([RowChange(value, [(value, value, None)])], 9, caption=value),
        Changes([], empty=value),
        Highlight(1, value, value, [(value, value)], Changes([RowChange(value, [])]), value),
        TimeLine([(60, {"inserts": 1}), (600, {"inserts": 2})], [(1, 61, value)]),
        Text(value),
        Text(value, code=True, tone="bad"),
        Items([(value, value)]),
        Items([], empty=value),
    ]
    sections = [Section(value, parts, value, value, folded=bool(i)) for i in range(3)]
    return Report(value, sections, value, [Card(value, value, value)], [(value, value)])


def harmless(page: Page) -> None:
    assert {tag for tag, _ in page.tags} <= TAGS
    for _, attributes in page.tags:
        assert set(attributes) <= ATTRIBUTES
        if "class" in attributes:
            assert re.fullmatch(r"[a-z ]+", attributes["class"])
    assert page.comments == []
    shown = page.text.replace("\n", "")
    assert not re.search(
        "[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown
    )


class TestHostile:
    @pytest.mark.parametrize("value", HOSTILE)
    def test_it_is_shown_and_nothing_else(self, value: str) -> None:
        page = Page(render(everywhere(value)))
        harmless(page)
        plain = Page(render(everywhere("plain")))
        tags, plainly = ([t for t, _ in one.tags if t != "span"] for one in (page, plain))
        assert tags == plainly  # a command has a span for each of its words
        first = value.split("\u202e")[0].split("\ud800")[0]
        assert page.text.count(first) >= 30

    @settings(max_examples=40, deadline=None)
    @given(st.text(st.sampled_from("<>&\"'=/ -!\x00\x1b\u202e\n{}%ax")))
    def test_any_text(self, value: str) -> None:
        harmless(Page(render(everywhere(value or "x"))))

    def test_bidirectional_and_control_characters_are_visible(self) -> None:
        page = Page(render(everywhere("a\u202eb\x1bc")))
        assert "a\\u202eb\\x1bc" in page.cells

    def test_a_huge_cell_is_cut_and_says_so(self) -> None:
        """Its beginning is shown, and unfolds to what a page has of it."""
        text = render(Report("t", [Section("s", [Table([{"a": "x" * 10**6}])])]))
        assert len(text) < 25_000
        (cell,) = Page(text).cells
        assert cell == "x" * 2000 + "… (cut: 1,000,000 characters in all)"
        assert [t for t, a in Page(text).tags if a.get("class") == "cut"] == ["details"]

    def test_many_rows_are_cut_and_say_so(self) -> None:
        rows = [{"a": i} for i in range(5000)]
        page = Page(render(Report("t", [Section("s", [Table(rows, limit=10)])])))
        assert len(page.cells) == 10
        assert "4,990 more rows are not shown here." in page.text


class TestSelfContained:
    def test_the_policy_allows_its_own_style_sheet_only(self) -> None:
        text = render(everywhere("x"))
        style = re.findall(r"<style>(.*?)</style>", text, re.S)
        assert len(style) == 1
        digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
        (policy,) = (a["content"] for t, a in Page(text).tags if a.get("http-equiv"))
        assert policy == (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        )
        assert text.index("Content-Security-Policy") < text.index("<style>")

    def test_nothing_is_fetched(self) -> None:
        text = render(everywhere("x"))
        assert not re.search(r"url\(|@import|https?:|//", text)

    def test_it_is_utf8_and_repeatable(self) -> None:
        report = everywhere("é订\ud800")
        assert render(report).encode("utf-8") == render(report).encode("utf-8")


class TestForms:
    @pytest.mark.parametrize(
        ("value", "column", "shown"),
        [
            (None, Column("c"), ""),
            (1234567, Column("c", kind="number"), "1,234,567"),
            (1234567, Column("c", kind="plain"), "1234567"),
            (1700000040, Column("c", kind="time"), "2023-11-14T22:14:00Z"),
            (1700000040000007, Column("c", kind="microtime"), "2023-11-14T22:14:00.000007Z"),
            (2**60, Column("c", kind="time"), str(2**60)),
            ("SELECT 1\n\tFROM t", Column("c", kind="code"), "SELECT 1\n    FROM t"),
            ("a\nb", Column("c"), "a\\nb"),
            (["a.b", "c.d"], Column("c"), "a.b, c.d"),
            ({"id": 1}, Column("c"), '{"id":1}'),
            (True, Column("c"), "true"),
            ("x" * 20, Column("c", longest=5), "xxxxx… (cut: 20 characters in all)"),
        ],
    )
    def test_cells(self, value: Any, column: Column, shown: str) -> None:
        page = Page(render(Report("t", [Section("s", [Table([{"c": value}], [column])])])))
        assert page.cells == [shown]

    def test_rows_have_their_tone(self) -> None:
        table = Table([{"o": "cut"}, {"o": "ok"}], tone_by="o", tones={"cut": "warn"})
        page = Page(render(Report("t", [Section("s", [table])])))
        rows = [a.get("class") for t, a in page.tags if t == "tr"]
        assert rows == [None, "warn", None]

    def test_columns_are_known_by_their_names(self) -> None:
        table = Table([{"minute": 1700000040, "rows": 1234, "pos": 12345}])
        page = Page(render(Report("t", [Section("s", [table])])))
        assert page.cells == ["2023-11-14T22:14:00Z", "1,234", "12345"]
