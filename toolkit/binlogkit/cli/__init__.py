"""The command ``binlogkit``: options -> library -> print.

Commands of other packages are found through the entry-point group ``binlogkit.commands``.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from binlogkit import __version__
from binlogkit.cli.help import GROUPS, Group
from binlogkit.cli.progress import end_progress
from binlogkit.cli.startup import process_is_ours
from binlogkit.cli.status import FINDINGS, UNREADABLE, complain
from binlogkit.errors import (
    BinlogKitError,
    DamageError,
    GapError,
    InputError,
    LimitError,
    SchemaError,
    UndeterminedError,
    UnmetWarning,
    UsageError,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

__all__ = ["cli", "main"]

ENTRY_POINTS = "binlogkit.commands"
# The name is the module's, but of those that share one.
_COMMANDS = (
    "audit", "capture", "conform", "diff", "erase", "events", "expire", "explain", "index", "land",
    "life", "live", "redo", "rows", "rules", "sample", "snapshot", "state", "status", "touched",
    "transactions", "undo", "verify",
)  # fmt: skip
_SHARED = {
    "events": "records", "rows": "records", "transactions": "records", "redo": "undo",
    "status": "landing",
}  # fmt: skip
_INTERRUPTED = 130
_FOUND = (DamageError, GapError, LimitError, SchemaError, UndeterminedError)  # of logs


def _entry_points() -> EntryPoints:
    """Other packages' commands: what finds them takes a tenth of a command's start to load."""
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


class _Commands(Group):
    """Loads a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = {point.name for point in _entry_points()}
        return sorted({*_COMMANDS, *found})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            module = importlib.import_module(f"binlogkit.cli.{_SHARED.get(cmd_name, cmd_name)}")
            command: click.Command = getattr(module, cmd_name if cmd_name in _SHARED else "command")
            return command
        for point in _entry_points().select(name=cmd_name):
            loaded: click.Command = point.load()
            return loaded
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args or args[0].startswith("-") or self.get_command(ctx, args[0]) is not None:
            return super().resolve_command(ctx, args)
        meant = " or ".join(get_close_matches(args[0], self.list_commands(ctx), n=2))
        with suppress(OSError, ValueError):
            meant = f"binlogkit audit {args[0]}" if Path(args[0]).exists() else meant
        hint = f"; did you mean {meant}?" if meant else " (see binlogkit --help)"
        raise UsageError(f"there is no command {args[0]!r}{hint}")


@click.command(
    cls=_Commands, groups=GROUPS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="binlogkit")
def cli() -> None:
    """Forensic analysis and test fixtures for MySQL binary logs.

    Exit status: 0 all well; 1 findings (damage, gaps, differences, an undecodable cell, a state
    that the log does not determine); 2 usage or unreadable input. Records go to standard output,
    all else to standard error.
    """


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit with its status; the process is the command's."""
    process_is_ours()
    sys.exit(run(argv))


def _usage(exc: click.ClickException) -> str:
    """What is wrong with the command line, and where the right use is described."""
    context = getattr(exc, "ctx", None)
    words = " ".join(exc.format_message().split())
    return f"{words} (see {context.command_path} --help)" if context else words


def run(argv: list[str] | None = None) -> int:
    """Run the command line; the exit status."""
    # What filters name and the log does not have is reported in notes, see cli/status.py.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetWarning)
        return _run(argv)


def _run(argv: list[str] | None) -> int:
    try:
        status = cli.main(args=argv, prog_name="binlogkit", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as exc:
        return exc.exit_code
    except click.exceptions.NoArgsIsHelpError as exc:
        exc.show()
        return UNREADABLE
    except click.ClickException as exc:
        complain(_usage(exc))
        return UNREADABLE
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return _INTERRUPTED
    except BinlogKitError as exc:
        for line in exc.lines() if isinstance(exc, GapError | InputError) else [str(exc)]:
            complain(line)
        return FINDINGS if isinstance(exc, _FOUND) else UNREADABLE
    except BrokenPipeError:
        # The reader went away: what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        end_progress()
    return status if isinstance(status, int) else 0
