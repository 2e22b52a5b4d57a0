"""The destination of records: standard output, or a file that appears complete or not at all."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from binlogkit.errors import BinlogKitError, UsageError, WriteError, printable


class ByteSink(Protocol):
    """What a writer of records needs of its destination."""

    def write(self, data: bytes, /) -> object:
        """Take ``data``."""

    def flush(self) -> object:
        """Pass on what is buffered."""


class _TextOut:
    """Bytes for a standard output that takes only text, as a notebook's does."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, data: bytes, /) -> object:
        return self._stream.write(data.decode("utf-8"))

    def flush(self) -> object:
        return self._stream.flush()


def is_terminal(output: str | os.PathLike[str]) -> bool:
    """Whether ``output`` is ``-`` and standard output is a terminal."""
    return os.fspath(output) == "-" and sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def destination(output: str | os.PathLike[str], *, binary: bool = False) -> Iterator[ByteSink]:
    """A sink for the bytes of ``output``: ``-`` is standard output, everything else a path.

    A file is created with mode 0600 (a decoded log is as secret as the database) under a temporary
    name in the same folder and renamed when it is complete. What was written before one of our own
    errors is kept, because it is what could be delivered; any other exception leaves no file and an
    older file as it was. A path that is not a regular file (a FIFO, ``/dev/stdout``) is written to
    directly. If the reader closes a pipe, the block ends quietly.

    UsageError: a folder, a missing folder, no permission to write, or ``binary`` on a terminal.
    """
    name = os.fspath(output)
    if name == "-":
        if binary and is_terminal(name):
            raise UsageError("this format is not for a terminal; name a file with --output")
        manager = _standard_output(binary)
    elif _special(Path(name)):
        manager = _direct(Path(name))
    else:
        manager = _renamed(Path(name))
    try:
        with manager as sink:
            yield sink
    except OSError as exc:  # a full disk
        raise WriteError("standard output" if name == "-" else name, exc.strerror or "") from exc


def write_text(output: str | os.PathLike[str], pieces: Iterable[str]) -> None:
    """Write text to ``output``, which is as in :func:`destination`."""
    with destination(output) as sink:
        for piece in pieces:
            sink.write(piece.encode("utf-8"))


def _special(path: Path) -> bool:
    """Whether ``path`` exists and can be written to but not replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    except ValueError as exc:  # a NUL
        raise _refused(path, exc) from exc
    if stat.S_ISDIR(mode):
        raise UsageError(f"{printable(str(path))} is a folder; --output takes a file")
    return not stat.S_ISREG(mode)


@contextmanager
def _standard_output(binary: bool) -> Iterator[ByteSink]:
    stream = sys.stdout
    if stream is None:
        raise UsageError("standard output is closed; name a file with --output")
    buffer: ByteSink | None = getattr(stream, "buffer", None)
    if buffer is None and binary:
        raise UsageError("standard output takes no bytes here; name a file with --output")
    sink = _TextOut(stream) if buffer is None else buffer
    try:
        stream.flush()
        yield sink
        sink.flush()
    except BrokenPipeError:
        _silence()
    except BinlogKitError:
        with suppress(BrokenPipeError):
            sink.flush()
        raise
    except OSError:
        _silence()
        raise


def _silence() -> None:
    """Point standard output at nothing, so that the interpreter's last flush cannot fail."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # no file descriptor
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


@contextmanager
def _direct(path: Path) -> Iterator[ByteSink]:
    try:
        sink = path.open("wb")
    except OSError as exc:
        raise _refused(path, exc) from exc
    try:
        yield sink
        sink.close()
    except BrokenPipeError:
        pass
    finally:
        with suppress(OSError):  # its reader may be gone, its disk may be full
            sink.close()


@contextmanager
def _renamed(path: Path) -> Iterator[ByteSink]:
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    except OSError as exc:
        raise _refused(path, exc) from exc
    part = Path(temporary)
    sink = os.fdopen(descriptor, "wb")
    try:
        yield sink
    except UsageError:
        raise
    except BinlogKitError:
        _complete(sink, part, path)
        raise
    else:
        _complete(sink, part, path)
    finally:
        sink.close()
        part.unlink(missing_ok=True)


def _complete(sink: IO[bytes], part: Path, path: Path) -> None:
    sink.flush()
    os.fsync(sink.fileno())
    sink.close()
    try:
        part.replace(path)
    except OSError as exc:
        raise _refused(path, exc) from exc


def _refused(path: Path, exc: Exception) -> UsageError:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return UsageError(f"cannot write {printable(str(path))}: {printable(reason)}")
