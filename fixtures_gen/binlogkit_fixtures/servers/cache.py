"""The cache folder: where it is, a lock per entry, and entries that appear whole or not."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from binlogkit.errors import ServerError

__all__ = ["cache_dir", "entry", "locked", "others_reach", "sha256"]

_CHUNK = 1 << 20


def others_reach(path: Path) -> bool:
    """Whether a user without rights of his own can reach ``path`` (search bit on each folder)."""
    for folder in (path, *path.parents):
        if folder.exists() and not folder.stat().st_mode & 0o001:
            return False
    return True


def cache_dir() -> Path:
    """The cache: ``BINLOGKIT_CACHE``, else ``$XDG_CACHE_HOME/binlogkit``, else in the home.

    Root's own home is often closed to others, and a server never runs as root: then it is
    ``/var/cache/binlogkit``. ServerError: a folder that root named is closed to others.
    """
    root = os.geteuid() == 0
    named = os.environ.get("BINLOGKIT_CACHE")
    if named:
        folder = Path(named).absolute()
        if root and not others_reach(folder):
            raise ServerError(
                f"the server's unprivileged user cannot reach BINLOGKIT_CACHE={folder}; "
                "name another folder: export BINLOGKIT_CACHE=/var/cache/binlogkit"
            )
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(home).absolute() / "binlogkit"
        if root and not others_reach(folder):
            folder = Path("/var/cache/binlogkit")
    _make(folder)
    return folder


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as exc:
        raise ServerError(
            f"cannot write the cache {folder} ({exc.strerror}); "
            "name another folder: export BINLOGKIT_CACHE=DIR"
        ) from exc


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock of the cache entry ``name`` against other processes and threads."""
    folder = cache_dir() / "locks"
    _make(folder)
    with (folder / f"{name}.lock").open("w", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def entry(name: str, build: Callable[[Path], None]) -> Path:
    """The cache's folder ``name``, built by ``build`` when it is not there yet.

    ``build`` fills a folder beside it, which is renamed when it is whole: a reader without a lock
    never sees half an entry.
    """
    final = cache_dir() / name
    if final.is_dir():
        return final
    with locked(name):
        if final.is_dir():
            return final
        work = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=final.parent))
        try:
            work.chmod(0o755)
            build(work)
            work.rename(final)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return final


def sha256(path: Path) -> str:
    """The file's SHA-256 in lower-case hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
