"""A real mydumper: PATH's, or Debian 12's 0.10.1 in the cache, run by its own loader.

It asks for its position with SHOW MASTER STATUS, which 8.4 no longer has: dumps of later servers
have none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from binlogkit.errors import OracleError, ServerError
from binlogkit_fixtures.servers import apt, cache
from binlogkit_fixtures.servers.base import Server
from binlogkit_fixtures.servers.mysqldump import run_client

__all__ = ["MyDumper", "ensure"]

_SUITE = "bookworm"
_PACKAGES = [
    "mydumper", "libmariadb3", "libglib2.0-0", "libpcre3", "libpcre2-8-0", "libc6", "zlib1g",
    "libssl3", "libzstd1",
]  # fmt: skip
_ENTRY = "mydumper-bookworm"
_SETTING = "BINLOGKIT_MYDUMPER"


@dataclass(frozen=True, slots=True)
class MyDumper:
    """A mydumper that runs here; ``argv``: the words to put before its arguments;
    ``environment``: what it needs besides."""

    argv: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def dump(self, server: Server, folder: Path, *arguments: str) -> None:
        """Dump a server into a new folder; OracleError: it failed."""
        words = [f"--outputdir={folder}", *arguments]
        run_client("mydumper", self.argv, server, words, self.environment)


def ensure() -> MyDumper:
    """The one that the environment names (BINLOGKIT_MYDUMPER), or Debian's, fetched into the cache
    when it is not there yet. OracleError: none is available."""
    named = os.environ.get(_SETTING)
    if named:
        return MyDumper((named,))
    try:
        folder = cache.entry(
            _ENTRY, lambda made: apt.unpack_packages(_SUITE, _PACKAGES, made)
        )  # fmt: skip
    except ServerError as exc:
        raise OracleError(f"no mydumper could be fetched: {exc}; set {_SETTING}") from exc
    triplet = Path("lib", "x86_64-linux-gnu")
    libraries = [str(folder / triplet), str(folder / "usr" / triplet)]
    loader = str(folder / triplet / "ld-linux-x86-64.so.2")
    program = str(folder / "usr" / "bin" / "mydumper")
    plugins = str(folder / "usr" / triplet / "libmariadb3" / "plugin")
    argv = (loader, "--library-path", ":".join(libraries), program)
    return MyDumper(argv, {"MARIADB_PLUGIN_DIR": plugins})
