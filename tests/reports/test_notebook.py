"""What a notebook shows: small tables, everything escaped."""

from __future__ import annotations

import re

import pytest

from binlogkit.reports.model import Column, Table
from binlogkit.reports.notebook import overview, table

HOSTILE = (
    "<script>alert(1)</script>",
    '" onmouseover="x\' y',
    "<img src=x onerror=alert(1)>",
    "a\u202eb\x1b[31m",
    "$x$ **b** `c`",
    "%s {} {0}",
)
TAGS = {"p", "b", "br", "table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("value", HOSTILE)
def test_everything_is_escaped(value: str) -> None:
    rows = [{value: value, "query": f"{value}\n{value}"}]
    page = overview(value, [(value, value)], rows) + table(Table([], empty=value))
    page += table(Table(rows, caption=value))
    assert {tag.strip("/") for tag in re.findall(r"<([^>]*)>", page)} <= TAGS
    assert not set("\u202e\x1b") & set(page)


def test_overview() -> None:
    page = overview("2 files", [("from", "a"), ("to", "b")], [{"file": "x", "rows": 1234}])
    assert page == (
        "<p><b>2 files</b><br>from: a<br>to: b</p><table><thead><tr><th>file</th><th>rows</th></tr>"
        "</thead><tbody><tr><td>x</td><td>1,234</td></tr></tbody></table>"
    )


def test_overview_without_rows() -> None:
    assert overview("t", []) == "<p><b>t</b></p>"


def test_rows_left_out_are_counted() -> None:
    page = overview("t", [], [{"a": i} for i in range(30)], limit=20)
    assert "<p>10 more rows are not shown here.</p>" in page
    assert page.count("<td>") == 20


def test_lines_of_a_statement_stay() -> None:
    page = table(Table([{"q": "a\n<b>"}], [Column("q", kind="code")]))
    assert "<td>a<br>&lt;b&gt;</td>" in page
