"""Logs that are still being written, as files that grow up to their log's end.

A read gives what is there, at least one byte, and waits where there is none; it gives none once the
log has ended. A server writes a log's ROTATE or STOP before it creates the next log, so a log has
ended when the next one is there and its own last event is one of these (``MYSQL_BIN_LOG::
new_file_impl``). Where neither is (a crash, or a copy that is not whole yet), it has ended once it
did not grow for some seconds beside the next one.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from binlogkit.constants import BINLOG_MAGIC, CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.sources.layers import Readable

if TYPE_CHECKING:
    from typing_extensions import Buffer

_SHORTEST_WAIT, _LONGEST_WAIT = 0.001, 0.05
_SETTLED = 2.0  # seconds without growth beside the next log
_TAIL = 4096  # bytes in which a log's last event lies, were it ROTATE or STOP
HEAD_EVENTS, HEAD_WAIT = 2, 0.2  # a log begins with two events, which are written together
_ROTATE_POSITION = 8


class EndWish(Protocol):
    """A wish to end that what waits looks at (``Stop`` in server/resume.py)."""

    def __bool__(self) -> bool: ...

    def sleep(self, seconds: float) -> None:
        """Wait, but not when the wish comes."""


class GrowingFile(Readable):
    """The bytes of a log that is being written."""

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        room = bytearray(size if size >= 0 else 1 << 20)
        return bytes(room[: self.readinto(room)])


def is_growing(file: object) -> bool:
    """Whether a file's bytes come as they are written."""
    return isinstance(file, GrowingFile)


class FolderLog(GrowingFile):
    """A file that a server, or a capture, writes. ``successor``: whether the next one is there."""

    def __init__(
        self, path: Path, successor: Callable[[], Path | None], stop: EndWish, *, wait: bool
    ) -> None:
        self._name, self._path, self._successor = str(path), path, successor
        self._stop, self._wait = stop, wait
        self._file = path.open("rb")
        self._begun = False

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._begun = True
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, room: Buffer) -> int:
        if not self._begun:
            self._begun = True
            self._await_head()
        pause, quiet_since, view = _SHORTEST_WAIT, None, memoryview(room)
        while not self._stop:
            count = self._file.readinto(view) or 0
            if count:
                return count
            following = self._successor()
            if following is not None:
                if self._grown():
                    continue
                quiet_since = quiet_since or time.monotonic()
                settled = not self._wait or time.monotonic() - quiet_since > _SETTLED
                if settled or self._ends_well(following):
                    return 0
            elif not self._wait:
                return 0
            self._stop.sleep(pause)
            pause = min(2 * pause, _LONGEST_WAIT)
        return 0

    def _await_head(self) -> None:
        """Wait for the events that a log begins with, which show what it follows."""
        given_up = time.monotonic() + HEAD_WAIT
        while not self._stop and self._wait and self._successor() is None:
            with self._path.open("rb") as file:
                head = file.read(_TAIL)
            whole = events_in(head)
            if whole >= HEAD_EVENTS or (whole and time.monotonic() > given_up):
                return
            self._stop.sleep(_LONGEST_WAIT if whole < 1 else _SHORTEST_WAIT)

    def pending(self) -> bool:
        """Whether there are bytes that were not read yet."""
        return not self._file.closed and self._grown()

    def _grown(self) -> bool:
        return self._path.stat().st_size > self._file.tell()

    def _ends_well(self, following: Path) -> bool:
        """Whether its last event is a STOP, or the ROTATE that names the next log."""
        with self._path.open("rb") as file:
            end = file.seek(0, io.SEEK_END)
            file.seek(max(end - _TAIL, 0))
            tail = file.read()
        name = following.name.encode("utf-8", "surrogateescape")
        for checksum in (CHECKSUM_LENGTH, 0):
            stop = tail[-HEADER_LENGTH - checksum :]
            if len(stop) > 4 and stop[4] == EventType.STOP_EVENT and _size(stop) == len(stop):
                return True
            rotate = tail[-HEADER_LENGTH - _ROTATE_POSITION - len(name) - checksum :]
            if (
                rotate[4:5] == bytes([EventType.ROTATE_EVENT])
                and _size(rotate) == len(rotate)
                and rotate[HEADER_LENGTH + _ROTATE_POSITION : len(rotate) - checksum] == name
            ):
                return True
        return False


def _size(event: bytes) -> int:
    return int.from_bytes(event[9:13], "little")


def events_in(head: bytes) -> int:
    """How many events are whole, after the magic number."""
    count, at = 0, len(BINLOG_MAGIC)
    while at + HEADER_LENGTH <= len(head):
        size = _size(head[at : at + HEADER_LENGTH])
        if size < HEADER_LENGTH or at + size > len(head):
            break
        count, at = count + 1, at + size
    return count
