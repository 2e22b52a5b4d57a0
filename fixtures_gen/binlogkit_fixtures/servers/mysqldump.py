"""A real mysqldump: PATH's, or Debian's newest in the cache, run by its own loader.

Official images of the servers hold it; the servers' archives that this generator uses do not. It
dumps 5.7 and from 8.2 on; in between it asks a server for its position with a statement that came
with 8.2, so that there only the GTID set is available.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from binlogkit.errors import OracleError, ServerError, printable
from binlogkit_fixtures.servers import apt, cache
from binlogkit_fixtures.servers.base import Server

__all__ = ["MysqlDump", "ensure"]

_SUITE = "sid"
_PACKAGES = [
    "mysql-client-core", "libc6", "libstdc++6", "libgcc-s1", "libssl3t64", "zlib1g", "libzstd1",
    "libtcmalloc-minimal4t64", "libgoogle-perftools4t64", "libunwind8", "liblzma5",
]  # fmt: skip
_ENTRY = "mysqldump-sid"
_SETTING = "BINLOGKIT_MYSQLDUMP"
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class MysqlDump:
    """A mysqldump that runs here; ``argv``: the words to put before its arguments."""

    argv: tuple[str, ...]

    def dump(self, server: Server, *arguments: str) -> bytes:
        """What it writes of a server; OracleError: it failed."""
        return run_client("mysqldump", self.argv, server, ["--column-statistics=0", *arguments])


def run_client(
    name: str,
    argv: Sequence[str],
    server: Server,
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """What a client of a server prints; ``argv``: the words before its arguments;
    ``environment``: what it needs besides the server's password. OracleError: it failed."""
    where = [f"--host={server.host}", f"--port={server.port}", f"--user={server.user}"]
    own = {"PATH": os.environ.get("PATH", os.defpath), "MYSQL_PWD": server.password}
    try:
        done = subprocess.run(
            [*argv, *where, *arguments], env=own | dict(environment or {}), capture_output=True,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise OracleError(f"{name} does not run here: {exc}") from exc
    if done.returncode != 0:
        said = printable(done.stderr.decode("utf-8", "replace")[-300:])
        raise OracleError(f"{name} failed with status {done.returncode}: {said}")
    return done.stdout


def ensure() -> MysqlDump:
    """The one that the environment names (BINLOGKIT_MYSQLDUMP), or Debian's, fetched into the cache
    when it is not there yet. OracleError: none is available."""
    named = os.environ.get(_SETTING)
    if named:
        return MysqlDump((named, "--no-defaults"))
    try:
        folder = cache.entry(
            _ENTRY, lambda made: apt.unpack_packages(_SUITE, _PACKAGES, made)
        )  # fmt: skip
    except ServerError as exc:
        raise OracleError(f"no mysqldump could be fetched: {exc}; set {_SETTING}") from exc
    libraries = folder / "usr" / "lib" / "x86_64-linux-gnu"
    program = folder / "usr" / "bin" / "mysqldump"
    plugins = folder / "usr" / "lib" / "mysql" / "plugin"
    loader = str(libraries / "ld-linux-x86-64.so.2")
    return MysqlDump(
        (loader, "--library-path", str(libraries), str(program), "--no-defaults",
         f"--plugin-dir={plugins}")
    )  # fmt: skip
