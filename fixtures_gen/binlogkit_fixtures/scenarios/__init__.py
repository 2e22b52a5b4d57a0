"""The stories that the generator can run, by name.

``load(name)`` gives a :class:`~binlogkit_fixtures.scenarios.model.Scenario`. Those written as SQL
files lie beside this module; ``types`` and ``incident`` are put together by Python. ``load_file``
reads a user's own, written as they are.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, resources
from pathlib import Path

from binlogkit.errors import InputError, UsageError, printable
from binlogkit_fixtures.scenarios.model import Scenario
from binlogkit_fixtures.scenarios.script import parse_script

__all__ = ["NAMES", "load", "load_file"]

_MODULES = {"types": "column_types", "incident": "incident"}
_SCRIPTS = (
    "transactions",
    "ddl",
    "keys",
    "statements",
    "json",
    "modern",
    "crash",
    "shutdown",
    "settings",
    "lost-events",
    "load-blocks",
    "engines",
    "generated",
    "geometry",
    "locks",
    "cascades",
    "pt-osc",
    "gh-ost",
    "partitions",
    "sql-modes",
    "time-zones",
    "triggers",
    "temporary",
    "odd-names",
    "wide-rows",
    "instant-ddl",
    "create-select",
    "auto-increment",
    "charsets",
    "scheduler",
    "binlog-statement",
    "restarts",
    "chain",
    "ring",
)

NAMES = (*_MODULES, *_SCRIPTS)


@cache
def load(name: str) -> Scenario:
    """The scenario of that name. UsageError: there is none, or its script is wrong."""
    if name in _MODULES:
        module = import_module(f"{__name__}.{_MODULES[name]}")
        scenario: Scenario = module.scenario()
        return scenario
    if name in _SCRIPTS:
        source = resources.files(__name__) / f"{name}.sql"
        return parse_script(name, source.read_text(encoding="utf-8"))
    raise UsageError(f"there is no scenario '{printable(name)}'; there are {', '.join(NAMES)}")


def load_file(path: Path) -> Scenario:
    """The scenario in a user's file, called as the file is without ``.sql``.

    InputError: unreadable, or not UTF-8. UsageError: the script is wrong; it names the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise InputError(str(path), f"unreadable: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise InputError(str(path), f"not UTF-8 at byte {exc.start}") from exc
    return parse_script(path.stem, text)
