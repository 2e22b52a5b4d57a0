"""Tar files unpacked with care: nothing leaves the folder, nothing but files, folders and links.

Done by hand because the filters of ``tarfile`` came with Python 3.11.4, and Debian 12 has 3.11.2.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from binlogkit.errors import LimitError, ServerError, printable

__all__ = ["unpack"]

MAX_UNPACKED = 4 << 30  # bytes that one archive may claim; the greatest here holds 0.2 GB
_CHUNK = 1 << 20


def unpack(archive: Path, folder: Path, skip: frozenset[str] = frozenset()) -> None:
    """Unpack a tar file into ``folder``, everything readable by everybody, whatever the umask.

    ``skip``: members to leave out. ServerError: no tar file, or a member that would leave the
    folder or is neither file, folder nor link. LimitError: more than MAX_UNPACKED bytes.
    """
    root = folder.resolve()
    root.chmod(0o755)
    total = 0
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.name in skip:
                    continue
                total += member.size
                if total > MAX_UNPACKED:
                    raise LimitError(f"{archive.name} claims more than {MAX_UNPACKED} bytes")
                _place(tar, member, root)
    except (tarfile.TarError, zlib.error, OSError, EOFError, RuntimeError, ValueError) as exc:
        raise ServerError(f"cannot unpack {archive.name}: {printable(str(exc))}") from exc


def _place(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    """Write one member below ``root``; ValueError when it is not one to write."""
    path = _inside(root, member.name)
    _make_folders(root, path if member.isdir() else path.parent)
    if member.isreg():
        source = tar.extractfile(member)
        assert source is not None
        mode = 0o755 if member.mode & 0o100 else 0o644
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as out:
            shutil.copyfileobj(source, out, _CHUNK)
        path.chmod(mode)
    elif member.issym():
        if PurePosixPath(member.linkname).is_absolute():
            raise ValueError(f"{member.name} links to {member.linkname}")
        _inside(root, str(PurePosixPath(member.name).parent / member.linkname))
        path.symlink_to(member.linkname)
    elif not member.isdir():
        raise ValueError(f"{member.name} is neither file, folder nor symbolic link")


def _inside(root: Path, name: str) -> Path:
    """``name`` below ``root``, its folder's links followed; ValueError when it is outside."""
    path = Path(os.path.normpath(root / name))
    parent = path.parent.resolve()
    if path != root and not parent.is_relative_to(root):
        raise ValueError(f"{name} leaves the folder")
    return path


def _make_folders(root: Path, path: Path) -> None:
    """Make ``path`` and what is missing between it and ``root``."""
    for folder in (*reversed(path.relative_to(root).parents), path.relative_to(root)):
        place = root / folder
        if not place.is_dir():
            place.mkdir()
            place.chmod(0o755)
