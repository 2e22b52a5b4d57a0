"""The folder that a capture fills: the logs as the server has them, and what is known of them.

A log is written under its own name, each event by one write, so that a reader finds whole events;
``binlog.index`` lists the logs as a server's index file does, and ``capture.json`` names the server
and, of every finished log, its size and SHA-256. Index and manifest are replaced whole. After a
kill at any moment the last log of the index is read through, and the capture resumes after its
last whole event; a torn one is cut off when the server has shown that it has what follows. The
folder is 0700 and its files 0600; one capture at a time holds ``.lock``.

Durability: a finished log is on the disk before the manifest says so; the log being written follows
at most a second late while events come.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from binlogkit.constants import BINLOG_MAGIC, CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.errors import DamageError, InputError, ReplicationError, UsageError, WriteError
from binlogkit.sources.carriers.named import MANIFEST
from binlogkit.sources.layers import ByteStream
from binlogkit.sources.log_format import LogFormat, format_of
from binlogkit.sources.raw import parse_header
from binlogkit.sources.server.client import ClientIdentity
from binlogkit.sources.server.resume import REACH, ResumePoint
from binlogkit.sources.server.stream import FIRST_POSITION, StreamEvent

__all__ = ["INDEX", "MANIFEST", "CaptureFolder", "Finished", "safe_name"]

INDEX, _LOCK = "binlog.index", ".lock"
_FORMAT = 1
_SYNC_SECONDS = 1.0
_LONGEST_NAME = 255
#: A server's logs end in a number; a leading dot, a separator or a control character is no name.
_NAME = re.compile(r"[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*\.[0-9]{1,19}", re.DOTALL)


def safe_name(name: str, server: str) -> str:
    """``name`` when it is a log's plain file name; ReplicationError when a server sent no such."""
    length = len(name.encode("utf-8", "surrogateescape"))
    if not _NAME.fullmatch(name) or length > _LONGEST_NAME:
        raise ReplicationError(f"it names a log {name!r}, which is no file name", server=server)
    return name


@dataclass(frozen=True, slots=True)
class Finished:
    """A log that ended. ``start``: 4, or the position from which it was asked for."""

    name: str
    size: int
    sha256: str
    start: int
    next_file: str | None


