"""``binlogkit sample``: the sample log of the documents, to try the commands on."""

from __future__ import annotations

from pathlib import Path

import click

from binlogkit.cli.help import Command
from binlogkit.cli.status import WELL, note
from binlogkit.errors import UsageError, WriteError


@click.command("sample", cls=Command)
@click.option(
    "--out", default=".", metavar="DIR", show_default=True, help="The folder to write it into."
)
def command(out: str) -> int:
    """Write a sample log to try the other commands on: binlog.000001, half an hour of a small shop.

    In it somebody's UPDATE lacked half of its condition.
    """
    from binlogkit.sources.sample import sample

    source, folder = Path(sample()), Path(out)
    target, data = folder / source.name, source.read_bytes()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if target.exists() and target.read_bytes() != data:
            raise UsageError(f"{target} is another file: name a folder with --out")
        target.write_bytes(data)
    except OSError as exc:
        raise WriteError(str(target), exc.strerror or str(exc)) from exc
    note(f"{target}: begin with `binlogkit audit {target}`")
    return WELL
