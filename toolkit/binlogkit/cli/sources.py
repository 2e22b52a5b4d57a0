"""What a command is asked of: logs, or the folder of a landing where that gives the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from binlogkit.cli.startup import arrow_of_a_driver
from binlogkit.errors import InputError, UsageError
from binlogkit.sources.landed import is_landing

if TYPE_CHECKING:
    from binlogkit.spark.landing import Landing

_BYTES = "it is about the logs' bytes, and a landing has none"
#: Why commands have no answer from a landing.
_WHY = {
    "rows": "it also gives changes that were rolled back, and a landing has committed ones, which "
    "any reader of Delta reads",
    **dict.fromkeys(("conform", "events", "explain"), _BYTES),
    "verify": f"with --images alone it takes one, else {_BYTES}",
}  # fmt: skip
_INSTEAD = "; audit, diff, life, redo, state, touched, transactions and undo take it"


def landing_of(arguments: dict[str, Any]) -> Landing | None:
    """The landing that a command's only argument names, if it is the folder of one, or a ledger is
    given. Takes the options of a store out."""
    files, ledger = arguments["files"], arguments.pop("ledger")
    options = pairs_of(arguments.pop("target_options"))
    in_store = ledger is not None or bool(options)
    if len(files) != 1 or not (in_store or is_landing(Path(files[0]))):
        return None
    if arguments.get("engine") == "spark":
        arrow_of_a_driver()
    from binlogkit.spark.landing import Landing

    return Landing(files[0], ledger=ledger, target_options=options)


def pairs_of(given: tuple[str, ...]) -> dict[str, str]:
    """``NAME=VALUE`` options. UsageError."""
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise UsageError("a target option is NAME=VALUE")
        found[name] = value
    return found


def only(arguments: Mapping[str, Any], *allowed: str) -> None:
    """UsageError: an option was given that a landing, or Spark, has no use for."""
    plain = {"files", "on_damage", "duplicates", *allowed}
    given = [name for name, value in arguments.items() if value not in (None, (), False)]
    for name in given:
        if name not in plain:
            raise UsageError(f"--{name.replace('_', '-')} is not for a landing")


def refuse_landings(files: Sequence[str]) -> None:
    """UsageError: the folder of a landing is named where only logs give the answer."""
    for path in (path for path in files if is_landing(Path(path))):
        refuse_landing(path)


def refuse_landing(path: str) -> NoReturn:
    """UsageError: this landing is named."""
    command = click.get_current_context().command.name or ""
    why = _WHY.get(command, f"{command} reads logs")
    raise UsageError(f"{path} is a landing: {why}. {_remedy(path)}{_INSTEAD}")


def _remedy(path: str) -> str:
    """Where the logs of a landing were, and whether they are still there."""
    from binlogkit.spark.landing.journal import read_journal
    from binlogkit.spark.landing.store import place_of
    from binlogkit.spark.landing.waiting import is_there

    logs: list[str] = []
    with suppress(InputError, UsageError):
        logs = [*dict.fromkeys(span.file for span in read_journal(place_of(path))[2])]
    if not logs:  # nothing has landed
        return "Name the logs"
    there = [log for log in logs if is_there(log)]
    if not there:
        return f"Name its logs: none of the {len(logs)} is where it was"
    more = f" and {len(there) - 1} more" if len(there) > 1 else ""
    gone = f"; {len(logs) - len(there)} are gone" if len(there) < len(logs) else ""
    return f"Name its logs: {there[0]}{more}{gone}"
