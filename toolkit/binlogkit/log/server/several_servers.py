"""Servers that stand in for each other: when one is lost, the next one is followed by GTID.

They may share one address that moves from one to the other. Another server has the same
transactions in other logs, at other positions. It is chosen if it has every transaction that was
read; reading resumes with the first other transaction that it sends. A replica that lags is waited
for as long as a lost server is. A server is rejected if it will never have all of them, if it has
deleted what comes next, or if it was written to directly before it had what was read: its state
then differs (an errant transaction).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from binlogkit.errors import (
    LogGapError,
    LostConnectionError,
    ReplicationError,
    ServerError,
    UsageError,
)
from binlogkit.events.gtid import Gtid
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.reader import read_events
from binlogkit.log.transactions_as_written import Asked, Following, Step, Stepped
from binlogkit.rows.options import Start
from binlogkit.sources.connection import ServerSettings, connect, translated
from binlogkit.sources.server.client import ClientIdentity, ReplicationClient
from binlogkit.sources.server.raw_events import raw_events
from binlogkit.sources.server.resume import OtherServerError, ResumePoint, SteadyStream, Stop
from binlogkit.sources.server.tail import ServerTail, first_place

if TYPE_CHECKING:
    from binlogkit.events.base import Event
    from binlogkit.log.server.one_server import ServerFollowing
    from binlogkit.rows.reading import Reading
    from binlogkit.rows.soundness import Gap

_EACH = 10.0  # seconds to wait for a lost server while there are others
_PAUSE = 0.5

#: Follows one server from a start, with this many seconds of patience.
Follow = Callable[["ServerSettings", "Start", float], "ServerFollowing"]


class FollowingSeveral(Stepped):
    """Several servers from a GTID set on; ``server``: the settings of the current one.

    ``patience``: seconds to look for a successor of a lost server.
    """

    def __init__(
        self,
        servers: list[ServerSettings],
        follow: Follow,
        start: Start,
        patience: float,
        stop: Stop,
    ) -> None:
        self._servers, self._follow, self._patience, self._stop = servers, follow, patience, stop
        self._before: list[Gap] = []
        self.server = servers[0]
        self._now = self._with(start)

    def _with(self, start: Start) -> ServerFollowing:
        count = len(self._servers)
        patience = self._patience if count == 1 else min(_EACH, self._patience / count)
        return self._follow(self.server, start, patience)

    @property
    def gtids(self) -> GtidSet:
        """See :attr:`Stepped.gtids`."""
        return self._now.gtids

    @property
    def tail(self) -> ServerTail | None:
        """See :attr:`Following.tail`."""
        return self._now.tail

    @property
    def reading(self) -> Reading:
        """The current reading."""
        return self._now.reading

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if len(self._servers) > 1:
            raise UsageError("several servers give rows, transactions and steps, but no events")
        return next(self._now)

    @property
    def gaps(self) -> list[Gap]:
        """Where changes may be missing between the start and the last step."""
        return [*self._before, *self._now.gaps]

    def has_more(self) -> bool:
        """See :meth:`Stepped.has_more`."""
        return self._now.has_more()

    def close(self) -> None:
        """See :meth:`Stepped.close`."""
        self._stop.now()
        self._now.close()

    def go_through(self, asked: Asked) -> Iterator[Step]:
        """See :meth:`Stepped.go_through`."""
        while True:
            try:
                yield from map(self._noted, self._now.go_through(asked))
                return
            except (LostConnectionError, OtherServerError) as error:
                if self._stop:
                    return
                if len(self._servers) == 1 and isinstance(error, LostConnectionError):
                    raise  # it was already waited for
                self._go_on(error)

    def _noted(self, step: Step) -> Step:
        step.gaps = [*self._before, *step.gaps]
        self.file, self.pos = step.file, step.pos
        return step

    def _go_on(self, lost: ServerError) -> None:
        """Switch to the next suitable server. Errors: why none is."""
        ended, until = self._now, time.monotonic() + self._patience
        at = self._servers.index(self.server)
        others = [*self._servers[at + 1 :], *self._servers[: at + 1]]
        while True:
            reasons: list[ReplicationError] = []
            for server in others:
                try:
                    why = _why_not(server, ended.gtids, self._stop)
                except LostConnectionError:
                    continue
                if why is None:
                    self._take(server, ended)
                    return
                reasons.append(why)
            if self._stop or time.monotonic() > until:
                raise reasons[0] if reasons else lost
            self._stop.sleep(_PAUSE)

    def _take(self, server: ServerSettings, ended: Following) -> None:
        self.server = server
        self._before += ended.gaps
        self._now = self._with(ended.reading.start_after(ended.number, ended.gtids))
        self._now.prepared.carried = {
            **ended.prepared.carried, **{xa: n for (_, xa), n in ended.prepared.open.items()},
        }  # fmt: skip


def _why_not(server: ServerSettings, seen: GtidSet, stop: Stop) -> ReplicationError | None:
    """Why a server cannot continue after these transactions, else None.

    LostConnectionError: there is no connection.
    """
    with closing(connect(server)) as session, translated(server.name), session.cursor() as cursor:
        asked = ("gtid_mode", "gtid_executed", "gtid_purged", "server_uuid")
        cursor.execute(f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in asked)}")
        mode, *sets, uuid = map(str, cursor.fetchone())
    executed, purged = (GtidSet.parse(one.replace("\n", "")) for one in sets)
    if mode != "ON":
        return ReplicationError("it has no GTIDs (gtid_mode=ON)", server=server.name)
    if missing := seen.subtract(executed):
        return ReplicationError(f"it lacks {missing}, which was read", server=server.name)
    if gone := purged.subtract(seen):
        return LogGapError(f"it has purged {gone}, which was not read", server=server.name)
    if (own := _errant(server, seen, uuid, stop)) is not None:
        text = f"it was written to before it had what was read: {own} is its own (errant)"
        return ReplicationError(text, server=server.name)
    return None


def _errant(server: ServerSettings, seen: GtidSet, uuid: str, stop: Stop) -> str | None:
    """A server's own transaction that was not read and comes, in its logs, before one that was read
    and came from elsewhere."""

    def begin() -> ReplicationClient:
        return ReplicationClient(server, ClientIdentity())

    file, position = first_place(begin, seen.wire(), stop)
    own: str | None = None
    stream = SteadyStream(begin, ResumePoint(file, position), stop=stop)
    for event in read_events(raw_events(stream)):
        gtid = event.body.gtid if isinstance(event.body, Gtid) else None
        if gtid is None:
            continue
        mine = gtid.startswith(uuid)
        if mine and own is None and gtid not in seen:
            own = gtid
        if own is not None and not mine and gtid in seen:
            return own
    return None
