"""The story's clock as the server's own: libfaketime below a mysqld of this machine.

``SET timestamp`` fixes what stands in event headers. Commit timestamps, the duration of statements
and the creation time of a log come from the system's clock; with libfaketime (Debian's package,
unpacked into the cache) a local server sees the story's time instead, and a log of
twenty minutes in 2024 says so in every field. It never goes back within a story. Containers keep
the real clock.
"""

from __future__ import annotations

import hashlib
import shlex
import time
from dataclasses import replace
from pathlib import Path

from binlogkit.errors import ServerError, UsageError
from binlogkit_fixtures.debian import SERIES, encrypting_mysqld, newest_mysqld
from binlogkit_fixtures.servers import Server, ServerSpec, apt, cache, choose_runner, start
from binlogkit_fixtures.servers.binaries import Mysqld, find_mysqld, named_mysqld, on_path
from binlogkit_fixtures.servers.keyring import encrypts
from binlogkit_fixtures.servers.local import LocalServer

__all__ = ["CLOCKS", "StoryClock", "start_server"]

CLOCKS = ("auto", "story", "real")

_FILE = "story-clock"  # in the data folder: an offset in seconds, read at every look at the clock
_SUITE = "bookworm"
_LIBRARY = "libfaketimeMT.so.1"

#: The wrapper that stands for mysqld. Only a server that runs gets the library. The variables are
#: libfaketime's; without FORCE_MONOTONIC_FIX=0 each timed wait of 8.0's InnoDB lasts 0.1 s.
_WRAPPER = """\
#!/bin/sh
data=
for word in "$@"; do
  case "$word" in
    --version|--initialize*) exec {program} "$@" ;;
    --datadir=*) data="${{word#--datadir=}}" ;;
  esac
done
[ -e "$data/{file}" ] || echo "+0" > "$data/{file}"
export FAKETIME_TIMESTAMP_FILE="$data/{file}"
export FAKETIME_NO_CACHE=1 FAKETIME_DONT_RESET=1
export FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_FORCE_MONOTONIC_FIX=0
export LD_PRELOAD={library}
exec {program} "$@"
"""


class StoryClock:
    """The clock of one server that was started with the wrapper.

    ``now``: the system's own time, seconds; clocks given the same agree ever after.
    """

    def __init__(self, server: LocalServer) -> None:
        self._file = server.data_folder / _FILE
        self._offset = 0.0

    def begin(self, moment: int, now: float | None = None) -> None:
        """It is ``moment`` now, microseconds since the epoch, whatever it was before."""
        self._set(moment / 1e6 - (now or time.time()))

    def advance(self, moment: int, now: float | None = None) -> None:
        """It is ``moment`` now, unless it is later already."""
        offset = moment / 1e6 - (now or time.time())
        if offset > self._offset:
            self._set(offset)

    def _set(self, offset: float) -> None:
        fresh = self._file.with_name(f"{_FILE}.new")
        fresh.write_text(f"{offset:+.6f}\n", encoding="ascii")
        fresh.chmod(0o644)  # the folder is the server user's alone
        fresh.replace(self._file)
        self._offset = offset


def start_server(
    spec: ServerSpec, runner: str = "auto", clock: str = "auto"
) -> tuple[Server, StoryClock | None]:
    """A running server, and its clock when it keeps the story's time.

    ``clock``: ``story``, ``real``, or ``auto``: the story's where the runner is the local one and
    libfaketime is available. Without a program named by the user, the newest series is Debian's.
    UsageError: the story's clock for a container. ServerError: no server, or ``story`` and no
    libfaketime.
    """
    if clock not in CLOCKS:
        raise UsageError(f"clock {clock!r} is none of {', '.join(CLOCKS)}")
    program = _own_program(spec) if runner != "docker" else None
    if program is not None:  # Debian compiled a folder of its own in, which is nowhere else
        spec = replace(spec, options={"secure-file-priv": "", **spec.options})
    local = program is not None or choose_runner(spec, runner) == "local"
    if encrypts(spec) and not local:
        raise UsageError("encrypted logs need the local runner: --runner local")
    if clock == "story" and not local:
        raise UsageError("the story's clock needs the local runner: --runner local")
    if not local:
        return start(spec, runner), None
    if clock != "real":
        try:
            wrapper = _wrapper(spec.version, program)
        except ServerError:
            if clock == "story":
                raise
        else:
            server = start(spec, "local", program=wrapper)
            assert isinstance(server, LocalServer)
            return server, StoryClock(server)
    return start(spec, "local", program=program), None


def _own_program(spec: ServerSpec) -> Path | None:
    """Debian's mysqld for its series, unless the user names one or has one installed.

    One of the user's own encrypts only where it is set to look for manifests (debian.py).
    """
    if spec.version != SERIES or named_mysqld(SERIES) or on_path(SERIES):
        return None
    return encrypting_mysqld() if encrypts(spec) else newest_mysqld()


def _library() -> Path:
    """libfaketime in the cache. ServerError: it cannot be fetched."""

    def build(folder: Path) -> None:
        apt.unpack_packages(_SUITE, ["libfaketime"], folder)

    root = cache.entry(f"libfaketime-{_SUITE}", build)
    found = next(iter(sorted(root.rglob(_LIBRARY))), None)
    if found is None:
        raise ServerError(f"Debian's libfaketime has no {_LIBRARY} for this machine")
    return found


def _wrapper(series: str, program: Path | None) -> Path:
    """The program that stands for the mysqld of ``series`` (``program``, if given)."""
    library, real = _library(), find_mysqld(series, program)

    def build(folder: Path) -> None:
        (folder / "bin").mkdir()
        script = folder / "bin" / "mysqld"
        script.write_text(_script(real, library), encoding="utf-8")
        script.chmod(0o755)
        for part in ("share", "lib"):
            if real.base is not None and (real.base / part).is_dir():
                (folder / part).symlink_to(real.base / part)

    key = hashlib.sha256(_script(real, library).encode("utf-8")).hexdigest()[:16]
    return cache.entry(f"story-clock-{real.version}-{key}", build) / "bin" / "mysqld"


def _script(real: Mysqld, library: Path) -> str:
    return _WRAPPER.format(
        program=shlex.quote(str(real.program)), library=shlex.quote(str(library)), file=_FILE
    )
