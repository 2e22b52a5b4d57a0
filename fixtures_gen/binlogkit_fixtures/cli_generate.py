"""``binlogkit fixtures`` ``generate``, ``cells`` and ``diff``: runs, and what they gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import output_of, output_options
from binlogkit.cli.status import FINDINGS, WELL, complain, note
from binlogkit.errors import UsageError
from binlogkit_fixtures.scenarios import NAMES

if TYPE_CHECKING:
    from binlogkit_fixtures.matrix import Cell

__all__ = [
    "SERIES", "cell_options", "cells", "diff", "generate", "many", "server_options", "settings_of",
]  # fmt: skip

SERIES = ("5.7", "8.0")
_FORMATS = ("ROW", "STATEMENT", "MIXED")
_IMAGES = ("full", "minimal", "noblob")

_runner = click.option(
    "--runner",
    type=click.Choice(["auto", "docker", "local"]),
    default="auto",
    show_default=True,
    help="Run servers in containers or as processes of this machine.",
)
server_options = click.option(
    "--servers",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="How many servers run at a time.",
)


def many(name: str, choices: Sequence[str], text: str) -> Callable[[Any], Any]:
    return click.option(
        f"--{name}",
        f"{name}s",
        multiple=True,
        type=click.Choice(choices, case_sensitive=False),
        help=f"{text} (repeatable; default: all).",
    )


def _scenarios(_: click.Context, __: click.Parameter, words: Sequence[str]) -> Sequence[str | Path]:
    """Scenarios of this package by their names, and files."""
    for word in words:
        if word not in NAMES and not word.endswith(".sql"):
            raise click.BadParameter(f"{word!r} is none of {', '.join(NAMES)}, and no FILE.sql")
    return [word if word in NAMES else Path(word) for word in words]


cell_options = click.option(
    "--cell", "cells", multiple=True, metavar="NAME", help="Only this cell, as 8.0-row-minimal."
)


def settings_of(cell: Cell) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.settings.items())


@click.command(
    cls=Command,
    examples=(
        "fixtures generate --scenario incident --version 8.0 --out logs",
        "fixtures generate --scenario own.sql --matrix own.toml --out logs",
    ),
)
@many("version", SERIES, "Only servers of this series")
@click.option(
    "--binlog-format",
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(_FORMATS, case_sensitive=False),
    help="Only this binlog_format (repeatable; default: all).",
)
@many("image", _IMAGES, "Only this binlog_row_image")
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    callback=_scenarios,
    metavar="NAME|FILE.sql",
    help=f"A scenario of this package ({', '.join(NAMES)}) or of a file (repeatable; "
    "default: those that the matrix names, or else all of the package).",
)
@cell_options
@click.option(
    "--matrix",
    "matrix_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Cells from a matrix of your own (TOML: servers, settings, a rule).",
)
@_runner
@click.option(
    "--clock",
    type=click.Choice(["auto", "story", "real"]),
    default="auto",
    show_default=True,
    help="story: the server's own clock follows the story (local runner; needs Debian's apt).",
)
@server_options
@click.option(
    "--mysqlbinlog/--no-mysqlbinlog",
    default=True,
    show_default=True,
    help="Keep mysqlbinlog's text of each log beside it.",
)
@click.option(
    "--mark-each",
    is_flag=True,
    help="Keep the server's SELECT of every table after each statement, not at marks alone.",
)
@click.option("--resume", is_flag=True, help="Make what an interrupted run in DIR has not made.")
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to, which must be empty, or be resumed.",
)
def generate(
    versions: Sequence[str],
    formats: Sequence[str],
    images: Sequence[str],
    scenarios: Sequence[str | Path],
    cells: Sequence[str],
    matrix_file: Path | None,
    runner: str,
    clock: str,
    servers: int,
    mysqlbinlog: bool,
    mark_each: bool,
    resume: bool,
    out: Path,
) -> int:
    """Run scenarios on servers; print the folder of each one, a line each.

    The expected events and rows are written beside the logs, and proved; DIR gets an index. SIGINT
    and SIGTERM end it at once, and what is whole by then stays for --resume. A scenario's file is
    SQL with directives, a matrix is servers with settings: docs/fixtures.md.
    """
    from binlogkit_fixtures.capture import How
    from binlogkit_fixtures.generation import Order, generate
    from binlogkit_fixtures.oracle import find_oracle
    from binlogkit_fixtures.progress import progress_bar
    from binlogkit_fixtures.scenarios import load, load_file
    from binlogkit_fixtures.signals import interruptible

    chosen = _chosen(cells, matrix_file, versions, formats, images)
    naming = [] if scenarios else [cell for cell in chosen if cell.scenarios]
    chosen = naming or [replace(cell, scenarios=()) for cell in chosen]
    names = dict.fromkeys(name for cell in naming for name in cell.scenarios)
    wanted = [load_file(s) if isinstance(s, Path) else load(s) for s in scenarios or names]
    if not wanted:  # all that ask for nothing which the cells do not say
        options = {option for cell in chosen for option in cell.options}
        wanted = [scenario for scenario in map(load, NAMES) if scenario.asked <= options]
    if mark_each:
        wanted = [scenario.watched() for scenario in wanted]
    with interruptible():
        oracle = find_oracle() if mysqlbinlog else None
        order = Order(tuple(chosen), tuple(wanted), How(runner, clock, oracle))
        with progress_bar(len(order.cases)) as progress:
            made = generate(order, out, resume=resume, servers=servers, progress=progress)
    for name, why in made.left_out.items():
        note(f"{name} is left out: {why}")
    for problem in made.problems:
        complain(f"{problem.file}: {problem.what}")
    for folder in made.folders:
        click.echo(folder)
    return FINDINGS if made.problems else WELL


def _chosen(
    cells: Sequence[str],
    matrix_file: Path | None,
    versions: Sequence[str] = (),
    formats: Sequence[str] = (),
    images: Sequence[str] = (),
) -> list[Cell]:
    """The cells of this package's matrix or of a file. UsageError: there is none such."""
    from binlogkit_fixtures import matrices

    if matrix_file is None:
        return matrices.select(names=cells, versions=versions, formats=formats, images=images)
    from binlogkit_fixtures.matrix_file import read_matrix

    if versions or formats or images:
        raise UsageError("a matrix of a file is narrowed in the file, or by --cell")
    known = {cell.name: cell for cell in read_matrix(matrix_file).cells()}
    unknown = [name for name in cells if name not in known]
    if unknown:
        raise UsageError(f"there is no cell '{unknown[0]}'; there are {', '.join(known)}")
    return [known[name] for name in cells] or list(known.values())


