"""An explained event as text: its bytes on the left, their meaning on the right.

Only printable characters of the log reach the terminal.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from binlogkit.errors import printable
from binlogkit.reports._destination import is_terminal, write_text
from binlogkit.reports._values import cell_text
from binlogkit.reports.output import screen

if TYPE_CHECKING:
    from binlogkit.events.explain.parts import FieldPart
    from binlogkit.events.explain.walk import EventWalk

_WIDTH = 130
_NARROW = 110  # columns below which a line has half as many bytes
_LONGEST_VALUE = 400
_MOST_LINES = 8  # of bytes
_MOST_VALUE_LINES = 2  # of a value in its own column
_VALUE = 4
_NARROWEST = 10  # cells of a column that is broken into lines
_GAP = "  "
_HEADS = ("offset", "size", "bytes", "field", "value", "meaning")


def render(walk: EventWalk, width: int | None = None) -> Iterator[str]:
    """The text of one event, in pieces that end with a line end; ``width``: of the screen."""
    yield from (f"{line}\n" for line in heading(walk))
    yield "\n"
    if not walk.data:
        return
    yield from render_part(walk.data, walk.root, width)
    yield "\n"


def render_part(data: bytes, root: FieldPart, width: int | None = None) -> Iterator[str]:
    """The table of the parts below ``root``; ``data``: the event's bytes."""
    rows = list(_rows(data, root, 4 if (width or _WIDTH) < _NARROW else 8))
    widths = _widths(rows, width or _WIDTH)
    yield _line(_HEADS, widths)
    for row in rows:
        yield from _lines(row, widths)


def heading(walk: EventWalk) -> list[str]:
    """What the event is, its place, and problems."""
    raw = walk.raw
    what = walk.root.meaning
    what = walk.root.field if not what or what in walk.problems else what
    lines = [printable(what), f"{printable(raw.file)} at {walk.place}"]
    if walk.data:
        lines[-1] += f": {len(walk.data):,} bytes"
        lines[-1] += f", up to {raw.pos + len(walk.data)}" if raw.inner is None else ""
    lines += [f"!! {printable(problem)}" for problem in walk.problems]
    return lines + [printable(note) for note in walk.notes]


def shown_value(value: object) -> str:
    """A value as text on one line, cut when it is long; empty if the bytes say it."""
    if value is None or isinstance(value, bytes):
        return ""
    text = "''" if value == "" else cell_text(value)
    if len(text) > _LONGEST_VALUE:
        text = f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters)"
    return printable(text)


def hex_lines(data: bytes, per_line: int = 8, most: int = _MOST_LINES) -> list[str]:
    """Bytes in hexadecimal, so many on a line; if there are many lines, the first ones and a count
    of the rest."""
    starts = range(0, len(data), per_line)
    lines = [data[i : i + per_line].hex(" ") for i in starts[:most]]
    if len(starts) > most:
        lines.append(f"… {len(data) - most * per_line:,} more")
    return lines or [""]


def _rows(data: bytes, root: FieldPart, per_line: int) -> Iterator[tuple[str, ...]]:
    """The cells of each line: a part, a bit of it, a problem."""
    for depth, part in root.walk():
        if not depth:
            continue
        indent = "  " * (depth - 1)
        own = b"" if part.parts else data[part.start : part.end]
        lines = "\n".join(hex_lines(own, per_line))
        meaning = printable(part.meaning)
        yield (
            str(part.start), str(part.size), lines, indent + printable(part.field),
            shown_value(part.value), meaning,
        )  # fmt: skip
        indent += "  "
        for detail in part.details:
            name, meaning = printable(detail.name), printable(detail.meaning)
            yield ("", "", "", indent + name, shown_value(detail.value), meaning)
        if part.problem:
            yield ("", "", "", indent + "!!", "", printable(part.problem))


def _width(text: str) -> int:
    """The cells that a line takes on a terminal."""
    return len(text) if text.isascii() else cell_len(text)


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    natural = [
        max(_width(line) for cell in (head, *column) for line in cell.split("\n"))
        for head, column in zip(_HEADS, zip(*rows, strict=True), strict=True)
    ]
    room = width - 1 - len(_GAP) * (len(natural) - 1) - sum(natural[:3])
    field = min(natural[3], max(_NARROWEST, room * 2 // 5))
    value = min(natural[4], max(_NARROWEST, (room - field) * 2 // 5))
    return [*natural[:3], field, value, max(_NARROWEST, room - field - value)]


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of a row; a long value goes below the meaning, as wide as both columns."""
    if "\n" not in row[2] and all(_width(c) <= w for c, w in zip(row, widths, strict=True)):
        yield _line(row, widths)
        return
    columns = [_folded(cell, w, i) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
    below: list[str] = []
    if len(columns[_VALUE]) > _MOST_VALUE_LINES:
        columns[_VALUE] = []
        below = _folded(row[_VALUE], sum(widths[_VALUE:]) + len(_GAP), _VALUE)
    beside = len(columns[-1]) if row[-1] else 0
    for number in range(max(*map(len, columns), beside + len(below))):
        cells = [c[number] if number < len(c) else "" for c in columns]
        if beside <= number < beside + len(below):
            cells[_VALUE:] = [below[number - beside]]
        yield _line(cells, widths)


def _folded(text: str, width: int, column: int) -> list[str]:
    """The lines of a cell: bytes as they are, others broken at the width."""
    if column < 3:
        return text.split("\n")
    if len(text) <= width and text.isascii():
        return [text]
    if _width(text) != len(text):  # by the cells that its characters take on a terminal
        return [text] if _width(text) <= width else list(chop_cells(text, width))
    indent = " " * min(len(text) - len(text.lstrip()), width // 2)
    lines = textwrap.wrap(
        text.lstrip(), width, initial_indent=indent, subsequent_indent=indent,
        break_on_hyphens=False,
    )  # fmt: skip
    return lines or [""]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    placed = []
    for number, (cell, width) in enumerate(zip(cells, widths, strict=False)):
        pad = " " * (width - _width(cell))
        placed.append(pad + cell if number < 2 else cell + pad)
    return _GAP.join(placed).rstrip() + "\n"


def write(walks: Iterable[EventWalk], path: str | os.PathLike[str] = "-") -> None:
    """Write the text of events to ``path`` (mode 0600) or standard output (``-``), one by one.

    UsageError: a path that cannot be written. A closed pipe ends it quietly.
    """
    width = screen().width if is_terminal(path) else None
    write_text(path, (piece for walk in walks for piece in render(walk, width)))
