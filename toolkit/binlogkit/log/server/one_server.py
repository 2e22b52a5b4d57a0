"""One server's logs from a place on, or by GTIDs: its events, or whole transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from binlogkit.constants import EventType
from binlogkit.events.base import Event
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.reader import read_events
from binlogkit.log.opening import catalog_of
from binlogkit.log.transactions_as_written import Following
from binlogkit.rows.options import ReadOptions, Start
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.coming import ComingLogs
from binlogkit.sources.connection import ServerSettings
from binlogkit.sources.server.client import ClientIdentity, ReplicationClient
from binlogkit.sources.server.raw_events import raw_events
from binlogkit.sources.server.resume import ResumePoint, SteadyStream, Stop
from binlogkit.sources.server.stream import FIRST_POSITION
from binlogkit.sources.server.tail import first_place, tail_of

if TYPE_CHECKING:
    from pathlib import Path

    from binlogkit.errors import LostConnectionError
    from binlogkit.rows.ddl import Catalog
    from binlogkit.rows.schema import Origin

_TOGETHER = 10_000
_GTID_EVENTS = (EventType.GTID_LOG_EVENT, EventType.GTID_TAGGED_LOG_EVENT)


class FollowArgs(TypedDict, total=False):
    """How rows are read: as :func:`binlogkit.open`."""

    schema: str | Path | Catalog | None
    charset: str | None
    on_damage: str
    catalog_origin: Origin


class ServerFollowing(Following):
    """A server's logs from a place on: iteration gives events, once; else as :class:`Following`.

    The server is contacted only when reading starts. ``tail``: the source of its rows, None before
    they are read. For the arguments see :func:`follow`; ``start``: where another server's reading
    ended.
    """

    def __init__(
        self,
        settings: ServerSettings,
        place: tuple[str | None, int],
        gtid_set: str | GtidSet | None,
        wait: bool,
        times: tuple[float, float, float],
        stop: Stop,
        lost: Callable[[LostConnectionError], None] | None,
        reading: FollowArgs,
        start: Start | None = None,
    ) -> None:
        self._place, self._by_gtid = place, gtid_set is not None
        heartbeat, silence, self._patience = times
        self._wait, self._lost = wait, lost
        self._stopping = stop
        self._connect: Callable[[], ReplicationClient] = partial(
            ReplicationClient, settings, ClientIdentity(), heartbeat=heartbeat, silence=silence
        )
        self._given = (
            GtidSet.parse(gtid_set) if isinstance(gtid_set, str) else gtid_set or GtidSet()
        )
        self._events = self._event_stream()
        options = follow_options(reading)
        logs = ComingLogs((), self._next_log, self._pending)
        begin = 0 if self._by_gtid or place[1] == FIRST_POSITION else place[1]
        seen = self._given if self._by_gtid else None
        start = replace(start or Start(), begin=begin, seen=seen)
        super().__init__(logs, options, start, self._end)

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def _end(self) -> None:
        self._stopping.now()
        if self.tail is not None:
            self.tail.close()

    def _pending(self) -> bool:
        return self.tail is not None and self.tail.pending()

    def _next_log(self) -> Carrier | None:
        if self.tail is None:
            file, position = self._place
            how: dict[str, Any] = {"patience": self._patience, "lost": self._lost}
            if self._by_gtid:
                given = self._given.wire()
                file, position = first_place(self._connect, given, self._stopping, **how)
                self.reading.start = replace(
                    self.reading.start, begin=position if position > FIRST_POSITION else 0
                )
            place = file or "", position
            self.tail = tail_of(self._connect, place, self._stopping, wait=self._wait, **how)
        return self.tail.next_log()

    def _event_stream(self) -> Iterator[Event]:
        seen = _Seen(self._given)
        file, position = self._place
        stream = SteadyStream(
            self._connect,
            ResumePoint(file or "", position),
            gtids=seen.wire if self._by_gtid else None,
            wait=self._wait,
            patience=self._patience,
            stop=self._stopping,
            lost=self._lost,
        )
        for event in read_events(raw_events(stream)):
            header = event.raw.header
            if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT and not header.log_pos:
                continue
            seen.take(event)
            yield event


def follow_options(reading: FollowArgs) -> ReadOptions:
    """The options for reading."""
    catalog, origin = catalog_of(reading.get("schema"), None)
    return ReadOptions(
        reading.get("on_damage", "stop"), catalog, reading.get("catalog_origin", origin),
        reading.get("charset"), threads=1,
    )  # fmt: skip


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
        """The transactions that a server need not send again."""
        self._merge()
        return self._known.wire()
