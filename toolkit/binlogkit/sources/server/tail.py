"""A running server's logs as files that grow: what its stream brings, log by log.

A thread takes the stream's items (resume.py: each event once, over lost connections) while those
before are decoded. A log that is begun in its middle has its own format description in front, which
is asked for by itself: the one that a dump makes up there stands for no bytes of the log.
"""

from __future__ import annotations

import io
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from binlogkit.constants import BINLOG_MAGIC, EventType
from binlogkit.errors import BinlogKitError
from binlogkit.sources.carriers import Carrier, shown
from binlogkit.sources.carriers.coming import growing_carrier
from binlogkit.sources.growing import HEAD_EVENTS, HEAD_WAIT, GrowingFile
from binlogkit.sources.server.client import ReplicationClient
from binlogkit.sources.server.resume import ResumePoint, SteadyStream, Stop
from binlogkit.sources.server.stream import FIRST_POSITION, FileStart, Idle, Item, StreamEvent

if TYPE_CHECKING:
    from typing_extensions import Buffer

_HELD = 64 << 20  # bytes that wait to be decoded
_GTIDS = (EventType.GTID_LOG_EVENT, EventType.GTID_TAGGED_LOG_EVENT)


class ServerTail:
    """The logs of a stream, in order; ``head``: the first one's format description where the stream
    begins after it, at ``begin``.

    ``reached``: the file and position up to which the server says that there is nothing else, and
    ``heard``: when it said something last, by ``time.monotonic()``. To be closed.
    """

    def __init__(
        self, stream: Iterable[Item], stop: Stop, server: str, begin: int = 0, head: bytes = b""
    ) -> None:
        self._stream, self._stop, self._server = stream, stop, server
        self._begin, self._head = begin, head
        self._come = threading.Condition()
        self._held = 0
        self._logs: deque[str] = deque()  # that have begun, the one being read first
        self._error: BinlogKitError | None = None
        self._over = False
        self._current = ""
        self.reached: tuple[str, int] | None = None
        self.heard = time.monotonic()
        self._waiting: dict[str, deque[bytes]] = {}
        self._thread = threading.Thread(target=self._pump, name="binlogkit-tail", daemon=True)
        self._thread.start()

    # ---- what the server sends ----------------------------------------------------------------

    def _pump(self) -> None:
        try:
            for item in self._stream:
                self._take(item)
                if self._stop:
                    break
        except BinlogKitError as error:
            self._error = error
        finally:
            with self._come:
                self._over = True
                self._come.notify_all()

    def _take(self, item: Item) -> None:
        with self._come:
            self.heard = time.monotonic()
            if isinstance(item, FileStart):
                if item.file != self._current:
                    self._current = item.file
                    self._logs.append(item.file)
                    self._waiting[item.file] = deque()
            elif isinstance(item, Idle):
                self.reached = item.file, item.position
            elif not item.made_up:
                self._waiting[item.file].append(item.data)
                self._held += len(item.data)
                self.reached = item.file, item.end_pos
                while self._held > _HELD and not self._stop:
                    self._come.wait(1.0)
            self._come.notify_all()

    # ---- what is read -------------------------------------------------------------------------

    def next_log(self) -> Carrier | None:
        """Wait for the next log to begin; None: none does. Errors: those of the stream."""
        with self._come:
            while not self._logs and not self._over:
                self._come.wait(1.0)
            if not self._logs:
                self._complain()
                return None
            name = self._logs[0]
        begin, self._begin = self._begin, 0
        head, self._head = self._head, b""
        return growing_carrier(
            f"mysql://{self._server}/{shown(name)}", lambda: _ServerLog(self, name, begin, head)
        )

    def pending(self) -> bool:
        """Whether something has come that was not read yet."""
        return self._held > 0

    def more(self, name: str, size: int, *, head: bool = False) -> bytes:
        """The next bytes of a log, at least one event; none once it has ended. ``head``: both
        events that a log begins with."""
        given_up = time.monotonic() + HEAD_WAIT
        with self._come:
            waiting = self._waiting[name]
            while not self._over and len(self._logs) < 2:
                enough = len(waiting) >= HEAD_EVENTS or (waiting and time.monotonic() > given_up)
                if enough if head else waiting:
                    break
                self._come.wait(0.01 if head and waiting else 1.0)
            if not waiting:
                self._finish(name)
                return b""
            found = [waiting.popleft()]
            total = len(found[0])
            while waiting and total + len(waiting[0]) <= size:
                found.append(waiting.popleft())
                total += len(found[-1])
            self._held -= total
            self._come.notify_all()
        return b"".join(found)

    def _finish(self, name: str) -> None:
        self._complain()
        if self._logs and self._logs[0] == name:
            self._logs.popleft()
            del self._waiting[name]

    def _complain(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """End the stream."""
        self._stop.now()
        with self._come:
            self._come.notify_all()
        self._thread.join(10)


class _ServerLog(GrowingFile):
    """One log of a tail, from its beginning, or its head and then what begins at ``begin``."""

    def __init__(self, tail: ServerTail, name: str, begin: int, head: bytes) -> None:
        self._tail, self._name, self._begin = tail, name, begin
        self._rest = memoryview(BINLOG_MAGIC + head)
        self._at, self._in_head = 0, bool(head)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset != self._begin or not self._in_head:
            raise io.UnsupportedOperation("a followed log is read from where it is followed on")
        self._in_head, self._rest, self._at = False, memoryview(b""), offset
        return offset

    def readinto(self, room: Buffer) -> int:
        view = memoryview(room)
        self._in_head &= bool(self._rest) or self._at != self._begin
        if len(self._rest) <= len(BINLOG_MAGIC) and not self._in_head:
            first = self._at == 0
            data = self._tail.more(self._name, len(view) - len(self._rest), head=first)
            if first and not data:
                return 0
            self._rest = memoryview(bytes(self._rest) + data)
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self._at += count
        return count


def first_place(
    connect: Callable[[], ReplicationClient], gtids: bytes, stop: Stop, **how: Any
) -> tuple[str, int]:
    """The place of the first transaction outside a GTID set (wire form), or one before it.

    Where there is none yet: the end of the server's last log, if the dump comes to where the list
    of logs ended; else that log's beginning. A list shows what is written, a dump what is committed
    by then, and a dump that was killed ends as if all had been sent. ``how``: as
    :class:`SteadyStream`. Errors: those of a stream.
    """
    stream = SteadyStream(connect, ResumePoint(), gtids=lambda: gtids, stop=stop, **how)
    last, reached = "", ("", 0)
    with closing(iter(stream)) as items:
        for item in items:
            if isinstance(item, FileStart):
                last = item.file
                continue
            if isinstance(item, Idle):
                reached = item.file, item.position
                continue
            if item.header.type_code in _GTIDS:
                return item.file, item.pos
            reached = item.file, item.end_pos
    logs = stream.facts.logs if stream.facts else None
    if logs and reached == (logs[-1].name, logs[-1].size):
        return reached
    return last or (logs[-1].name if logs else ""), FIRST_POSITION


def tail_of(
    connect: Callable[[], ReplicationClient],
    place: tuple[str, int],
    stop: Stop,
    *,
    wait: bool,
    **how: Any,
) -> ServerTail:
    """The logs from a place on; ``wait``, ``how``: as :class:`SteadyStream`."""
    file, position = place
    client = connect()
    server, head = client.server, b""
    client.close()
    if position > FIRST_POSITION:
        start = SteadyStream(connect, ResumePoint(file), stop=stop, **how)
        with closing(iter(start)) as items:
            for item in items:
                if isinstance(item, StreamEvent) and not item.made_up:
                    head = item.data
                    break
    stream = SteadyStream(connect, ResumePoint(file, position), stop=stop, wait=wait, **how)
    begin = position if position > FIRST_POSITION else 0
    return ServerTail(stream, stop, server, begin, head)
