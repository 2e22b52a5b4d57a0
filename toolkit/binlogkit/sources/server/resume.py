"""A stream of events that survives its connection: each event once, in order, or an error.

After a lost connection it asks again from the last event that it has, which must come again byte
for byte (a server whose logs were reset, restored or swapped is noticed), and resumes after it. A
dump command's position has 32 bits: in a log that is longer it asks from the last event that begins
below 4 GiB, and goes over what it has.

An event whose checksum is wrong when it arrives is asked for again: what the line changed comes
right, and what stands so in the server's own log comes again as it is, and is given.

A server whose logs are reset while it has nothing to send keeps saying so (5.7, 8.0, 9.7): it is
asked for its list of logs now and then meanwhile.

A server that shuts down, or whose administrator kills a dump, ends it as if the log were at its end
(``Binlog_sender::run``). So an end counts when it lies where the list of logs said, or when a
second connection comes to the same one.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TypeAlias

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.errors import LogGapError, LostConnectionError, ReplicationError, ServerError
from binlogkit.sources.server.client import ReplicationClient, ServerFacts
from binlogkit.sources.server.stream import (
    FIRST_POSITION,
    FileStart,
    Idle,
    Item,
    StreamEvent,
)

#: A dump command's positions end here.
REACH = 1 << 32
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 15.0
_FIRST_IDLE, _LONGEST_IDLE = 2.0, 60.0  # seconds without an event before the logs are looked at
_OFTEN = 10  # wrong checksums at one place before it is given up
_HEAD = 3  # items with which a log begins: its name, its format description, PREVIOUS_GTIDS
_NUMBERED = re.compile(r"(.*\.)(\d+)", re.DOTALL)
_ROTATE_POSITION = 8


@dataclass(frozen=True, slots=True)
class Anchor:
    """An event that was read: the last one that begins below 4 GiB. ``digest``: its SHA-256."""

    pos: int
    size: int
    digest: bytes

    @classmethod
    def of(cls, pos: int, data: bytes) -> Anchor:
        """The anchor that an event makes."""
        return cls(pos, len(data), hashlib.sha256(data).digest())


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where to resume.

    ``file``: a log, or ``""`` for the first one; ``position``: the next byte that is wanted;
    ``next_file``: the log that follows, when this one is known to have ended.
    """

    file: str = ""
    position: int = FIRST_POSITION
    anchor: Anchor | None = None
    next_file: str | None = None

    def after(self, event: StreamEvent) -> ResumePoint:
        """The place after an event of the log."""
        anchor = self.anchor
        if event.pos < REACH:
            anchor = Anchor.of(event.pos, event.data)
        return ResumePoint(event.file, event.end_pos, anchor, next_file_of(event))


def next_file_of(event: StreamEvent) -> str | None:
    """The log that follows the event: ROTATE names it, STOP means the next number."""
    if event.header.type_code == EventType.ROTATE_EVENT:
        end = -CHECKSUM_LENGTH if event.format.checksummed(event.header.type_code) else None
        name = event.data[HEADER_LENGTH + _ROTATE_POSITION : end]
        return name.decode("utf-8", "surrogateescape")
    numbered = _NUMBERED.fullmatch(event.file)
    if event.header.type_code == EventType.STOP_EVENT and numbered:
        return f"{numbered[1]}{int(numbered[2]) + 1:0{len(numbered[2])}}"
    return None


class Stop:
    """A wish to end, which a signal handler or another thread may utter at any time."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._client: ReplicationClient | None = None

    def __bool__(self) -> bool:
        return self._event.is_set()

    def now(self) -> None:
        """End soon: what waits for the server wakes up."""
        self._event.set()
        client = self._client
        if client is not None:
            client.interrupt()

    def watch(self, client: ReplicationClient | None) -> None:
        """The client that is to be woken."""
        self._client = client
        if client is not None and self:
            client.interrupt()

    def sleep(self, seconds: float) -> None:
        """Wait, but not when the wish comes."""
        self._event.wait(seconds)


class _WrongChecksum(LostConnectionError):
    """An event differs from what its server wrote, or is so in the server's log."""


#: Why a log does not follow the one that was read to its end and is gone, None where it does: the
#: name of that, and the first events of the log.
Follows: TypeAlias = Callable[[str, Sequence[StreamEvent], ServerFacts], str | None]


class OtherServerError(ReplicationError):
    """Another server answers at an address than the one that was read there."""


