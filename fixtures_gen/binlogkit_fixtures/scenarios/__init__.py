"""The stories that the generator can run, by name.

``load(name)`` gives a :class:`~binlogkit_fixtures.scenarios.model.Scenario`. Those written as SQL
files lie beside this module; ``types`` and ``incident`` are put together by Python.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, resources

from binlogkit.errors import UsageError, printable
from binlogkit_fixtures.scenarios.model import Scenario
from binlogkit_fixtures.scenarios.script import parse_script

__all__ = ["NAMES", "load"]

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
