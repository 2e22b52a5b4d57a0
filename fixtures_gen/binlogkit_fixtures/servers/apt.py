"""Debian packages unpacked into a folder, without root: apt with a state of its own.

The mirror is the one of the machine's own apt configuration, so no address stands here; apt
checks the signatures with the machine's keys. The method: docs/servers.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from binlogkit.errors import ServerError

__all__ = ["available", "debian_mirror", "unpack_packages"]

_SECONDS = 300


def available() -> str | None:
    """None when packages can be fetched and unpacked here, else why not."""
    for tool in ("apt-get", "dpkg"):
        if shutil.which(tool) is None:
            return f"{tool} is not here (this way needs Debian or a system made from it)"
    return None


def _run(command: list[str], folder: Path) -> str:
    """The command's standard output; ServerError with its last lines when it fails."""
    environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ServerError(f"{command[0]} failed: {exc}") from exc
    if done.returncode != 0:
        last = " / ".join(done.stderr.strip().splitlines()[-3:])
        raise ServerError(f"{command[0]} failed with status {done.returncode}: {last}")
    return done.stdout


def debian_mirror(folder: Path) -> str:
    """The URI of the Debian archive that this machine's apt uses for component ``main``.

    ServerError: apt is not set up for Debian.
    """
    wanted = "$(ORIGIN)\t$(COMPONENT)\t$(LABEL)\t$(REPO_URI)"
    lines = _run(["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"], folder)
    for line in lines.splitlines():
        origin, component, label, uri = (line.split("\t") + [""] * 4)[:4]
        if (origin, component, label) == ("Debian", "main", "Debian"):
            return uri
    source = _first_source()
    if source:
        return source
    raise ServerError("apt knows no Debian archive here; as root: apt-get update, and try again")


def _first_source() -> str | None:
    """The first Debian ``main`` URI of apt's source files, when no list was ever fetched."""
    for path in sorted(Path("/etc/apt").glob("sources.list*/*.sources")):
        for stanza in path.read_text(encoding="utf-8").split("\n\n"):
            pairs = (line.split(":", 1) for line in stanza.splitlines() if ":" in line)
            fields = {key.strip().lower(): value.strip() for key, value in pairs}
            if "debian-archive" in fields.get("signed-by", "") and "uris" in fields:
                return fields["uris"].split()[0]
    return None


def unpack_packages(suite: str, packages: list[str], folder: Path) -> None:
    """Unpack the Debian ``packages`` of ``suite`` under ``folder`` (``usr/lib/...``).

    ServerError: no apt, no mirror, a package that does not exist, or a bad signature.
    """
    reason = available()
    if reason is not None:
        raise ServerError(reason)
    with tempfile.TemporaryDirectory(prefix="binlogkit-apt-") as name:
        work = Path(name)
        options = _own_state(suite, work)
        _run(["apt-get", *options, "-q", "update"], work)
        downloads = work / "debs"
        downloads.mkdir()
        _run(["apt-get", *options, "-q", "download", *packages], downloads)
        for package in sorted(downloads.glob("*.deb")):
            _run(["dpkg", "-x", str(package), str(folder)], work)


def _own_state(suite: str, work: Path) -> list[str]:
    """apt's options for a state, a cache and a source list below ``work``."""
    for part in ("state/lists/partial", "cache/archives/partial"):
        (work / part).mkdir(parents=True)
    keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={keyring}] " if keyring.exists() else ""
    sources = work / "sources.list"
    sources.write_text(f"deb {signed}{debian_mirror(work)} {suite} main\n", encoding="utf-8")
    settings = {
        "Dir::State": work / "state",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": work / "cache",
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
        "APT::Get::List-Cleanup": "0",
    }
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
