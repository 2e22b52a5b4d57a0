"""A mysqld's options: the defaults of every fixture server, and what a caller may set.

Names are those of the MySQL manual without the leading ``--``; ``_`` and ``-`` are the same to a
server, so they are the same here. Values are passed as arguments of the program, never by a shell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from binlogkit.errors import UsageError

__all__ = ["DEFAULTS", "RESERVED", "arguments", "normalise", "render"]

#: Every server's options unless the caller sets them: a log to look at, the same text everywhere,
#: little memory, and no waiting for a disk (a kill of the process alone loses nothing, because the
#: page cache outlives it). ``loose-`` stands where a version does not know the option.
DEFAULTS: Mapping[str, str | None] = {
    "server-id": "1",
    "log-bin": "binlog",
    "sync-binlog": "0",
    "skip-name-resolve": None,
    "default-time-zone": "+00:00",
    "character-set-server": "utf8mb4",
    "performance-schema": "OFF",
    "loose-mysqlx": "OFF",
    "innodb-buffer-pool-size": "32M",
    "innodb-buffer-pool-dump-at-shutdown": "OFF",
    "innodb-buffer-pool-load-at-startup": "OFF",
    "loose-innodb-log-file-size": "16M",
    "innodb-flush-log-at-trx-commit": "2",
    "innodb-doublewrite": "0",
}

#: What a runner itself decides, with ``skip-log-bin`` and its kin: these servers always log.
RESERVED = frozenset(
    """
    basedir bind-address console daemonize datadir defaults-extra-file defaults-file
    defaults-group-suffix disable-log-bin init-file initialize initialize-insecure
    lc-messages-dir log-bin-index log-error no-defaults pid-file port print-defaults
    skip-grant-tables skip-log-bin skip-networking socket user
    """.split()  # noqa: SIM905 - a table to read
)

_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)?", re.IGNORECASE)
_BASENAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def normalise(name: str) -> str:
    """An option's name as the tables here spell it: lower case, ``-``, no ``loose-``."""
    return name.lower().replace("_", "-").removeprefix("loose-")


def _checked(options: Mapping[str, str | None]) -> dict[str, tuple[str, str | None]]:
    """The caller's options by normalised name, each with the name as given.

    UsageError: no option's name, a control character in a value, an option that the runner sets,
    or one option twice.
    """
    seen: dict[str, tuple[str, str | None]] = {}
    for name, value in options.items():
        key = normalise(name)
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is not the name of a mysqld option (without --)")
        if value is not None and any(ord(c) < 32 for c in value):
            raise UsageError(f"the value of option {name} holds a control character")
        if key in RESERVED:
            raise UsageError(f"option {name} is set by the runner; leave it out")
        if key in seen:
            raise UsageError(f"option {name} is given twice")
        seen[key] = (name, value)
    _check_own(seen)
    return seen


def _check_own(options: Mapping[str, tuple[str, str | None]]) -> None:
    """UsageError unless logs have plain base names and ``server-uuid`` is a UUID."""
    for log in ("log-bin", "relay-log"):
        if log in options and not _BASENAME.fullmatch(options[log][1] or ""):
            raise UsageError(f"{log} must be a base name such as binlog: no folder, no extension")
    if "server-uuid" in options and not _UUID.fullmatch(options["server-uuid"][1] or ""):
        raise UsageError("server-uuid must be a UUID such as 3e11fa47-71ca-11e1-9e33-c80aa9429562")


def render(options: Mapping[str, str | None]) -> dict[str, str | None]:
    """The defaults with the caller's options over them; ``server-uuid`` stays in.

    UsageError: as the module's text says of names, values and reserved options.
    """
    given = _checked(options)
    merged = {name: value for name, value in DEFAULTS.items() if normalise(name) not in given}
    merged.update(dict(given.values()))
    return merged


def arguments(options: Mapping[str, str | None]) -> list[str]:
    """The arguments for mysqld, in a stable order: ``--name=value`` or ``--name``.

    ``server-uuid`` is left out: a server takes it from ``auto.cnf`` in its data folder.
    """
    return [
        f"--{name}" if value is None else f"--{name}={value}"
        for name, value in render(options).items()
        if normalise(name) != "server-uuid"
    ]
