"""A report as one self-contained HTML file: no script, no link, no other resource.

Everything is escaped by the template engine; control and bidirectional characters of a log are
shown as escapes. The file's own Content-Security-Policy allows its one style sheet by its hash and
pictures as data, so that even after a mistake here nothing could run or be fetched.
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

from binlogkit.reports._display import display, one_line, safe_lines, shortened
from binlogkit.reports.model import Figure, Items, Part, Report, Table, Text, columns_of

_UNBROKEN = 26  # characters up to which every cell of a column stays on one line


def render(report: Report) -> str:
    """The HTML of ``report``; encode it as UTF-8.

    Tables show their first ``limit`` rows, cells their column's ``longest``; both say so.
    """
    sections = [
        {"title": one_line(s.title), "intro": one_line(s.intro), "parts": list(map(_part, s.parts))}
        for s in report.sections
    ]
    return page(
        "report.html.jinja",
        title=one_line(report.title),
        subtitle=one_line(report.subtitle),
        cards=[(*map(one_line, (c.label, c.value, c.note)), c.tone) for c in report.cards],
        sections=sections,
        made=[(one_line(label), one_line(value)) for label, value in report.made],
    )


def page(template: str, *sheets: str, **values: Any) -> str:
    """A template of this package, filled; ``sheets``: style sheets besides the reports' own.

    ``values`` are escaped; the caller must remove control characters.
    """
    css = "".join(map(_source, ("report.css", *sheets)))
    return _template(template).render(
        **values,
        css=Markup(css),  # noqa: S704  the package's own files
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
    if isinstance(part, Figure):
        data = base64.b64encode(part.png).decode("ascii")
        return {"form": "figure", "data": data, "caption": one_line(part.caption)}
    if isinstance(part, Items):
        items = [(one_line(head), one_line(text)) for head, text in part.items]
        return {"form": "items", "items": items, "empty": one_line(part.empty)}
    return _text(part)


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