class CaptureFolder:
    """The folder, open for one capture. Errors: UsageError (another's), WriteError.

    ``place``: where to resume; ``torn``: bytes of a torn event at the end of what is there, or all
    from one on that is not as it was written, whose place ``changed`` says; ``current``: the log
    that is being written, or nothing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.identity = ClientIdentity()
        self.server: dict[str, str | None] = {}
        self.asked: dict[str, Any] = {}
        self.finished: list[Finished] = []
        self.place = ResumePoint()
        self.torn = 0
        self.changed: str | None = None
        self._names: list[str] = []
        self._file: int | None = None
        self.current = ""
        self._start = FIRST_POSITION
        self._size = 0
        self._hash = hashlib.sha256()
        self._synced = 0.0
        with self._writing(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_foreign()
            self._lock = _locked(self.path / _LOCK)
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    # ---- what is there ------------------------------------------------------------------

    def _refuse_foreign(self) -> None:
        ours = (_LOCK, f".{MANIFEST}.new")
        there = {found.name for found in self.path.iterdir()}
        if MANIFEST not in there and not there <= set(ours):
            raise UsageError(f"{self.path} is not empty and holds no capture")

    def _load(self) -> None:
        try:
            text = (self.path / MANIFEST).read_text("utf-8")
        except FileNotFoundError:
            return
        except OSError as exc:
            raise InputError(str(self.path / MANIFEST), f"cannot be read: {exc.strerror}") from exc
        try:
            self._take(json.loads(text))
        except (ValueError, KeyError, TypeError) as exc:
            raise InputError(str(self.path / MANIFEST), "is no manifest of a capture") from exc
        index = self.path / INDEX
        lines = index.read_text("utf-8", "surrogateescape").split("\n") if index.exists() else []
        self._names = [safe_name(line.removeprefix("./"), INDEX) for line in lines if line]
        self._resume()

    def _take(self, manifest: dict[str, Any]) -> None:
        if manifest["format"] != _FORMAT:
            raise ValueError("another version")
        self.server, self.asked = dict(manifest["server"]), dict(manifest["asked"])
        self.identity = ClientIdentity(
            int(manifest["replica"]["server_id"]), manifest["replica"]["uuid"]
        )
        self.finished = [Finished(**entry) for entry in manifest["files"]]
        self._start = int(manifest["start"])

    def _resume(self) -> None:
        """Find the place: after the last finished log, or in the one that was being written."""
        last = self._names[-1] if self._names else ""
        if self.finished and self.finished[-1].name == last:
            ended = self.finished[-1]
            self.place = self._scan(last, ended.start, check=False)  # which its digest does
            self.place = replace(self.place, next_file=ended.next_file)
            if self._hash.hexdigest() != ended.sha256 or self.torn:
                raise InputError(str(self.path / last), "is not as the capture left it")
            self._close_file()
        elif last:
            self.place = self._scan(last, self._start)

    def _scan(self, name: str, start: int, *, check: bool = True) -> ResumePoint:
        """Read a log of ours to its last whole event and open it there; with ``check`` to the
        first one whose checksum is wrong."""
        path = self.path / name
        try:
            self._file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError as exc:
            raise InputError(str(path), f"cannot be opened: {exc.strerror}") from exc
        self.current, self._start, self._size = name, start, 0
        self._hash = hashlib.sha256()
        with os.fdopen(os.dup(self._file), "rb", 1 << 20) as file:
            place = self._read_through(file, ResumePoint(name, start), check=check)
        self.torn = os.fstat(self._file).st_size - self._size
        return place

    def _read_through(self, file: BinaryIO, place: ResumePoint, *, check: bool) -> ResumePoint:
        stream = ByteStream(file)
        if stream.read(len(BINLOG_MAGIC)) != BINLOG_MAGIC:
            return place
        self._take_in(BINLOG_MAGIC)
        format_, last, reachable = LogFormat(), None, None
        shift = 0
        while len(head := stream.peek(HEADER_LENGTH)) == HEADER_LENGTH:
            header = parse_header(head, HEADER_LENGTH)
            if header.size < HEADER_LENGTH or stream.available(header.size) < header.size:
                break
            data = stream.read(header.size)
            if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT:
                try:
                    format_ = format_of(place.file, self._size, data)
                except DamageError:
                    self.changed = f"{place.file} at {self._size}"
                    break
            made_up = self._size == len(BINLOG_MAGIC) < place.position
            if made_up:  # it stands for itself: what follows it begins at the start that was asked
                shift = place.position - self._size - len(data)
            else:
                pos = self._size + shift
                event = StreamEvent(place.file, pos, header, data, False, format_)
                if check and event.checksum == "bad":
                    self.changed = f"{place.file} at {pos}"
                    break
                last = event
                reachable = last if pos < REACH else reachable
            self._take_in(data)
        if last is None or reachable is None:
            return place
        return place.after(reachable).after(last)

    def _take_in(self, data: bytes) -> None:
        self._size += len(data)
        self._hash.update(data)

    def trim(self) -> None:
        """Cut the torn event off: the server has what follows."""
        if self.torn and self._file is not None:
            with self._writing(self.path / self.current):
                os.ftruncate(self._file, self._size)
        self.torn = 0

    # ---- writing ------------------------------------------------------------------------

    def write(self, event: StreamEvent) -> None:
        """Append an event; a format description begins its log."""
        if self.current != event.file or self._file is None:
            self._begin(event)
        elif self._size <= len(BINLOG_MAGIC):
            self._append((BINLOG_MAGIC + _sealed(event))[self._size :])
        elif not event.made_up:
            self._append(event.data)
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            self.sync()

    def _begin(self, event: StreamEvent) -> None:
        if event.header.type_code != EventType.FORMAT_DESCRIPTION_EVENT:
            raise ReplicationError(f"{event.file} does not begin with a format description")
        name, first = safe_name(event.file, INDEX), BINLOG_MAGIC + _sealed(event)
        path = self.path / name
        if name in self._names:
            raise ReplicationError(f"it begins {name} again")
        self._start = event.pos
        self.save()
        with self._writing(path):
            try:
                self._file = os.open(
                    path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600
                )
            except FileExistsError:
                self._file = self._adopted(path, first)
        self.current, self._size, self._hash = name, 0, hashlib.sha256()
        self._append(first)
        self._names.append(name)
        self._replace(INDEX, "".join(f"./{known}\n" for known in self._names))

    def _adopted(self, path: Path, first: bytes) -> int:
        """A file that was begun when a capture was killed, before the index named it."""
        found = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        if not first.startswith(os.read(found, len(first) + 1)):
            os.close(found)
            raise WriteError(str(path), "it is there already, and none of this capture's")
        os.ftruncate(found, 0)
        return found

    def _append(self, data: bytes) -> None:
        assert self._file is not None
        left = memoryview(data)
        try:
            os.lseek(self._file, self._size, os.SEEK_SET)
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as exc:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise _write_error(self.path / self.current, exc) from exc
        self._take_in(data)

    def sync(self) -> None:
        """Bring what was written to the disk."""
        if self._file is not None:
            with self._writing(self.path / self.current):
                os.fdatasync(self._file)
        self._synced = time.monotonic()

    def finish(self, next_file: str | None) -> None:
        """The log that was being written has ended."""
        if self._file is None:
            return
        with self._writing(self.path / self.current):
            os.fsync(self._file)
        digest = self._hash.hexdigest()
        self.finished.append(Finished(self.current, self._size, digest, self._start, next_file))
        self._close_file()
        self.save()

    def save(self) -> None:
        """Write the manifest."""
        manifest = {
            "format": _FORMAT,
            "server": self.server,
            "replica": {"server_id": self.identity.server_id, "uuid": self.identity.uuid},
            "asked": self.asked,
            "start": self._start,
            "files": [asdict(entry) for entry in self.finished],
        }
        self._replace(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=True) + "\n")

    def _replace(self, name: str, text: str) -> None:
        path, fresh = self.path / name, self.path / f".{name}.new"
        with self._writing(path):
            made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(made, "wb") as out:
                out.write(text.encode("utf-8", "surrogateescape"))
                out.flush()
                os.fsync(out.fileno())
            fresh.replace(path)
            folder = os.open(self.path, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file, self.current = None, ""

    def close(self) -> None:
        """Bring all to the disk and let the folder go."""
        try:
            self.sync()
        finally:
            self._close_file()
            os.close(self._lock)

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise _write_error(path, exc) from exc


def _locked(path: Path) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        os.close(lock)
        raise UsageError(f"{path.parent}: another capture is writing there") from exc
    return lock


def _sealed(event: StreamEvent) -> bytes:
    """A format description, with a checksum of its own when the server left its log's old one."""
    if not event.made_up or not event.format.checksummed(event.header.type_code):
        return event.data
    plain = event.data[:-CHECKSUM_LENGTH]
    return plain + zlib.crc32(plain).to_bytes(CHECKSUM_LENGTH, "little")


def _write_error(path: Path, exc: OSError) -> WriteError:
    return WriteError(str(path), exc.strerror or str(exc))
