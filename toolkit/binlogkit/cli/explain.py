"""``binlogkit explain``: an event as an annotated walk over its bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    open_input,
    output_of,
    output_options,
    reading_options,
    write_html,
)
from binlogkit.cli.pages import page_of, page_options
from binlogkit.cli.status import FINDINGS, WELL, complain
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    from binlogkit.events.explain.walk import EventWalk
    from binlogkit.log import Log

VIEW = ("offset", "length", "field", "raw", "value", "meaning")


@click.command("explain", cls=Command)
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.option(
    "--at",
    multiple=True,
    metavar="POS[/INNER]",
    help="Where the event begins; /INNER: its number in a compressed payload; with several files "
    "FILE:POS (repeatable; without it: every event).",
)
@click.option(
    "--text",
    metavar="TEXT",
    help="Events as hex or base64 instead of a file, as mysqlbinlog or xxd print them; - reads "
    "standard input.",
)
@page_options("Write it as one HTML file: bytes and fields side by side.")
@reading_options
@output_options
def command(**arguments: Any) -> int:
    """Every byte of an event: offset, size, field, value, and what it means.

    As a table it is a text to read; in the other formats one record per field.
    """
    from binlogkit.frames.event_records import explain_records
    from binlogkit.frames.fields.ledger import EXPLAIN
    from binlogkit.log.explain import Explanation, explanations
    from binlogkit.reports.explain.masked import masked
    from binlogkit.reports.output import write_records

    page = page_of(arguments, "output_format", "output", "columns")
    output, at = output_of(arguments), arguments.pop("at")
    log = _opened(arguments)
    page.find(log)
    watched = _Watched()
    walks = watched.watching(explanations(log, list(at) or None))
    if page.path is not None:
        shown = (masked(walk, page.shows) for walk in walks) if page.masked else walks
        write_html(page.path, Explanation(tuple(shown)).html(), "explanation")
    elif output.format == "table" and output.columns is None:
        from binlogkit.reports.explain.text import write

        write(walks, output.path)
    else:
        records = (record for walk in walks for record in explain_records(walk))
        write_records(records, output, declared=EXPLAIN, view=VIEW)
    return watched.status(log)


def _opened(arguments: dict[str, Any]) -> Log:
    """The log that the arguments name, or that which the text holds."""
    text = arguments.pop("text")
    if text is not None:
        if arguments["files"]:
            raise UsageError("give files or --text, not both")
        source = sys.stdin.buffer.read() if text == "-" else text.encode("utf-8", "surrogateescape")
        if not source:
            raise UsageError("the text of --text is empty")
        arguments["files"] = source
    log: Log = open_input(arguments)
    return log


class _Watched:
    """What is wrong with the events that went by."""

    def __init__(self) -> None:
        self._places: set[int] = set()
        self._problems: list[str] = []

    def watching(self, walks: Iterator[EventWalk]) -> Iterator[EventWalk]:
        """The same events."""
        for walk in walks:
            raw = walk.raw
            self._places.add(raw.pos)
            self._problems += [f"{raw.file} at {raw.pos}: {p}" for p in walk.problems]
            yield walk

    def status(self, log: Log) -> int:
        """Report them, and the damage before them; the exit status."""
        problems = [str(d) for d in log.damages if d.offset not in self._places]
        problems += [*self._problems, *log.problems]
        for problem in problems:
            complain(problem)
        return FINDINGS if problems else WELL
