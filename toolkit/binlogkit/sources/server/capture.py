"""Capture: a server's logs into a folder, byte for byte as the server has them.

What a server sends by file and position is what its files hold, except the IN_USE flag of a log
that is being written (or was when the server crashed), which it clears; an encrypted server sends
its logs decrypted. A first position other than 4 gives a log of its own kind: a format description
that stands for itself, and the events from there on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from binlogkit.errors import LostConnectionError, ReplicationError, UsageError
from binlogkit.sources.connection import ServerSettings
from binlogkit.sources.server.client import SILENCE, ReplicationClient, ServerFacts
from binlogkit.sources.server.folder import CaptureFolder, Finished, safe_name
from binlogkit.sources.server.resume import REACH, ResumePoint, SteadyStream, Stop
from binlogkit.sources.server.stream import FIRST_POSITION, FileStart, Item, StreamEvent

_HEARTBEAT = 1.0
_PROBLEMS = 20
_TELL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class CaptureStart:
    """Where a new capture begins: a log (the first one for ``""``) and a position, or the log that
    holds the first transaction outside a GTID set (``gtid_set``: as text, for the manifest)."""

    log: str = ""
    position: int = FIRST_POSITION
    gtid_set: str | None = None

    def __post_init__(self) -> None:
        if self.gtid_set is not None and (self.log or self.position != FIRST_POSITION):
            raise UsageError("a capture begins at a log or after a GTID set, not both")
        if self.position != FIRST_POSITION and not self.log:
            raise UsageError("a position needs the log that it is in")
        if not FIRST_POSITION <= self.position < REACH:
            raise UsageError(f"a position to begin at lies from 4 to {REACH - 1}")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a capture is: the log, the position in it, and bytes done and known of in all."""

    file: str
    position: int
    done: int
    total: int | None


@dataclass(slots=True)
class Captured:
    """What a capture did.

    ``finished``: the logs that ended meanwhile; ``file``, ``position``: up to where the last one
    goes; ``events``, ``size``: what was added; ``bad_checksums``: places of events that the server
    has with a CRC32 that does not match (kept so), at most 20; ``changed``: from where on the log
    in the folder was not any more as it was written, and was fetched again; ``stopped``: the user
    ended it.
    """

    finished: list[Finished] = field(default_factory=list)
    file: str = ""
    position: int = 0
    events: int = 0
    size: int = 0
    bad_checksums: list[str] = field(default_factory=list)
    changed: str | None = None
    stopped: bool = False


def capture(
    settings: ServerSettings,
    out: str | os.PathLike[str],
    *,
    follow: bool = False,
    start: CaptureStart | None = None,
    gtids: bytes | None = None,
    patience: float = 300.0,
    stop: Stop | None = None,
    progress: Callable[[Progress], None] | None = None,
    lost: Callable[[LostConnectionError], None] | None = None,
    follows: Callable[[Path, Sequence[StreamEvent], ServerFacts], str | None] | None = None,
    silence: float = SILENCE,
) -> Captured:
    """Fill ``out``, or resume where a capture into it ended.

    ``gtids``: the wire form of ``start.gtid_set``; ``patience``: seconds to look for a lost server;
    ``follows``: why a log does not follow a captured one, of which it is given the file
    (resume.py); ``silence``: seconds without a byte after which a server is lost.
    Errors: UsageError (another start than the folder's), ServerError and its kinds, WriteError,
    InputError (the folder was changed).
    """
    folder = CaptureFolder(out)
    stop = Stop() if stop is None else stop
    try:
        connect = partial(
            ReplicationClient, settings, folder.identity, heartbeat=_HEARTBEAT, silence=silence
        )
        place = _begin(folder, start or CaptureStart(), partial(_first_log, connect, gtids or b""))
        stream = SteadyStream(
            connect, place, wait=follow, patience=patience, stop=stop, lost=lost,
            uuid=folder.server.get("uuid"),
            follows=follows and (lambda name, *more: follows(folder.path / name, *more)),
        )  # fmt: skip
        return _Run(folder, stream, settings.name, stop, progress).go()
    finally:
        folder.close()


def _begin(folder: CaptureFolder, start: CaptureStart, find: Callable[[], str]) -> ResumePoint:
    if folder.place.file:
        if start != CaptureStart() and asdict(start) != folder.asked:
            raise UsageError(
                f"{folder.path} holds a capture that began otherwise; it resumes where it ended "
                "when no start is named"
            )
        return folder.place
    folder.asked = asdict(start)
    return ResumePoint(find() if start.gtid_set is not None else start.log, start.position)


def _first_log(connect: Callable[[], ReplicationClient], gtids: bytes) -> str:
    """The log that a server would begin with for a client that has ``gtids``."""
    client = connect()
    try:
        for item in client.dump_gtid(gtids, wait=False):
            if isinstance(item, FileStart):
                return item.file
    finally:
        client.close()
    raise ReplicationError("it names no log", server=client.server)


class _Run:
    """One capture, under way."""

    def __init__(
        self, folder: CaptureFolder, stream: SteadyStream, server: str, stop: Stop,
        progress: Callable[[Progress], None] | None,
    ) -> None:  # fmt: skip
        self._folder, self._stream, self._server = folder, stream, server
        self._stop, self._progress = stop, progress
        self._known = False
        self._reported = 0.0
        self._result = Captured(file=stream.place.file, position=stream.place.position)
        self._already = len(folder.finished)
        self._sizes: dict[str, int] = {}

    def go(self) -> Captured:
        """Take the stream in."""
        for item in self._stream:
            if not self._known:
                self._learn()
            self._take(item)
        self._folder.trim()
        place, result = self._stream.place, self._result
        result.file, result.position = place.file, place.position
        result.bad_checksums = self._stream.bad_checksums[:_PROBLEMS]
        result.changed = self._folder.changed
        result.finished = self._folder.finished[self._already :]
        result.stopped = bool(self._stop)
        return result

    def _learn(self) -> None:
        """The server is there and resumes where it was asked to: note who it is."""
        facts = self._stream.facts
        assert facts is not None
        now = datetime.now(UTC).isoformat(timespec="seconds")
        server = {"address": self._server, "uuid": facts.uuid, "version": facts.version}
        self._folder.server = {"since": now} | self._folder.server | server
        self._sizes = {log.name: log.size for log in facts.logs or ()}
        self._folder.trim()
        self._folder.save()
        self._known = True

    def _take(self, item: Item) -> None:
        if isinstance(item, FileStart):
            safe_name(item.file, self._server)
            if item.file != self._folder.current:
                self._folder.finish(item.file)
        elif isinstance(item, StreamEvent):
            self._folder.write(item)
            if not item.made_up:
                self._result.events += 1
                self._result.size += len(item.data)
        else:
            self._folder.sync()
        if self._progress is not None and time.monotonic() - self._reported > _TELL_SECONDS:
            self._reported = time.monotonic()
            self._progress(self._reached())

    def _reached(self) -> Progress:
        place = self._stream.place
        names = list(self._sizes)
        if place.file not in names:
            return Progress(place.file, place.position, self._result.size, None)
        before = sum(self._sizes[name] for name in names[: names.index(place.file)])
        done, total = before + place.position, sum(self._sizes.values())
        return Progress(place.file, place.position, done, total)
