"""Explained events as one HTML file: coloured bytes beside their fields, each linked to the other.

Everything is escaped by the template engine, and only printable characters come from the log; for
the file's other properties see html.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from binlogkit.errors import printable
from binlogkit.reports.explain.masked import Hidden
from binlogkit.reports.explain.text import heading, hex_lines, shown_value
from binlogkit.reports.html import page
from binlogkit.reports.model import tool
from binlogkit.reports.notebook import overview

if TYPE_CHECKING:
    from binlogkit.events.explain.walk import EventWalk

MOST_BYTES = 4096  # of an event in the dump
MOST_ROWS = 5000  # of an event in the table
_NOTEBOOK_ROWS = 300
_COLUMNS = ("offset", "size", "bytes", "field", "value", "meaning")
_INDENT = Markup("&emsp;")
_SHOWN = itemgetter(
    "number", "kind", "tone", "depth", "offset", "size", "linked", "field", "value", "meaning"
)
_PER_LINE = 8
_TONES = 6
_DEEPEST = 9


def render(walks: Sequence[EventWalk]) -> str:
    """The HTML of these events; encode it as UTF-8.

    Of an event the first :data:`MOST_BYTES` and :data:`MOST_ROWS` are shown; the file says what is
    left out.
    """
    events = [_event(walk, number) for number, walk in enumerate(walks)]
    files = list(dict.fromkeys(printable(walk.raw.file) for walk in walks))
    only = events[0] if len(events) == 1 else None
    return page(
        "explain.html.jinja",
        title=f"{only['name']} at {only['place']}" if only else f"{len(events)} events explained",
        facts=[tool(), ("log", ", ".join(files))],
        wide=True,
        events=events,
    )


def fragment(walks: Sequence[EventWalk]) -> str:
    """The notebook's display: a table per event, without style sheet."""
    parts = Markup("").join(Markup("<th>{}</th>").format(name) for name in _COLUMNS)
    head = Markup("<thead><tr>{}</tr></thead>").format(parts)
    out = []
    for walk in walks:
        name, where, *rest = heading(walk)
        rows = list(_rows(walk))
        out.append(overview(name, [("where", where), *[("note", line) for line in rest]]))
        body = Markup("").join(map(_cells, rows[:_NOTEBOOK_ROWS]))
        out.append(Markup("<table>{}<tbody>{}</tbody></table>").format(head, body))
        if len(rows) > _NOTEBOOK_ROWS:
            more = f"{len(rows) - _NOTEBOOK_ROWS:,} more fields are not shown here."
            out.append(Markup("<p>{}</p>").format(more))
    return "".join(out)


def _cells(row: dict[str, Any]) -> Markup:
    """A line of the notebook's table."""
    texts = {name: escape(row[name]) for name in _COLUMNS}
    texts["field"] = _INDENT * (row["depth"] - 1) + texts["field"]
    texts["bytes"] = Markup("<code>{}</code>").format(
        Markup("<br>").join(row["bytes"].replace(" ", "\u00a0").split("\n"))
    )
    cells = (Markup("<td>{}</td>").format(texts[name]) for name in _COLUMNS)
    return Markup("<tr>{}</tr>").format(Markup("").join(cells))


def _event(walk: EventWalk, number: int) -> dict[str, Any]:
    rows = list(_rows(walk))
    meaning, where, *rest = heading(walk)
    return {
        "name": printable(walk.root.field),
        "place": walk.place,
        "lines": [meaning, where, *[line for line in rest if not line.startswith("!! ")]],
        "problems": [line.removeprefix("!! ") for line in rest if line.startswith("!! ")],
        "dump": _dump(walk, rows, number),
        "more_bytes": max(0, len(walk.data) - MOST_BYTES),
        "rows": list(map(_SHOWN, rows[:MOST_ROWS])),
        "more_rows": max(0, len(rows) - MOST_ROWS),
    }


def _rows(walk: EventWalk) -> Iterator[dict[str, Any]]:
    """The lines of the table: parts, their meanings, and problems."""
    tone = number = 0
    for depth, part in walk.root.walk():
        if not depth:
            continue
        leaf = not part.parts
        lines = hex_lines(walk.data[part.start : part.end]) if leaf else []
        if leaf and part.size:
            tone = (tone + 1) % _TONES
        yield {
            "number": number, "start": part.start, "end": part.end, "leaf": leaf,
            "offset": str(part.start), "size": str(part.size), "bytes": "\n".join(lines),
            "tone": tone, "depth": min(depth, _DEEPEST), "field": printable(part.field),
            "value": shown_value(part.value), "meaning": printable(part.meaning),
            "kind": "" if leaf else "group",
            "masked": isinstance(part.value, Hidden),
            "linked": leaf and part.start < min(part.end, MOST_BYTES),
        }  # fmt: skip
        number += 1
        said = [(d.name, shown_value(d.value), d.meaning, "detail") for d in part.details]
        said += [("", "", part.problem, "bad")] if part.problem else []
        for name, value, meaning, kind in said:
            yield {
                "number": None, "offset": "", "size": "", "bytes": "", "tone": 0, "leaf": False,
                "linked": False,
                "depth": min(depth + 1, _DEEPEST), "field": printable(name), "value": value,
                "meaning": printable(meaning), "kind": kind,
            }  # fmt: skip


def _dump(
    walk: EventWalk, rows: Sequence[dict[str, Any]], number: int
) -> list[tuple[str, Markup, str]]:
    """Lines of bytes and their text; a byte has its tone, its field's line and its meaning.

    A link is filled in once for each field, not for each byte: that took half of the time for a
    page.
    """
    shown = min(len(walk.data), MOST_BYTES)
    cells, texts = list[str](), list[str]()
    for row in rows[:MOST_ROWS]:
        if row["leaf"]:
            said = f"{row['field']} = {row['value']}" if row["value"] else row["field"]
            place = f'href="#e{number}p{row["number"]}" class="b{row["tone"]}"'
            link, name = f'{place} title="{escape(said)}">', f'id="e{number}b{row["number"]}" '
            for i, byte in enumerate(walk.data[row["start"] : min(row["end"], shown)]):
                digits = "··" if row["masked"] else f"{byte:02x}"
                cells.append(f"<a {name * (not i)}{link}{digits}</a>")
                texts.append("·" if row["masked"] or not 32 <= byte < 127 else chr(byte))
    lines = []
    for at in range(0, len(cells), _PER_LINE):
        line = cells[at : at + _PER_LINE]
        text = "".join(texts[at : at + _PER_LINE])
        links = Markup("".join(line))  # noqa: S704  its parts are escaped above
        lines.append((f"{at:06d}", links, "   " * (_PER_LINE - len(line)) + text))
    return lines
