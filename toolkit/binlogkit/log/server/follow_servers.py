"""A running server's events, rows and transactions as they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.server.one_server import FollowArgs, ServerFollowing
from binlogkit.log.server.several_servers import FollowingSeveral
from binlogkit.log.signatures import names
from binlogkit.rows.options import Start
from binlogkit.sources.connection import Servers, ServerSettings, servers_of
from binlogkit.sources.server.resume import Stop
from binlogkit.sources.server.stream import FIRST_POSITION

if TYPE_CHECKING:
    from binlogkit.errors import LostConnectionError


@names(FollowArgs)
def follow(
    server: Servers,
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
    **reading: Unpack[FollowArgs],
) -> ServerFollowing | FollowingSeveral:
    """What a server writes from a place on, or the transactions outside a GTID set.

    ``server``: ``mysql://user@host:port`` or settings.
    ``start_log``: the log to start with, by default the server's first.
    ``start_position``: bytes from its beginning, by default 4, its first event.
    ``gtid_set``: instead, the transactions to skip; needs gtid_mode=ON. If another server answers
    at the address later, rows resume by GTID.
    ``wait``: wait for new events until ``stop.now()``, else stop at the end of the last log.
    ``heartbeat``: seconds after which an idle server sends a heartbeat.
    ``patience``, ``silence``, ``lost``: as :func:`capture`.
    ``schema``, ``charset``, ``on_damage``: as :func:`binlogkit.open`, for rows.

    Several servers (``mysql://user@one:3306,two:3306``, or a list) need a ``gtid_set``. The first
    one that answers is followed. When it is lost, the next one that has all transactions that were
    read is followed (log/server/several_servers.py). Several servers give no events.

    Iteration gives events; ``rows()``, ``batches()``, ``transactions()`` and ``steps()`` give whole
    transactions (log/transactions_as_written.py).

    Errors: as :func:`capture`; DamageError.
    """
    servers, stop = servers_of(server), Stop() if stop is None else stop
    place = start_log, start_position

    def one(settings: ServerSettings, start: Start, patience: float) -> ServerFollowing:
        times, seen = (heartbeat, silence, patience), start.seen
        if gtid_set is not None:
            seen = seen or GtidSet()
        return ServerFollowing(settings, place, seen, wait, times, stop, lost, reading, start)

    if gtid_set is None and len(servers) == 1:
        return one(servers[0], Start(), patience)
    if gtid_set is None or place != (None, FIRST_POSITION):
        raise UsageError(
            "a server is followed from a place or by GTIDs, not both; several by GTIDs (gtid_set)"
        )
    given = GtidSet.parse(gtid_set) if isinstance(gtid_set, str) else gtid_set
    return FollowingSeveral(servers, one, Start(seen=given), patience, stop)
