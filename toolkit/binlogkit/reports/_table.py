"""A stream of rows as a table for people, in bounded memory.

On a terminal: pages of a rich table, whose cells are cut after two lines; if the columns do not
fit, one block of lines per record. Elsewhere: plain aligned columns, nothing cut off.
Every cell, and every column's name, goes through :func:`binlogkit.errors.printable`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

from binlogkit.errors import printable
from binlogkit.reports._columns import ABSENT
from binlogkit.reports._values import printable_cell
from binlogkit.reports.model import Entry, Tone

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Colour = Literal["standard", "256", "truecolor", "windows"]

COLOURS: tuple[Colour, ...] = ("standard", "256", "truecolor", "windows")
PAGE = 100  # rows that determine the widths
_LONGEST = 2000  # characters of a cell that are looked at
_LINES = 2  # of a cell
_INDENT = 5  # of what stands under a heading
_DATE = "YYYY-MM-DD"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*")
_PATH = re.compile(r"\S*/[!-~]*")
_STYLES: dict[Tone, str] = {"bad": "bold red", "warn": "bold yellow", "good": "green", "plain": ""}
_WHOLE = 20  # cells of the widest column that is not squeezed where there is another way
_BLOCK = 3  # of one in a block
_NARROWEST = 10  # cells below which no column is squeezed
_GAP = 2


@dataclass(frozen=True, slots=True)
class Screen:
    """What a terminal can show: ``width`` in cells, ``colour`` as rich names the system."""

    width: int = 80
    colour: Colour | None = None


def plain_table(
    names: Sequence[str],
    rows: Iterable[list[object]],
    page: int = PAGE,
    numeric: Sequence[bool] | None = None,
) -> Iterator[str]:
    """Lines of aligned columns, two blanks apart; a longer cell than those seen shifts its line.

    ``numeric``: the right-aligned columns, by default those that hold only numbers.
    """
    stream = iter(rows)
    head = [printable(name) for name in names]
    first = list(islice(stream, page))
    numeric = _numeric(first, len(head)) if numeric is None else numeric
    texts = [[_text(cell) for cell in row] for row in first]
    widths = [max(cell_len(row[i]) for row in [head, *texts]) for i in range(len(head))]

    def line(cells: list[str]) -> str:
        pads = [" " * max(0, width - cell_len(c)) for c, width in zip(cells, widths, strict=True)]
        placed = zip(cells, pads, numeric, strict=True)
        return (" " * _GAP).join(p + c if n else c + p for c, p, n in placed).rstrip() + "\n"

    if head:
        yield line(head)
    for cells in texts:
        yield line(cells)
    for row in stream:
        yield line([_text(cell) for cell in row])


def screen_table(
    names: Sequence[str],
    rows: Iterable[list[object]],
    screen: Screen,
    page: int = PAGE,
    numeric: Sequence[bool] | None = None,
    lines: int = _LINES,
) -> Iterator[str]:
    """The same for a terminal, a page at a time, with no other escape sequences than our own.

    ``lines``: of a cell, which is cut after them. Where the columns need more room than there is,
    those that are equal in all rows of a page stand above it, once.
    """
    stream = iter(rows)
    head = [printable(name) for name in names]
    first = list(islice(stream, page))
    numeric = _numeric(first, len(head)) if numeric is None else numeric
    texts = [[_short(_text(cell)) for cell in row] for row in first]
    number = 0
    if not texts and head and (widths := fit(_natural(head, []), numeric, screen.width)):
        yield _page(head, [], widths, numeric, screen, lines)
    while texts:
        yield _shown(head, texts, numeric, screen, lines, number)
        number += len(texts)
        texts = [[_short(_text(cell)) for cell in row] for row in islice(stream, page)]


def entries(found: Iterable[Entry], screen: Screen) -> Iterator[str]:
    """Records for a terminal, a few lines each; a command stays on one line, to be copied."""
    from rich.padding import Padding
    from rich.text import Text

    for entry in found:
        console, out = _console(screen)
        console.print(Text(printable(entry.heading), style=_STYLES[entry.tone]))
        for line in entry.lines:
            text = Text(printable(line), overflow="fold")
            text.truncate(_BLOCK * (screen.width - _INDENT) - _GAP, overflow="ellipsis")
            console.print(Padding(text, (0, 0, 0, _INDENT)))
        if entry.command is not None:
            shown = Text(" " * _INDENT + printable(entry.command), style="cyan")
            console.print(shown, soft_wrap=True)
        yield _stripped(out.getvalue())


def _shown(
    head: list[str],
    texts: list[list[str]],
    numeric: Sequence[bool],
    screen: Screen,
    lines: int,
    before: int,
) -> str:
    """A page: as it is if it fits, else without what is the same in all rows."""
    natural = _natural(head, texts)
    same, kept = list[str](), list(range(len(head)))
    if sum(natural) + _GAP * len(head) > screen.width and len(texts) > 1:
        same, kept, texts = _parted(head, texts)
    head = [head[i] for i in kept]
    numeric = [numeric[i] for i in kept]
    texts = [[row[i] for i in kept] for row in texts]
    fixed = [n or _times(row[i] for row in texts) for i, n in enumerate(numeric)]
    widths = fit(_natural(head, texts), fixed, screen.width)
    above = _above(same, screen) if same else ""
    if widths is None:
        return above + _blocks(head, texts, before, screen)
    return above + _page(head, texts, widths, numeric, screen, lines)


def _times(cells: Iterable[str]) -> bool:
    return all(_TIME.fullmatch(cell) for cell in cells if cell)


def _natural(head: Sequence[str], texts: Sequence[Sequence[str]]) -> list[int]:
    """The widths that the columns would have if there were room."""
    return [max(cell_len(row[i]) for row in [head, *texts]) for i in range(len(head))]


def _parted(
    head: Sequence[str], texts: list[list[str]]
) -> tuple[list[str], list[int], list[list[str]]]:
    """What is the same in all rows, in words; the columns that are left; the rows, their times
    without a date that all of them share. The first and the last column always stay."""
    same, kept = list[str](), list[int]()
    rows = [[*row] for row in texts]
    for i, name in enumerate(head):
        cells = {row[i] for row in rows}
        if 0 < i < len(head) - 1 and len(cells) == 1:
            same += [f"{name} {cell}" for cell in cells if cell]
            continue
        kept.append(i)
        dates = {cell[: len(_DATE)] if _TIME.fullmatch(cell) else None for cell in cells if cell}
        if len(dates) == 1 and (date := dates.pop()) is not None:
            same.append(f"{name} {date}")
            for row in rows:
                row[i] = row[i][len(_DATE) + 1 :]
    return same, kept, rows


def _above(same: Sequence[str], screen: Screen) -> str:
    """A line on what all rows have."""
    from rich.text import Text

    console, out = _console(screen)
    console.print(Text(f"In all of these: {', '.join(same)}", style="dim"))
    return _stripped(out.getvalue())


def _text(cell: object) -> str:
    if cell is None or cell is ABSENT:
        return ""
    if isinstance(cell, list) and all(isinstance(name, str) for name in cell):
        return printable(", ".join(cell))
    return printable_cell(cell)


def _short(text: str) -> str:
    """No more of a cell than any screen shows."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _numeric(rows: list[list[object]], count: int) -> list[bool]:
    """Which columns hold only numbers and are right-aligned."""

    def all_numbers(column: int) -> bool:
        cells = [row[column] for row in rows if row[column] is not None]
        return bool(cells) and all(
            isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells
        )

    return [all_numbers(column) for column in range(count)]


