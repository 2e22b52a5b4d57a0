"""A real mysqlbinlog, the judge: the user's own, PATH's, or Debian's newest in the cache.

How 9.7 comes here without root and without Docker: docs/servers.md. What it brings is
recorded and not pinned, because Debian's sid moves. Official images hold no mysqlbinlog.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from binlogkit.errors import OracleError, ServerError, printable
from binlogkit_fixtures.servers import apt, cache

__all__ = ["MysqlBinlog", "ensure", "find"]

_SUITE = "sid"
_PACKAGES = [
    "mysql-server-core", "libc6", "libstdc++6", "libgcc-s1", "libssl3t64", "zlib1g", "libzstd1",
    "liblz4-1", "libtcmalloc-minimal4t64", "libgoogle-perftools4t64", "libunwind8", "liblzma5",
]  # fmt: skip
_ENTRY = "mysqlbinlog-sid"
_SETTING = "BINLOGKIT_MYSQLBINLOG"
_HELP = f"set {_SETTING}=/path/to/mysqlbinlog, or apt-get install mysql-server-core"


@dataclass(frozen=True, slots=True)
class MysqlBinlog:
    """A mysqlbinlog that runs here.

    ``argv``: the words to put before its arguments; ``version``: as ``9.7.4``.
    """

    argv: tuple[str, ...]
    version: str


def _probe(argv: tuple[str, ...]) -> MysqlBinlog:
    """What ``argv`` runs; OracleError when that is no mysqlbinlog of MySQL."""
    try:
        done = subprocess.run(
            [*argv, "--no-defaults", "--version"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=60, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise OracleError(f"{argv[-1]} does not run here: {exc}; {_HELP}") from exc
    text = (done.stdout + done.stderr).strip()
    found = re.search(
        r"mysqlbinlog\S*\s+Ver (\d+\.\d+(?:\.\d+)?)(?:.*Distrib (\d+\.\d+\.\d+))?", text
    )
    if found is None or "MariaDB" in text:
        said = printable(text[:200]) or f"status {done.returncode}"
        raise OracleError(f"{argv[-1]} is no mysqlbinlog of MySQL that runs here: {said}; {_HELP}")
    return MysqlBinlog(argv, found.group(2) or found.group(1))


def _cached() -> MysqlBinlog | None:
    """The one in the cache, its version read from a file beside it, or None."""
    folder = cache.cache_dir() / _ENTRY
    try:
        version = (folder / "version").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    return MysqlBinlog(_argv(folder), version)


def _argv(folder: Path) -> tuple[str, ...]:
    """The words that run the unpacked program by its own loader and its own libraries."""
    libraries = folder / "usr" / "lib" / "x86_64-linux-gnu"
    program = folder / "usr" / "bin" / "mysqlbinlog"
    loader = libraries / "ld-linux-x86-64.so.2"
    return (str(loader), "--library-path", str(libraries), str(program))


def find() -> MysqlBinlog | None:
    """The mysqlbinlog that the environment names, or PATH's, or the cache's; None when none is.

    Nothing is fetched. OracleError: the named one does not run, or is not MySQL's.
    """
    named = os.environ.get(_SETTING)
    if named:
        return _probe((str(Path(named).absolute()),))
    found = shutil.which("mysqlbinlog")
    if found is not None:
        try:
            return _probe((found,))
        except OracleError:
            pass  # MariaDB's, say: the cache may have MySQL's
    return _cached()


def ensure() -> MysqlBinlog:
    """As ``find``, but fetched into the cache when there is none: about 5 s and 31 MB, once.

    OracleError: none is available; the message says what helps.
    """
    here = find()
    if here is not None:
        return here
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise OracleError(f"no mysqlbinlog is here; {_HELP}")
    try:
        cache.entry(_ENTRY, _build)
    except ServerError as exc:
        raise OracleError(
            f"no mysqlbinlog is here and none could be fetched: {exc}; {_HELP}"
        ) from exc
    fetched = _cached()
    if fetched is None:
        raise OracleError(
            f"the cache entry {_ENTRY} is damaged; remove {cache.cache_dir() / _ENTRY}"
        )
    return fetched


def _build(folder: Path) -> None:
    """Unpack the packages in ``folder``, keep what mysqlbinlog needs, and note its version."""
    apt.unpack_packages(_SUITE, _PACKAGES, folder)
    program = _argv(folder)[-1]
    for path in (folder / "usr" / "bin").iterdir():
        if str(path) != program:
            path.unlink()
    for name in ("sbin", "share", "lib/mysql", "libexec", "lib/systemd"):
        shutil.rmtree(folder / "usr" / name, ignore_errors=True)
    for name in ("etc", "var"):
        shutil.rmtree(folder / name, ignore_errors=True)
    version = _probe(_argv(folder)).version
    (folder / "version").write_text(f"{version}\n", encoding="ascii")
