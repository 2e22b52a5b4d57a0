"""``binlogkit fixtures``: golden binlogs of real servers, made, checked, listed; rare ones."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from binlogkit.cli.help import Group
from binlogkit.cli.options import output_of, output_options
from binlogkit.cli.status import FINDINGS, WELL
from binlogkit_fixtures import cli_generate
from binlogkit_fixtures.cli_generate import (
    SERIES,
    cell_options,
    many,
    server_options,
    settings_of,
)
from binlogkit_fixtures.scenarios import NAMES

__all__ = ["fixtures"]


@click.group(
    cls=Group,
    examples=(
        "fixtures list --scenario incident",
        "fixtures generate --scenario incident --version 8.0 --out logs",
    ),
    groups={
        "Make": ("generate", "cells", "write", "damaged", "regenerate-golden", "archive"),
        "Check": ("list", "verify", "diff"),
    },
)
def fixtures() -> None:
    """Golden binlogs of real servers: generate, verify, diff, list; write what no server makes.

    A scenario (SQL with a story) is run in the cells of a matrix of versions and settings; each run
    leaves its binlogs with a manifest beside them: hashes, settings, the server's own list of
    events, mysqlbinlog's text, and the server's SELECT of every table at marked points; and the
    events and rows that a decoder must give, as JSON lines.
    """


for _command in (cli_generate.generate, cli_generate.cells, cli_generate.diff):
    fixtures.add_command(_command)


@fixtures.command(
    examples=(
        "fixtures verify out/shop",
        "fixtures verify out/shop --format jsonl",
    )
)
@click.argument("root", metavar="DIR", type=click.Path(path_type=Path))
@output_options
def verify(root: Path, **arguments: Any) -> int:
    """Check every fixture in DIR against its manifest and index; print what is wrong.

    Files, SHA-256, the structure and checksums of each log, the server's own list of events, and
    anew: the expected events and rows, by mysqlbinlog's text, the log's bytes and the server's
    tables at marks.
    """
    from binlogkit.reports.output import write_records
    from binlogkit_fixtures import verify as checks
    from binlogkit_fixtures.progress import progress_bar

    names = ("folder", "file", "problem")
    folders = checks.folders(root)

    def findings(progress: Callable[[str], None]) -> Iterator[dict[str, str]]:
        for finding in checks.check_index(root):
            yield {name: getattr(finding, name) for name in names}
        for folder in folders:
            for finding in checks.verify(folder):
                yield {name: getattr(finding, name) for name in names}
            progress(folder.name)

    with progress_bar(len(folders)) as progress:
        found = list(findings(progress))
    write_records(found, output_of(arguments), names=names)
    return FINDINGS if found else WELL


@fixtures.command(
    "list",
    examples=(
        "fixtures list --scenario incident",
        "fixtures list --version 8.0 --format csv --output cases.csv",
    ),
)
@click.option(
    "--scenario", type=click.Choice(NAMES), metavar="NAME", help="Only this scenario, as incident."
)
@many("version", SERIES, "Only servers of this series")
@output_options
def list_(scenario: str | None, versions: Sequence[str], **arguments: Any) -> int:
    """List the golden cases that come with this package, with the paths of their logs."""
    from binlogkit.reports.output import write_entries, write_records
    from binlogkit_fixtures import golden

    names = (
        "cell", "scenario", "server", "server_version", "format", "image", "settings", "binlogs",
        "bytes", "events", "marks", "path", "logs",
    )  # fmt: skip
    view = ("cell", "scenario", "server", "server_version", "settings", "events", "logs")
    records = (
        _describe(case)
        for case in golden.cases(scenario=scenario)
        if not versions or case.settings.series in versions
    )
    output = output_of(arguments)
    if output.on_terminal and output.columns is None:
        write_entries(map(_entry, records), output)
    else:
        write_records(records, output, names=names, view=view)
    return WELL


def _entry(record: dict[str, Any]) -> Any:
    """A case in two lines, the second of which is what a command takes as its FILEs."""
    from binlogkit.reports.model import Entry

    name = "/".join(record[part] for part in ("cell", "scenario", "server") if record[part])
    facts = f"{record['server_version']}, {record['events']} events {record['settings']}".rstrip()
    return Entry(f"{name} ({facts})", (), shlex.join(record["logs"]))


def _describe(case: Any) -> dict[str, Any]:
    manifest, cell = case.manifest, case.settings
    return {
        "cell": case.cell,
        "scenario": case.scenario,
        "server": case.server,
        "server_version": manifest.server_version,
        "format": cell.format,
        "image": cell.image,
        "settings": settings_of(cell),
        "binlogs": len(case.binlogs),
        "bytes": sum(log.size for log in manifest.binlogs),
        "events": len(manifest.events),
        "marks": [mark.name for mark in manifest.marks],
        "path": str(case.path),
        "logs": [str(log) for log in case.binlogs],
    }


def _made_logs(command: Callable[..., int]) -> Callable[..., int]:
    """The options of what writes small logs by their names."""
    command = click.option(
        "--out",
        required=True,
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder to write to; nothing in it is replaced.",
    )(output_options(command))
    return click.argument("names", nargs=-1, metavar="[NAME]...")(command)


@fixtures.command(
    examples=(
        "fixtures write --out rare",
        "fixtures write --out rare --format jsonl",
    )
)
@_made_logs
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


@fixtures.command(
    examples=(
        "fixtures archive --out dist",
        "fixtures archive out/shop --out dist --release 1.0",
    )
)
@click.argument("root", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to; nothing in it is replaced.",
)
@click.option(
    "--release",
    metavar="VERSION",
    help="The version in the archives' names; by default this package's.",
)
def archive(root: Path | None, out: Path, release: str | None) -> int:
    """Pack the golden set, or that of DIR, as .tar.gz and .zip; print their paths.

    Plain data for projects that do not use Python: logs, manifests, expected events and rows as
    JSON lines, their JSON Schemas, an index, SHA256SUMS. The same set gives the same bytes.
    """
    from importlib.metadata import version

    from binlogkit_fixtures import golden
    from binlogkit_fixtures.expected.archive import write_archives

    for path in write_archives(root or golden.folder(), out, release or version("binlogkit")):
        click.echo(path)
    return WELL


@fixtures.command(
    examples=(
        "fixtures damaged --out broken",
        "fixtures damaged --out broken --columns name,expectation",
    )
)
@_made_logs
def damaged(names: Sequence[str], out: Path, **arguments: Any) -> int:
    """Write damaged logs, made of golden ones; all, or those that are named.

    A record for each says what a reader must make of it: must_read, may_refuse or must_refuse, the
    error, and the events that must still be delivered. damaged.jsonl in DIR holds them too.
    """
    from binlogkit.reports.output import write_records
    from binlogkit_fixtures.damaged.made import write_files

    fields = ("name", "verdict", "error", "level", "offset", "size", "what", "source", "path")
    records = (
        {**{name: getattr(record, name) for name in fields[:-1]}, "path": str(path)}
        for record, path in write_files(out, names)
    )
    write_records(records, output_of(arguments), names=fields, view=fields[:-2])
    return WELL


@fixtures.command(
    "regenerate-golden",
    examples=(
        "fixtures regenerate-golden --cell 8.0-row-full",
        "fixtures regenerate-golden --missing",
    ),
)
@cell_options
@server_options
@click.option(
    "--expected-only",
    is_flag=True,
    help="Keep the logs: write only the expected events and rows again, and the index.",
)
@click.option("--missing", is_flag=True, help="Make only the cases that are not there.")
def regenerate_golden(
    cells: Sequence[str], servers: int, expected_only: bool, missing: bool
) -> int:
    """Make the golden cases of this source tree again; print their folders.

    Which they are, the matrices of the package say. Servers are processes of this machine with the
    story's clock (generate --clock story).
    """
    from binlogkit_fixtures import golden, matrices
    from binlogkit_fixtures.progress import progress_bar

    chosen = [matrices.cell(name) for name in cells] or list(matrices.cells().values())
    if expected_only:
        names = {cell.name for cell in chosen}
        every = [*golden.cases(), *golden.encrypted()]
        cases = [case for case in every if case.cell in names]
        with progress_bar(len(cases)) as progress:
            click.echo(golden.expect(cases, progress=progress))
        return WELL
    with progress_bar(sum(len(cell.scenarios) for cell in chosen)) as progress:
        made = golden.regenerate(chosen, missing=missing, servers=servers, progress=progress)
    for folder in made:
        click.echo(folder)
    return WELL
