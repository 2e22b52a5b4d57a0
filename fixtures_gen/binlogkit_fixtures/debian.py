"""The newest MySQL server, as Debian's sid has it, without root and without a container.

No registry has a pinned 8.4 or 9. Debian's ``mysql-server-core`` needs a newer C library than the
machine's, so it runs by its own loader (SERVERS.md). sid moves: the version is asked, not pinned.
"""

from __future__ import annotations

import platform
import shlex
from pathlib import Path

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers import apt, cache

__all__ = ["SERIES", "newest_mysqld"]

#: The series that Debian's sid has.
SERIES = "9"

_ENTRY = "mysqld-sid"
_PACKAGES = [
    "mysql-server-core", "libc6", "libstdc++6", "libgcc-s1", "libssl3t64", "zlib1g", "libzstd1",
    "liblz4-1", "libtcmalloc-minimal4t64", "libgoogle-perftools4t64", "libunwind8", "liblzma5",
    "libicu78", "libprotobuf-lite32t64", "libaio1t64", "libnuma1",
]  # fmt: skip
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_WRAPPER = '#!/bin/sh\nexec {loader} --library-path {libraries} {program} "$@"\n'


def newest_mysqld() -> Path:
    """The program, fetched into the cache when it is not there yet (240 MB).

    ServerError: no apt, no such package, or another kind of machine.
    """
    if platform.machine() != "x86_64":
        raise ServerError(
            f"Debian's mysqld is for x86_64, and this machine is {platform.machine()}"
        )
    return cache.entry(_ENTRY, _build) / "bin" / "mysqld"


def _build(folder: Path) -> None:
    root = folder / "root"
    root.mkdir()
    apt.unpack_packages("sid", _PACKAGES, root)
    (folder / "share").symlink_to("root/usr/share/mysql")
    final = cache.cache_dir() / _ENTRY / "root"  # where the entry will be when it is whole
    script = folder / "bin" / "mysqld"
    script.parent.mkdir()
    script.write_text(
        _WRAPPER.format(
            loader=shlex.quote(str(final / _LIBRARIES / "ld-linux-x86-64.so.2")),
            libraries=shlex.quote(str(final / _LIBRARIES)),
            program=shlex.quote(str(final / "usr/sbin/mysqld")),
        ),
        encoding="utf-8",
    )
    script.chmod(0o755)
