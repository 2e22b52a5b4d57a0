"""MySQL's own command-line client, for tests that run SQL as users do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from binlogkit_fixtures.servers import apt, cache


def client() -> list[str]:
    """The words that run MySQL's own ``mysql`` client."""
    found = shutil.which("mysql")
    if found is not None:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
        if "MariaDB" not in done.stdout:
            return [found]
    folder = cache.entry("mysql-client-sid", _fetch_client)
    libraries = folder / "usr/lib/x86_64-linux-gnu"
    loader = libraries / "ld-linux-x86-64.so.2"
    # 5.7 asks for mysql_native_password, which is a plugin of the 9.x client.
    return [
        str(loader), "--library-path", str(libraries), str(folder / "usr/bin/mysql"),
        "--no-defaults", f"--plugin-dir={folder / 'usr/lib/mysql/plugin'}",
    ]  # fmt: skip


def _fetch_client(folder: Path) -> None:
    packages = (
        "mysql-client-core libc6 libstdc++6 libgcc-s1 libssl3t64 zlib1g libzstd1 libedit2 libbsd0 "
        "libmd0 libtinfo6 libgoogle-perftools4t64 libtcmalloc-minimal4t64 libunwind8 liblzma5 "
        "libncurses6"
    )
    apt.unpack_packages("sid", packages.split(), folder)
