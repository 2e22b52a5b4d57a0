"""The newest MySQL server, as Debian's sid has it, without root and without a container.

No registry has a pinned 8.4 or 9. Debian's ``mysql-server-core`` needs a newer C library than the
machine's, so it runs by its own loader (docs/servers.md). sid moves: the version is asked, not
pinned.
"""

from __future__ import annotations

import platform
import shlex
from pathlib import Path

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers import apt, cache
from binlogkit_fixtures.servers.keyring import COMPONENT as KEYRING

__all__ = ["SERIES", "encrypting_mysqld", "newest_mysqld"]

#: The series that Debian's sid has.
SERIES = "9"

_ENTRY = "mysqld-sid"
_PACKAGES = [
    "mysql-server-core", "libc6", "libstdc++6", "libgcc-s1", "libssl3t64", "zlib1g", "libzstd1",
    "liblz4-1", "libtcmalloc-minimal4t64", "libgoogle-perftools4t64", "libunwind8", "liblzma5",
    "libicu78", "libprotobuf-lite32t64", "libaio1t64", "libnuma1",
]  # fmt: skip
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LOADER = "ld-linux-x86-64.so.2"
_WRAPPER = '#!/bin/sh\nexec {loader} --library-path {libraries} {program} "$@"\n'
_ENCRYPTING_ENTRY = "mysqld-sid-keyring"
_ENCRYPTING_WRAPPER = _WRAPPER.rstrip() + " --plugin-dir={plugins}\n"


def newest_mysqld() -> Path:
    """The program, fetched into the cache when it is not there yet (240 MB).

    ServerError: no apt, no such package, or another kind of machine.
    """
    if platform.machine() != "x86_64":
        raise ServerError(
            f"Debian's mysqld is for x86_64, and this machine is {platform.machine()}"
        )
    return cache.entry(_ENTRY, _build) / "bin" / "mysqld"


def encrypting_mysqld() -> Path:
    """The same program with the keyring component that ``binlog_encryption`` needs, made ready.

    What to load stands beside the program, what it keeps where in each server's data folder
    (manual, "Installing the Keyring File Component"; servers/keyring.py). ServerError: as above.
    """
    plain = newest_mysqld()

    def build(folder: Path) -> None:
        root = plain.parent.parent / "root"
        program = folder / "sbin" / "mysqld"
        program.parent.mkdir()
        program.symlink_to(root / "usr/sbin/mysqld")
        (folder / "sbin" / "mysqld.my").write_text('{"read_local_manifest": true}\n', "ascii")
        (folder / "share").symlink_to(root / "usr/share/mysql")
        plugins = folder / "plugin"
        plugins.mkdir()
        for library in (root / "usr/lib/mysql/plugin").glob("*.so"):
            (plugins / library.name).symlink_to(library)
        (plugins / f"{KEYRING}.cnf").write_text('{"read_local_config": true}\n', "ascii")
        final = cache.cache_dir() / _ENCRYPTING_ENTRY
        words = {"loader": root / _LIBRARIES / _LOADER, "libraries": root / _LIBRARIES}
        words |= {"program": final / "sbin" / "mysqld", "plugins": final / "plugin"}
        script = folder / "bin" / "mysqld"
        script.parent.mkdir()
        quoted = {name: shlex.quote(str(path)) for name, path in words.items()}
        script.write_text(_ENCRYPTING_WRAPPER.format(**quoted), encoding="utf-8")
        script.chmod(0o755)

    return cache.entry(_ENCRYPTING_ENTRY, build) / "bin" / "mysqld"


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
            loader=shlex.quote(str(final / _LIBRARIES / _LOADER)),
            libraries=shlex.quote(str(final / _LIBRARIES)),
            program=shlex.quote(str(final / "usr/sbin/mysqld")),
        ),
        encoding="utf-8",
    )
    script.chmod(0o755)
