"""``binlogkit fixtures``: golden binlogs of real servers, made, checked, listed; rare ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.options import output_of, output_options
from binlogkit.cli.status import FINDINGS, WELL
from binlogkit_fixtures.scenarios import NAMES

if TYPE_CHECKING:
    from binlogkit_fixtures.matrix import Cell

__all__ = ["fixtures"]

_SERIES = ("5.7", "8.0")
_FORMATS = ("ROW", "STATEMENT", "MIXED")
_IMAGES = ("full", "minimal", "noblob")

_runner = click.option(
    "--runner",
    type=click.Choice(["auto", "docker", "local"]),
    default="auto",
    show_default=True,
    help="Run servers in containers or as processes of this machine.",
)
_servers = click.option(
    "--servers",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="How many servers run at a time.",
)


def _many(name: str, choices: Sequence[str], text: str) -> Callable[[Any], Any]:
    return click.option(
        f"--{name}",
        f"{name}s",
        multiple=True,
        type=click.Choice(choices, case_sensitive=False),
        help=f"{text} (repeatable; default: all).",
    )


_cells = click.option(
    "--cell", "cells", multiple=True, metavar="NAME", help="Only this cell, as 8.0-row-minimal."
)


@click.group()
def fixtures() -> None:
    """Golden binlogs of real servers: generate, verify, list; write those that no server makes.

    A scenario (SQL with a story) is run in the cells of a matrix of versions and settings; each run
    leaves its binlogs with a manifest beside them: hashes, settings, the server's own list of
    events, mysqlbinlog's text, and the server's SELECT of every table at marked points.
    """


@fixtures.command()
@_many("version", _SERIES, "Only servers of this series")
@click.option(
    "--binlog-format",
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(_FORMATS, case_sensitive=False),
    help="Only this binlog_format (repeatable; default: all).",
)
@_many("image", _IMAGES, "Only this binlog_row_image")
@_many("scenario", NAMES, "Only this scenario")
@_cells
@_runner
@click.option(
    "--clock",
    type=click.Choice(["auto", "story", "real"]),
    default="auto",
    show_default=True,
    help="story: the server's own clock follows the story (local runner; needs Debian's apt).",
)
@_servers
@click.option(
    "--mysqlbinlog/--no-mysqlbinlog",
    default=True,
    show_default=True,
    help="Keep mysqlbinlog's text of each log beside it.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to; a cell's folder in it must not exist yet.",
)
def generate(
    versions: Sequence[str],
    formats: Sequence[str],
    images: Sequence[str],
    scenarios: Sequence[str],
    cells: Sequence[str],
    runner: str,
    clock: str,
    servers: int,
    mysqlbinlog: bool,
    out: Path,
) -> int:
    """Run scenarios on servers; print the folder of each one, a line each."""
    from binlogkit_fixtures import matrix
    from binlogkit_fixtures.capture import capture_matrix
    from binlogkit_fixtures.oracle import find_oracle
    from binlogkit_fixtures.progress import progress_bar

    chosen = matrix.select(cells=cells, versions=versions, formats=formats, images=images)
    wanted = scenarios or NAMES
    oracle = find_oracle() if mysqlbinlog else None
    with progress_bar(len(chosen) * len(wanted)) as progress:
        folders = capture_matrix(
            [(cell, wanted) for cell in chosen],
            out,
            runner=runner,
            clock=clock,
            oracle=oracle,
            servers=servers,
            progress=progress,
        )
    for folder in folders:
        click.echo(folder)
    return WELL


@fixtures.command()
@click.argument("root", metavar="DIR", type=click.Path(path_type=Path))
@output_options
def verify(root: Path, **arguments: Any) -> int:
    """Check every fixture in DIR against its manifest; print what is wrong.

    Files, SHA-256, the structure and checksums of each log, and the server's own list of events.
    """
    from binlogkit.reports.output import write_records
    from binlogkit_fixtures import verify as checks
    from binlogkit_fixtures.progress import progress_bar

    names = ("folder", "file", "problem")
    folders = checks.folders(root)

    def findings(progress: Callable[[str], None]) -> Iterator[dict[str, str]]:
        for folder in folders:
            for finding in checks.verify(folder):
                yield {name: getattr(finding, name) for name in names}
            progress(folder.name)

    with progress_bar(len(folders)) as progress:
        found = list(findings(progress))
    write_records(found, output_of(arguments), names=names)
    return FINDINGS if found else WELL


@fixtures.command("list")
@click.option("--scenario", type=click.Choice(NAMES), help="Only this scenario.")
@_many("version", _SERIES, "Only servers of this series")
@output_options
def list_(scenario: str | None, versions: Sequence[str], **arguments: Any) -> int:
    """List the golden cases that come with this package."""
    from binlogkit.reports.output import write_records
    from binlogkit_fixtures import golden

    names = (
        "cell", "scenario", "server_version", "format", "image", "settings", "binlogs", "bytes",
        "events", "marks", "path",
    )  # fmt: skip
    records = (
        _describe(case)
        for case in golden.cases(scenario=scenario)
        if not versions or case.settings.series in versions
    )
    write_records(records, output_of(arguments), names=names, view=names[:-1])
    return WELL


def _describe(case: Any) -> dict[str, object]:
    manifest, cell = case.manifest, case.settings
    return {
        "cell": case.cell,
        "scenario": case.scenario,
        "server_version": manifest.server_version,
        "format": cell.format,
        "image": cell.image,
        "settings": " ".join(f"{name}={value}" for name, value in cell.settings.items()),
        "binlogs": len(case.binlogs),
        "bytes": sum(log.size for log in manifest.binlogs),
        "events": len(manifest.events),
        "marks": [mark.name for mark in manifest.marks],
        "path": str(case.path),
    }


@fixtures.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to; nothing in it is replaced.",
)
@output_options
def write(names: Sequence[str], out: Path, **arguments: Any) -> int:
    """Write small logs that no server at hand writes; all, or those that are named.

    Logs of 3.23 and 4.1, LOAD DATA's old events, the first rows events, group replication, NDB,
    incidents, heartbeats, relay logs, MariaDB's types: each with where its format is published.
    """
    from binlogkit.reports.output import write_records
    from binlogkit_fixtures.writer.rare import write_files

    fields = ("name", "bytes", "shows", "source", "path")
    written = write_files(out, names)
    records = (
        dict(
            zip(
                fields,
                (log.name, path.stat().st_size, log.shows, log.source, str(path)),
                strict=True,
            )
        )
        for log, path in written
    )
    write_records(records, output_of(arguments), names=fields, view=fields[:-1])
    return WELL


@fixtures.command("regenerate-golden")
@_cells
@_servers
def regenerate_golden(cells: Sequence[str], servers: int) -> int:
    """Make the golden cases of this source tree again; print their folders.

    Servers are processes of this machine with the story's clock (generate --clock story).
    """
    from binlogkit_fixtures import golden, matrix
    from binlogkit_fixtures.progress import progress_bar

    chosen: list[Cell] = [matrix.cell(name) for name in cells] or list(matrix.CELLS.values())
    with progress_bar(sum(len(cell.golden) + len(cell.apart) for cell in chosen)) as progress:
        made = golden.regenerate(chosen, servers=servers, progress=progress)
    for folder in made:
        click.echo(folder)
    return WELL
