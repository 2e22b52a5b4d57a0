"""Limits against hostile input, each of which an environment variable raises.

A log is read within them by default; what passes one is told as damage or as a LimitError that
names the variable. docs/hostile-input.md lists them.
"""

from __future__ import annotations

import os

from binlogkit.errors import UsageError

__all__ = ["PREFIX", "limit", "limits", "variable"]

PREFIX = "BINLOGKIT_MAX_"
_known: dict[str, tuple[int, int]] = {}


def variable(name: str) -> str:
    """The environment variable that sets the limit ``name``."""
    return PREFIX + name


def limit(name: str, default: int) -> int:
    """The value of a limit: that of its variable, else ``default``. UsageError: not a number."""
    text = os.environ.get(variable(name), "")
    if text and not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise UsageError(f"{variable(name)} is a whole number, not {text!r}")
    value = int(text) if text else default
    _known[name] = (value, default)
    return value


def limits() -> dict[str, tuple[int, int]]:
    """(value, default) by name, of the limits that the imported modules have."""
    return dict(sorted(_known.items()))
