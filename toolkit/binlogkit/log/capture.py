"""The front of a capture: a server's logs into a folder that ``binlogkit.open`` reads."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from binlogkit.events.gtid_set import GtidSet
from binlogkit.sources.connection import ServerSettings, parse_url
from binlogkit.sources.server.stream import FIRST_POSITION

if TYPE_CHECKING:
    from binlogkit.errors import LostConnectionError
    from binlogkit.sources.server.capture import Captured, Progress
    from binlogkit.sources.server.resume import Stop


def capture(
    server: str | ServerSettings,
    out: str | os.PathLike[str],
    *,
    follow: bool = False,
    start_log: str | None = None,
    start_position: int = FIRST_POSITION,
    gtid_set: str | GtidSet | None = None,
    patience: float = 300.0,
    stop: Stop | None = None,
    progress: Callable[[Progress], None] | None = None,
    lost: Callable[[LostConnectionError], None] | None = None,
) -> Captured:
    """Write a server's logs into the folder ``out``, or go on where a capture into it ended.

    ``server``: ``mysql://user@host:port`` (password: environment variable BINLOGKIT_PASSWORD, or
    ``?defaults-file=…``) or settings; ``follow``: until ``stop.now()`` is called, else up to the
    end of the last log; ``start_log``, ``start_position``: where a new capture begins (first log,
    4); ``gtid_set``: begin with the log that has the first transaction outside the set;
    ``patience``: seconds to look for a lost server. Errors: UsageError, InputError, WriteError,
    ServerError: LostConnectionError, ReplicationError, LogGapError.
    """
    from binlogkit.sources.server.capture import Start
    from binlogkit.sources.server.capture import capture as fill

    wanted = GtidSet.parse(gtid_set) if isinstance(gtid_set, str) else gtid_set
    start = Start(start_log or "", start_position, None if wanted is None else str(wanted))
    return fill(
        parse_url(server)[0] if isinstance(server, str) else server,
        out,
        follow=follow,
        start=start,
        gtids=None if wanted is None else wanted.wire(),
        patience=patience,
        stop=stop,
        progress=progress,
        lost=lost,
    )
