"""Events of a running server as they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.errors import UsageError
from binlogkit.events.base import Event
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.reader import read_events
from binlogkit.sources.carriers import shown
from binlogkit.sources.connection import ServerSettings, parse_url
from binlogkit.sources.raw import RawEvent
from binlogkit.sources.server.stream import FIRST_POSITION, Item, StreamEvent

if TYPE_CHECKING:
    from binlogkit.errors import LostConnectionError
    from binlogkit.sources.server.client import ReplicationClient
    from binlogkit.sources.server.resume import Stop

_TOGETHER = 10_000
_GTID_EVENTS = (EventType.GTID_LOG_EVENT, EventType.GTID_TAGGED_LOG_EVENT)


def follow(
    server: str | ServerSettings,
    *,
    start_log: str | None = None,
    start_position: int = FIRST_POSITION,
    gtid_set: str | GtidSet | None = None,
    wait: bool = True,
    heartbeat: float = 10.0,
    patience: float = 300.0,
    silence: float = 120.0,
    stop: Stop | None = None,
    lost: Callable[[LostConnectionError], None] | None = None,
) -> Iterator[Event]:
    """A server's events from a place on, or those of the transactions outside a GTID set.

    ``server``: ``mysql://user@host:port`` or settings; ``start_log``, ``start_position``: the place
    (the first log, 4); ``gtid_set``: what is not to be sent (needs gtid_mode=ON; a lost connection
    is taken up by GTID on the same server); ``wait``: for what will be written, until
    ``stop.now()``; without it up to the end of the last log; ``heartbeat``: seconds after which an
    idle server sends one; ``patience``, ``silence``: as :func:`capture`. Each event comes once,
    with the log's name as ``raw.file`` and its 64-bit offset there as ``raw.pos``; what the server
    makes up is left out. Errors: as :func:`capture`; DamageError.
    """
    from binlogkit.sources.server.client import Identity, ReplicationClient
    from binlogkit.sources.server.resume import ResumePoint, SteadyStream

    if gtid_set is not None and (start_log is not None or start_position != FIRST_POSITION):
        raise UsageError("events are followed from a place or by GTIDs, not both")
    settings = parse_url(server)[0] if isinstance(server, str) else server
    connect: Callable[[], ReplicationClient] = partial(
        ReplicationClient, settings, Identity(), heartbeat=heartbeat, silence=silence
    )
    seen = _Seen(GtidSet.parse(gtid_set) if isinstance(gtid_set, str) else gtid_set or GtidSet())
    stream = SteadyStream(
        connect,
        ResumePoint(start_log or "", start_position),
        gtids=None if gtid_set is None else seen.wire,
        wait=wait,
        patience=patience,
        stop=stop,
        lost=lost,
    )
    for event in read_events(raw_events(stream)):
        header = event.raw.header
        if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT and not header.log_pos:
            continue
        seen.take(event)
        yield event


class _Seen:
    """The transactions that came whole: one has ended when the next one, or a log, begins."""

    def __init__(self, known: GtidSet) -> None:
        self._known = known
        self._new: list[str] = []
        self._open: str | None = None

    def take(self, event: Event) -> None:
        """Note what an event says of the transaction before it."""
        code = event.raw.header.type_code
        if code in _GTID_EVENTS:
            self._end()
            self._open = getattr(event.body, "gtid", None)
        elif code == EventType.ROTATE_EVENT:
            self._end()

    def _end(self) -> None:
        if self._open is not None:
            self._new.append(self._open)
        self._open = None
        if len(self._new) >= _TOGETHER:
            self._merge()

    def _merge(self) -> None:
        self._known = GtidSet.parse(",".join(filter(None, (str(self._known), *self._new))))
        self._new.clear()

    def wire(self) -> bytes:
        """What a server need not send again."""
        self._merge()
        return self._known.wire()


def raw_events(stream: Iterable[Item]) -> Iterator[RawEvent]:
    """The events of a dump as the rooms above take them.

    What is made up is needed to read what follows; its ``log_pos`` is 0.
    """
    for item in stream:
        if not isinstance(item, StreamEvent):
            continue
        header = replace(item.header, log_pos=0) if item.made_up else item.header
        checksummed = item.format.checksummed(header.type_code)
        yield RawEvent(
            file=shown(item.file),
            pos=item.pos,
            header=header,
            body=item.body,
            checksum=item.checksum,
            version=item.format.version,
            extra_header=item.data[HEADER_LENGTH : header.length],
            stored_checksum=item.data[-CHECKSUM_LENGTH:] if checksummed else b"",
        )
