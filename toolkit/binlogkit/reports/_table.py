"""A stream of rows as a table for people, in bounded memory.

On a terminal: pages of a rich table, whose widths come from the first page and whose cells are cut
after three lines; if the columns do not fit, one block of lines per record. Elsewhere: plain
aligned columns, nothing cut off.
Every cell, and every column's name, goes through :func:`binlogkit.errors.printable`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

from binlogkit.errors import printable
from binlogkit.reports._columns import ABSENT
from binlogkit.reports._values import printable_cell

if TYPE_CHECKING:
    from rich.console import Console

Colour = Literal["standard", "256", "truecolor", "windows"]

COLOURS: tuple[Colour, ...] = ("standard", "256", "truecolor", "windows")
PAGE = 100  # rows that determine the widths
_LONGEST = 2000  # characters of a cell that a block shows
_LINES = 3  # of a cell in a page
_WHOLE = 20  # cells of the widest column that is never squeezed: a time's
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
) -> Iterator[str]:
    """The same for a terminal, a page at a time, with no other escape sequences than our own."""
    stream = iter(rows)
    head = [printable(name) for name in names]
    first = list(islice(stream, page))
    numeric = _numeric(first, len(head)) if numeric is None else numeric
    texts = [[_short(_text(cell)) for cell in row] for row in first]
    natural = [max(cell_len(row[i]) for row in [head, *texts]) for i in range(len(head))]
    widths = fit(natural, numeric, screen.width)
    number = 0
    if not texts and head and widths is not None:
        yield _page(head, [], widths, numeric, screen)
    while texts:
        if widths is None:
            yield _blocks(head, texts, number, screen)
        else:
            yield _page(head, texts, widths, numeric, screen)
        number += len(texts)
        texts = [[_short(_text(cell)) for cell in row] for row in islice(stream, page)]


def block_table(
    names: Sequence[str], rows: Iterable[Sequence[object]], screen: Screen
) -> Iterator[str]:
    """The rows for a terminal, a block of lines each."""
    head = [printable(name) for name in names]
    yield _blocks(head, [[_short(_text(cell)) for cell in row] for row in rows], 0, screen)


def _text(cell: object) -> str:
    if cell is None or cell is ABSENT:
        return ""
    if isinstance(cell, list) and all(isinstance(name, str) for name in cell):
        return printable(", ".join(cell))
    return printable_cell(cell)


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… ({len(text)} characters; --format jsonl has them all)"


def _numeric(rows: list[list[object]], count: int) -> list[bool]:
    """Which columns hold only numbers and are right-aligned."""

    def all_numbers(column: int) -> bool:
        cells = [row[column] for row in rows if row[column] is not None]
        return bool(cells) and all(
            isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells
        )

    return [all_numbers(column) for column in range(count)]


def fit(natural: Sequence[int], numeric: Sequence[bool], width: int) -> list[int] | None:
    """Column widths that fill at most ``width``, the widest squeezed; None when they cannot fit.

    Numbers and times are never broken into lines.
    """
    room = width - _GAP * len(natural)
    whole = [fix or n <= _WHOLE for n, fix in zip(natural, numeric, strict=True)]
    lowest = [n if fix else _NARROWEST for n, fix in zip(natural, whole, strict=True)]
    if sum(lowest) > room:
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
        cells = [Text(cell) for cell in row]
        for cell, width in zip(cells, widths, strict=True):
            cell.truncate(_LINES * width, overflow="ellipsis")
        table.add_row(*cells)
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
        for name, cell in zip(head, row, strict=True):
            if cell:
                block.add_row(Text(name, style="cyan"), Text(cell))
        console.print(block)
    return _stripped(out.getvalue())


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.split("\n")[:-1])
