"""Which mysqld the local runner runs: the user's own, one on PATH, or the pinned one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from binlogkit.errors import ServerError, printable
from binlogkit_fixtures.servers import apt, artifacts, cache

__all__ = ["Mysqld", "find_mysqld", "named_mysqld", "on_path", "setting"]

_LIBRARIES = ("libaio1", "libnuma1")  # bookworm's, for 5.7 and 8.0 (docs/servers.md)
_LIBRARIES_SUITE = "bookworm"


@dataclass(frozen=True, slots=True)
class Mysqld:
    """A server program that starts here.

    ``version``: as ``8.0.31``; ``base``: the folder that holds ``share``, or None when the
    program knows its own; ``libraries``: folders for LD_LIBRARY_PATH.
    """

    program: Path
    version: str
    base: Path | None
    libraries: tuple[Path, ...] = ()

    @property
    def share(self) -> Path | None:
        """The folder with the error messages, when it is beside the program."""
        return None if self.base is None else self.base / "share"

    def environment(self) -> dict[str, str]:
        """The variables to run it with: nothing of the caller's but PATH."""
        variables = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
        if self.libraries:
            variables["LD_LIBRARY_PATH"] = ":".join(map(str, self.libraries))
        return variables


def setting(series: str) -> str:
    """The environment variable that names a mysqld of ``series``."""
    return f"BINLOGKIT_MYSQLD_{series.replace('.', '_')}"


def _of_series(version: str, series: str) -> bool:
    return version == series or version.startswith(f"{series}.")


def _base(program: Path) -> Path | None:
    """The folder whose ``share`` holds the English messages for ``program``."""
    for folder in (program.parent.parent, program.parent):
        if (folder / "share" / "english" / "errmsg.sys").is_file():
            return folder
    return None


def _probe(program: Path, libraries: tuple[Path, ...]) -> tuple[str | None, str]:
    """The version that ``program`` says it has, or None, and all it printed."""
    variables = Mysqld(program, "", None, libraries).environment()
    try:
        done = subprocess.run(
            [str(program), "--no-defaults", "--version"], env=variables, text=True, timeout=60,
            stdin=subprocess.DEVNULL, capture_output=True, errors="replace", check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        return None, str(exc)
    text = done.stdout + done.stderr
    found = re.search(r"Ver (\d+\.\d+\.\d+)", done.stdout)
    if found is None or "MariaDB" in text:
        return None, text.strip()
    return found.group(1), text


def _inspect(program: Path) -> Mysqld:
    """What ``program`` is, with libaio and libnuma from the cache when the machine lacks them.

    ServerError: it does not run here, or is no MySQL server.
    """
    base = _base(program)
    own = () if base is None else tuple(p for p in (base / "lib" / "private",) if p.is_dir())
    version, text = _probe(program, own)
    if version is None and re.search(r"lib(aio|numa)\.so\.1\b", text):
        own = (*own, _libraries())
        version, text = _probe(program, own)
    if version is None:
        raise ServerError(f"{program} is no MySQL server that runs here: {printable(text[:300])}")
    return Mysqld(program, version, base, own)


def _libraries() -> Path:
    """The folder in the cache with libaio and libnuma.

    ServerError: they cannot be fetched; the message says how to install them.
    """

    def build(folder: Path) -> None:
        apt.unpack_packages(_LIBRARIES_SUITE, list(_LIBRARIES), folder)
        flat = folder / "lib"
        flat.mkdir(exist_ok=True)
        for found in [*folder.glob("lib/*/lib*.so.*"), *folder.glob("usr/lib/*/lib*.so.*")]:
            shutil.copy(found.resolve(), flat / found.name)
        shutil.rmtree(folder / "usr", ignore_errors=True)

    try:
        return cache.entry(f"libraries-{_LIBRARIES_SUITE}", build) / "lib"
    except ServerError as exc:
        raise ServerError(
            f"the MySQL server needs libaio and libnuma, and they could not be fetched ({exc}); "
            "as root: apt-get install libaio1 libnuma1"
        ) from exc


def named_mysqld(series: str) -> Path | None:
    """The program that the environment names for ``series``, or None."""
    named = os.environ.get(setting(series))
    return Path(named).absolute() if named else None


def on_path(series: str) -> Path | None:
    """A mysqld of ``series`` on PATH (or in sbin), or None."""
    places = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/usr/local/sbin"
    found = shutil.which("mysqld", path=places)
    if found is None:
        return None
    version, _ = _probe(Path(found).resolve(), ())
    return Path(found).resolve() if version and _of_series(version, series) else None


def find_mysqld(series: str, program: Path | None = None) -> Mysqld:
    """The server program for ``series``: ``program``, the environment's, PATH's or the pinned one.

    ServerError: none is available, or the named one is of another series.
    """
    named = program or named_mysqld(series)
    if named is not None:
        if not named.is_file():
            raise ServerError(f"{named} does not exist; {setting(series)} must name a mysqld")
        mysqld = _inspect(named.resolve())
        if not _of_series(mysqld.version, series):
            raise ServerError(
                f"{named} is MySQL {mysqld.version}, not {series}; "
                f"set {setting(series)} to a mysqld of {series}"
            )
        return mysqld
    found = on_path(series)
    if found is not None:
        return _inspect(found)
    return _inspect(artifacts.obtain(series) / "bin" / "mysqld")