@dataclass(slots=True, eq=False)
class SteadyStream:
    """The items after ``place``, or the transactions outside ``gtids()`` (wire form).

    ``wait``: follow; else end where the server's last log ends. ``patience``: seconds to try again
    after a lost connection, 0 for never (the first connection is tried once). ``uuid``: the only
    server that will do. ``follows``: proves a log to be the next one; ``lost`` is called for each
    lost connection. ``bad_checksums``: places of events that the server has with a wrong checksum.
    Errors: LostConnectionError, ReplicationError, LogGapError, ServerError.
    """

    connect: Callable[[], ReplicationClient]
    place: ResumePoint
    _: KW_ONLY
    gtids: Callable[[], bytes] | None = None
    wait: bool = False
    patience: float = 300.0
    uuid: str | None = None
    stop: Stop = field(default_factory=Stop)
    follows: Follows | None = None
    lost: Callable[[LostConnectionError], None] | None = None
    bad_checksums: list[str] = field(default_factory=list)
    facts: ServerFacts | None = None
    _last_end: ResumePoint | None = None
    _ended: str = ""  # a log that is gone, while the next one is not proved to follow it
    _idle: float = _FIRST_IDLE
    _look_at: float = 0.0
    _wrong: tuple[str, Anchor] | None = None  # what came last with a wrong checksum
    _wrong_at: tuple[str, int, int] = ("", 0, 0)  # its place, and how often one came there

    def __iter__(self) -> Generator[Item, None, None]:
        pause, deadline = _FIRST_WAIT, None
        while not self.stop:
            try:
                for item in self._once():
                    self._look(item)
                    yield item
                    pause, deadline = _FIRST_WAIT, None
                    if self.stop:
                        return
                if self.stop or (not self.wait and self._at_end()):
                    return
                continue
            except LostConnectionError as error:
                if self.stop:
                    return
                if self.facts is None:
                    raise
                now = time.monotonic()
                deadline = deadline or now + self.patience
                times = self._wrong_at[2] if isinstance(error, _WrongChecksum) else 0
                if times > _OFTEN or (times != 1 and now + pause > deadline):
                    raise
                if self.lost is not None:
                    self.lost(error)
            self.stop.sleep(pause)
            pause = min(2 * pause, _LONGEST_WAIT)

    def _look(self, item: Item) -> None:
        """See whether the place is still there, while nothing comes. Errors: those of a stream."""
        now = time.monotonic()
        if not isinstance(item, Idle):
            self._idle, self._look_at = _FIRST_IDLE, now + _FIRST_IDLE
        elif now >= self._look_at:
            self._idle = min(2 * self._idle, _LONGEST_IDLE)
            self._look_at = now + self._idle
            try:
                client = self.connect()
            except ServerError:  # the stream itself shows whether the server can be reached
                return
            with closing(client):
                self._reachable(client)

    def _at_end(self) -> bool:
        """Whether the end that came is the log's, and not that of the server's life."""
        logs = self.facts.logs if self.facts else None
        if logs and self.place.file == logs[-1].name and self.place.position >= logs[-1].size:
            return True
        confirmed = self._last_end == self.place
        self._last_end = self.place
        return confirmed

    def _once(self) -> Iterator[Item]:
        client = self.connect()
        self.stop.watch(client)
        try:
            self.facts = client.facts
            self._check_server(client)
            if self.gtids is not None:
                items = client.dump_gtid(self.gtids(), wait=self.wait)
                yield from self._behind(items, client)
            else:
                before, self.place = self.place.file, self._reachable(client)
                if before != self.place.file:
                    self._ended = before
                anchor = self.place.anchor
                start = self.place.position if anchor is None else anchor.pos
                items = client.dump(self.place.file, start, wait=self.wait)
                if self._ended and self.follows is not None:
                    items = self._proved(items, self.follows, client)
                yield from self._resumed(items, client)
            if self.wait and not self.stop:
                raise LostConnectionError("it ended the stream", server=client.server)
        finally:
            self.stop.watch(None)
            client.close()

    def _check_server(self, client: ReplicationClient) -> None:
        if self.uuid is not None and client.facts.uuid != self.uuid:
            raise OtherServerError(
                f"it is server {client.facts.uuid}, not {self.uuid}", server=client.server,
                file=self.place.file, position=self.place.position,
            )  # fmt: skip
        self.uuid = client.facts.uuid

    def _reachable(self, client: ReplicationClient) -> ResumePoint:
        """The place, or the start of the next log when its own ended and is purged."""
        place, sizes = self.place, {log.name: log.size for log in client.facts.logs or ()}
        names = list(sizes)
        size = sizes.get(place.file, place.position)
        if size < place.position:
            raise self._differs(
                client,
                f"its {place.file} has only {size} bytes: its logs were reset, "
                "or a crash took what was read",
            )
        if not place.file or not names or place.file in names:
            return place
        if place.next_file in names:
            return ResumePoint(place.next_file)
        raise LogGapError(
            f"{place.file} is not among its logs any more, which begin with {names[0]}: "
            "what follows is lost there" if place.anchor else
            f"it has no log {place.file}; its logs are {names[0]} to {names[-1]}",
            server=client.server, file=place.file, position=place.position,
        )  # fmt: skip

    def _differs(self, client: ReplicationClient, how: str) -> ReplicationError:
        return ReplicationError(
            how, server=client.server, file=self.place.file, position=self.place.position
        )

    def _proved(
        self, items: Iterator[Item], follows: Follows, client: ReplicationClient
    ) -> Iterator[Item]:
        """The items of the log that follows one which the server has not any more."""
        held: list[Item] = []
        for item in items:
            held.append(item)
            if isinstance(item, StreamEvent):
                self._check_sum(item, client)
            if isinstance(item, Idle) or len(held) == _HEAD:
                break
        head = [item for item in held if isinstance(item, StreamEvent)]
        why = follows(self._ended, head, client.facts) if head else None
        if why is not None:
            raise self._differs(
                client, f"its {self.place.file} is not what followed {self._ended}: {why}"
            )
        self._ended = "" if head else self._ended
        yield from held
        yield from items

    def _resumed(self, items: Iterator[Item], client: ReplicationClient) -> Iterator[Item]:
        """A dump's items without those that were given before."""
        asked = self.place
        anchor, again = asked.anchor, bool(asked.anchor)
        for item in items:
            if isinstance(item, FileStart):
                if not self.place.file or item.file != self.place.file or not again:
                    if anchor is not None:
                        raise self._differs(client, "it does not send again what was read before")
                    self._arrive(item, client)
                    again = False
                    yield item
            elif isinstance(item, Idle):
                yield item
            elif item.file != asked.file or not again:
                self._check_sum(item, client)
                self._check_start(item, client)
                self._advance(item)
                yield item
            elif not item.made_up:
                if anchor is not None and item.pos == anchor.pos:
                    if Anchor.of(item.pos, item.data) != anchor:
                        self._check_sum(item, client)
                        raise self._differs(
                            client, f"its {asked.file} is not the one that was read before"
                        )
                    anchor = None
                elif anchor is None and item.pos >= asked.position:
                    self._check_sum(item, client)
                    self._advance(item)
                    yield item

    def _behind(self, items: Iterator[Item], client: ReplicationClient) -> Iterator[Item]:
        """A dump by GTID without what was given before: the same server keeps its places."""
        asked, skipping = self.place, False
        for item in items:
            if isinstance(item, FileStart):
                skipping = bool(asked.file) and _number(item.file) <= _number(asked.file)
                if not skipping:
                    self.place = ResumePoint(item.file, item.position)
                    yield item
            elif isinstance(item, Idle):
                yield item
            elif not skipping or (item.file == asked.file and item.pos >= asked.position):
                self._check_sum(item, client)
                self._advance(item)
                yield item
            elif item.header.type_code == EventType.FORMAT_DESCRIPTION_EVENT:
                yield replace(item, made_up=True)

    def _arrive(self, start: FileStart, client: ReplicationClient) -> None:
        """A log begins: it must be the one that was asked for, or a new one."""
        if start.file == self.place.file and start.position < self.place.position:
            raise self._differs(client, f"it begins {start.file} again")
        self.place = ResumePoint(start.file, start.position)

    def _check_sum(self, event: StreamEvent, client: ReplicationClient) -> None:
        """_WrongChecksum, but for an event that came so before, byte for byte."""
        if event.checksum != "bad":
            return
        place = f"{event.file} at {event.pos}"
        came = event.file, Anchor.of(event.pos, event.data)
        if came == self._wrong:
            if place not in self.bad_checksums[-1:]:
                self.bad_checksums.append(place)
            return
        file, pos, times = self._wrong_at
        again = (file, pos) == (event.file, event.pos)
        self._wrong, self._wrong_at = came, (event.file, event.pos, times + 1 if again else 1)
        raise _WrongChecksum(f"{place} came with a wrong checksum", server=client.server)

    def _check_start(self, event: StreamEvent, client: ReplicationClient) -> None:
        """Older servers send whatever stands at a position: an event must begin there."""
        place = self.place
        end = (event.pos + len(event.data)) % REACH
        asked = place.anchor is None and place.position > FIRST_POSITION and not event.made_up
        if asked and event.header.log_pos != end:
            raise self._differs(client, "no event begins at this position")

    def _advance(self, event: StreamEvent) -> None:
        if not event.made_up:
            self.place = self.place.after(event)


def _number(name: str) -> int:
    numbered = _NUMBERED.fullmatch(name)
    return int(numbered[2]) if numbered else 0
