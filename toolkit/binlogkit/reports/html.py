"""A report as one self-contained HTML file: no script, no link, no other resource.

Everything is escaped by the template engine; control and bidirectional characters of a log are
shown as escapes. The file's own Content-Security-Policy allows its one style sheet by its hash, so
that even after a mistake here nothing could run or be fetched. All pages have one design: what a
reader needs comes first, the rest is folded (``templates/page.html.jinja``, ``page.css``).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from binlogkit.errors import printable
from binlogkit.reports._display import CELL, display, one_line, safe_lines, shortened
from binlogkit.reports._timeline import picture
from binlogkit.reports.model import (
    Changes,
    Highlight,
    Items,
    Part,
    Report,
    Table,
    Text,
    TimeLine,
    columns_of,
)

_UNBROKEN = 26  # characters up to which every cell of a column stays on one line


def render(report: Report) -> str:
    """The HTML of ``report``; encode it as UTF-8.

    Tables show their first ``limit`` rows, cells their column's ``longest``; both say so.
    """
    sections = [
        {
            "title": one_line(s.title), "intro": one_line(s.intro), "note": one_line(s.note),
            "folded": s.folded, "parts": list(map(_part, s.parts)),
        }
        for s in report.sections
    ]  # fmt: skip
    return page(
        "report.html.jinja",
        title=one_line(report.title),
        subtitle=one_line(report.subtitle),
        cards=[(*map(one_line, (c.label, c.value, c.note)), c.tone) for c in report.cards],
        sections=sections,
        facts=_pairs([(label, text) for label, text in report.facts if text]),
    )


def page(template: str, *, subtitle: str = "", wide: bool = False, **values: Any) -> str:
    """A template of this package, filled: ``title``, ``facts`` and its own values.

    ``wide``: as wide as a large screen.
    ``values`` are escaped; the caller must remove control characters.
    """
    css = _source("page.css")
    return _template(template).render(
        **values,
        subtitle=subtitle,
        wide=wide,
        css=Markup(css),  # noqa: S704  the package's own file
        css_hash=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
    )


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


@cache
def _source(name: str) -> str:
    return (files("binlogkit.reports") / "templates" / name).read_text(encoding="utf-8")


def _part(part: Part) -> dict[str, Any]:
    """The template's input, which it escapes: every value is a string, a flag or a tone."""
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Changes):
        return _changes(part)
    if isinstance(part, Highlight):
        return _finding(part)
    if isinstance(part, TimeLine):
        drawn = picture(part)
        marks = [{**mark, "what": one_line(mark["what"])} for mark in drawn["marks"]]
        return {"form": "time line", **drawn, "marks": marks}
    if isinstance(part, Items):
        return {"form": "items", "items": _pairs(part.items), "empty": one_line(part.empty)}
    return _text(part)


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(one_line(label), one_line(text)) for label, text in pairs]


def _finding(part: Highlight) -> dict[str, Any]:
    return {
        "form": "finding", "rank": part.rank, "heading": one_line(part.heading),
        "mark": one_line(part.mark), "facts": _pairs(part.facts), "tone": part.tone,
        "changes": None if part.changes is None else _changes(part.changes),
        "command": one_line(part.command or "").split(),
    }  # fmt: skip


def _changes(part: Changes) -> dict[str, Any]:
    rows = [
        (one_line(row.name), [_cell(*cell) for cell in row.cells or _NO_CELLS], row.tone)
        for row in part.rows
    ]
    total = max(part.total, len(rows))
    return {
        "form": "changes", "rows": rows, "heads": part.heads, "total": total,
        "more": total - len(rows), "caption": one_line(part.caption),
        "empty": one_line(part.empty),
    }  # fmt: skip


_NO_CELLS = (("", None, None),)


def _cell(column: str, *images: str | None) -> tuple[str | None, ...]:
    shown = (None if text is None else shortened(printable(text), CELL) for text in images)
    return one_line(column), *shown


def _text(part: Text) -> dict[str, Any]:
    text = shortened(safe_lines(part.text)) if part.code else one_line(part.text)
    return {"form": "code" if part.code else "text", "text": text, "tone": part.tone}


def _table(part: Table) -> dict[str, Any]:
    shown = list(part.rows[: part.limit])
    columns = columns_of(shown) if part.columns is None else list(part.columns)
    texts = [[display(row.get(c.name), c) for c in columns] for row in shown]
    classes = [_class(c.kind, [row[i] for row in texts]) for i, c in enumerate(columns)]
    heads = list(zip([one_line(column.heading) for column in columns], classes, strict=True))
    rows = []
    for row, cells in zip(shown, texts, strict=True):
        tone = (part.tones or {}).get(str(row.get(part.tone_by)), "plain")
        rows.append((list(zip(cells, classes, strict=True)), tone))
    return {
        "form": "table",
        "folded": part.folded,
        "heads": heads,
        "rows": rows,
        "caption": one_line(part.caption),
        "empty": one_line(part.empty),
        "more": len(part.rows) - len(shown),
    }


def _class(kind: str, texts: Sequence[str]) -> str:
    """The CSS class of a column: its alignment, and whether it may be broken into lines."""
    form = {"number": "n", "plain": "n", "time": "t", "microtime": "t", "code": "c"}.get(kind, "x")
    return form if max(map(len, texts), default=0) > _UNBROKEN else f"{form} s"