def fit(
    natural: Sequence[int], numeric: Sequence[bool], width: int, *, narrow: bool = True
) -> list[int] | None:
    """Column widths that fill at most ``width``, the widest squeezed; None when they cannot fit.

    Numbers and times are never broken into lines. ``narrow``: also short columns are squeezed,
    where there is no other way.
    """
    room = width - _GAP * len(natural)
    for most in (_WHOLE, _NARROWEST) if narrow else (_WHOLE,):
        whole = [fix or n <= most for n, fix in zip(natural, numeric, strict=True)]
        lowest = [n if fix else _NARROWEST for n, fix in zip(natural, whole, strict=True)]
        if sum(lowest) <= room:
            break
    else:
        return None
    widths = list(natural)
    while (excess := sum(widths) - room) > 0:
        free = [i for i, w in enumerate(widths) if w > lowest[i]]
        widest = max(widths[i] for i in free)
        second = max([widths[i] for i in free if widths[i] < widest], default=0)
        those = [i for i in free if widths[i] == widest]
        step = max(1, min(widest - second, -(-excess // len(those))))
        for i in those:
            widths[i] = max(lowest[i], widths[i] - step)
    return widths


def _console(screen: Screen) -> tuple[Console, io.StringIO]:
    from rich.console import Console

    out = io.StringIO()
    system = screen.colour
    return Console(
        file=out, width=screen.width, force_terminal=system is not None, markup=False,
        emoji=False, highlight=False, color_system=system, legacy_windows=False,
        no_color=system is None,
    ), out  # fmt: skip


def _page(
    head: list[str],
    rows: list[list[str]],
    widths: list[int],
    numeric: Sequence[bool],
    screen: Screen,
    lines: int,
) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, show_edge=False
    )  # the box itself puts one blank between columns
    for name, width, number in zip(head, widths, numeric, strict=True):
        table.add_column(
            Text(name), width=width, overflow="fold", justify="right" if number else "left"
        )
    for row in rows:
        cells = zip(row, widths, strict=True)
        table.add_row(*(_cut(cell, lines * width) for cell, width in cells))
    console, out = _console(screen)
    console.print(table)
    return _stripped(out.getvalue())


def _blocks(head: list[str], rows: list[list[str]], before: int, screen: Screen) -> str:
    """One block per record, a line per column that is not empty, as the mysql client's ``\\G``."""
    from rich.table import Table
    from rich.text import Text

    console, out = _console(screen)
    label = min(max((cell_len(name) for name in head), default=0), max(8, screen.width // 3))
    for number, row in enumerate(rows, before + 1):
        console.print(Text(f"[{number}]", style="bold"))
        block = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
        block.add_column(width=label, overflow="fold")
        block.add_column(overflow="fold")
        room = _BLOCK * max(_NARROWEST, screen.width - label - 2 * _GAP)
        for name, cell in zip(head, row, strict=True):
            if cell:
                block.add_row(Text(name, style="cyan"), _cut(cell, room))
        console.print(block)
    return _stripped(out.getvalue())


def _cut(cell: str, room: int) -> Text:
    """A cell of at most ``room`` cells; a path keeps its end, by which it differs from others."""
    from rich.text import Text

    if cell_len(cell) > room and _PATH.fullmatch(cell):
        cell = f"…{cell[1 - room :]}"
    text = Text(cell)
    text.truncate(room, overflow="ellipsis")
    return text


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.split("\n")[:-1])
