"""The display of objects in a notebook: ``_repr_html_`` from tables of a report.

Everything is escaped as in html.py; the pieces carry no style sheet, script or attribute beyond
the notebook's own table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from binlogkit.reports._display import display, one_line
from binlogkit.reports.model import Column, Table, columns_of


def overview(
    title: str,
    facts: Sequence[tuple[str, str]],
    rows: Sequence[Mapping[str, Any]] = (),
    *,
    limit: int = 20,
) -> str:
    """HTML of a title, facts about an object, and a table of what is in it.

    ``facts``: pairs of label and value, one line each. ``rows``: records, the first ``limit``
    shown (a log's files, a table's columns).
    """
    lines = [Markup("<b>{}</b>").format(one_line(title))]
    lines += [Markup("{}: {}").format(one_line(label), one_line(value)) for label, value in facts]
    head = Markup("<p>{}</p>").format(Markup("<br>").join(lines))
    return str(head + (Markup(table(Table(rows, limit=limit))) if rows else Markup("")))  # noqa: S704


def table(part: Table) -> str:
    """HTML of one table of a report."""
    shown = list(part.rows[: part.limit])
    columns = columns_of(shown) if part.columns is None else list(part.columns)
    head = Markup("").join(Markup("<th>{}</th>").format(one_line(c.heading)) for c in columns)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(_cell(row, c) for c in columns))
        for row in shown
    )
    parts = [
        Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, body)
    ]
    if part.caption:
        parts.insert(0, Markup("<p>{}</p>").format(one_line(part.caption)))
    if not shown:
        parts = [Markup("<p>{}</p>").format(one_line(part.empty))]
    if len(part.rows) > len(shown):
        more = f"{len(part.rows) - len(shown):,} more rows are not shown here."
        parts.append(Markup("<p>{}</p>").format(more))
    return str(Markup("").join(parts))


def _cell(row: Mapping[str, Any], column: Column) -> Markup:
    text = escape(display(row.get(column.name), column))
    return Markup("<td>{}</td>").format(Markup("<br>").join(text.split("\n")))