@click.command(
    "cells",
    cls=Command,
    examples=(
        "fixtures cells matrix.toml",
        "fixtures cells --example",
    ),
)
@click.argument("matrix_file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option("--example", is_flag=True, help="Print a wide matrix file instead, to begin with.")
@output_options
def cells(matrix_file: Path | None, example: bool, **arguments: Any) -> int:
    """List the cells that the rule of a matrix file chooses, with their settings."""
    from binlogkit.reports.output import write_records

    if example:
        from binlogkit_fixtures.matrices import EXAMPLE, matrix_path

        click.echo(matrix_path(EXAMPLE).read_text(encoding="utf-8"), nl=False)
        return WELL
    if matrix_file is None:
        raise UsageError("a matrix file is wanted; --example prints one")
    names = ("cell", "server", "format", "image", "settings")
    records = (
        dict(zip(names, (c.name, c.series, c.format, c.image, settings_of(c)), strict=True))
        for c in _chosen((), matrix_file)
    )
    write_records(records, output_of(arguments), names=names)
    return WELL


@click.command(
    cls=Command,
    examples=(
        "fixtures diff out/shop out/again",
        "fixtures diff out/shop out/again --each",
    ),
)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--each", is_flag=True, help="A record for each difference.")
@output_options
def diff(a: Path, b: Path, each: bool, **arguments: Any) -> int:
    """Compare the fixtures of A and B, case by case, and explain what differs.

    same: the logs byte for byte. equal: but for what no server can repeat, as commit timestamps and
    table ids. different: something that nothing of it explains. A record for each kind of
    difference of a case, with the first of them. Exit status 1 where a case is different, or in
    one of them only.
    """
    from binlogkit.reports.output import write_records
    from binlogkit_fixtures.differences import compare_sets

    names = ("case", "result", "kind", "count", "first", "reason")
    worst = WELL

    def records() -> Iterator[dict[str, object]]:
        nonlocal worst
        for found in compare_sets(a, b):
            if found.result not in ("same", "equal"):
                worst = FINDINGS
            groups: dict[object, list[Any]] = {}
            for number, difference in enumerate(found.differences):
                groups.setdefault(number if each else difference.kind, []).append(difference)
            for first, *others in groups.values() or [[None]]:
                details = (first.kind, 1 + len(others), first.where, first.reason) if first else ()
                values = (found.case, found.result, *details)
                yield {name: values[n] if n < len(values) else None for n, name in enumerate(names)}

    write_records(records(), output_of(arguments), names=names, view=names[:-1])
    return worst
