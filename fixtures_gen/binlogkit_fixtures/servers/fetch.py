"""How a pinned artifact's file comes from its registry: by the registry's own client, or a URL.

No address stands here: ``mvn`` and ``npm`` know theirs, and the user may name a Maven repository.
What comes is checked by the caller against the pinned digest.
"""

from __future__ import annotations

import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from binlogkit.errors import LimitError, ServerError, printable

__all__ = ["REPOSITORY_SETTING", "with_mvn", "with_npm", "with_url"]

REPOSITORY_SETTING = "BINLOGKIT_MAVEN_REPOSITORY"
MAX_BYTES = 256 << 20  # of one file; the greatest pinned one has 51 MB
_SECONDS = 600
_CHUNK = 1 << 20


def _run(command: list[str], coordinates: str, target: Path, help_text: str) -> None:
    """Run a registry's client in the target's folder; ServerError when it brings no file."""
    try:
        done = subprocess.run(
            command, cwd=target.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=_SECONDS, check=False, env=os.environ | {"NO_COLOR": "1"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ServerError(f"{command[0]} could not fetch {coordinates}: {exc}") from exc
    if done.returncode != 0 or not target.is_file():
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise ServerError(
            f"{command[0]} could not fetch {coordinates}: {printable(' / '.join(said[:2]))}; "
            f"try: {help_text}"
        )


def with_mvn(coordinates: str, target: Path) -> None:
    """Let Maven resolve ``group:name:version`` and copy it to ``target``'s folder."""
    command = [
        "mvn", "-B", "-q", "-Dstyle.color=never", "dependency:copy", f"-Dartifact={coordinates}",
        f"-DoutputDirectory={target.parent}",
    ]  # fmt: skip
    help_text = f"mvn dependency:get -Dtransitive=false -Dartifact={coordinates}"
    _run(command, coordinates, target, help_text)


def with_npm(coordinates: str, target: Path) -> None:
    """Let npm pack ``name@version`` into ``target``'s folder; nothing of it is run."""
    command = ["npm", "pack", "--silent", "--ignore-scripts", coordinates]
    _run(command, coordinates, target, f"npm view {coordinates}")


def with_url(place: str, target: Path) -> None:
    """Fetch ``place`` from the Maven repository that the user named (http, https or file).

    ServerError: another kind of URL, or no such file. LimitError: more than MAX_BYTES.
    """
    repository = os.environ.get(REPOSITORY_SETTING, "")
    if urllib.parse.urlsplit(repository).scheme not in {"http", "https", "file"}:
        raise ServerError(f"{REPOSITORY_SETTING} must be an http, https or file URL")
    url = f"{repository.rstrip('/')}/{place}"
    size = 0
    try:
        # The scheme was checked above, and the bytes are checked against the pinned digest.
        with urllib.request.urlopen(url, timeout=60) as source, target.open("wb") as out:  # noqa: S310
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > MAX_BYTES:
                    raise LimitError(f"{target.name} has more than {MAX_BYTES} bytes")
                out.write(chunk)
    except (urllib.error.URLError, OSError) as exc:
        raise ServerError(f"no {place} in {REPOSITORY_SETTING}: {printable(str(exc))}") from exc
