"""Capture: write a server's logs into a folder that ``binlogkit.open`` reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from binlogkit.events.format_description import FormatDescription
from binlogkit.events.gtid import PreviousGtids
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.reader import read_events
from binlogkit.log.opening import open_log
from binlogkit.sources.connection import ServerSettings, parse_url
from binlogkit.sources.server.capture import Captured, CaptureStart, Progress
from binlogkit.sources.server.capture import capture as fill
from binlogkit.sources.server.client import SILENCE, ServerFacts
from binlogkit.sources.server.raw_events import raw_events
from binlogkit.sources.server.stream import FIRST_POSITION, StreamEvent

if TYPE_CHECKING:
    from binlogkit.errors import LostConnectionError
    from binlogkit.sources.server.resume import Stop


_STARTS_WITHIN = 3600  # seconds between a server's start and its first log


def capture(
    server: str | ServerSettings,
    out: str | os.PathLike[str],
    *,
    follow: bool = False,
    start_log: str | None = None,
    start_position: int = FIRST_POSITION,
    gtid_set: str | GtidSet | None = None,
    patience: float = 300.0,
    silence: float = SILENCE,
    stop: Stop | None = None,
    progress: Callable[[Progress], None] | None = None,
    lost: Callable[[LostConnectionError], None] | None = None,
) -> Captured:
    """Write a server's logs into the folder ``out``, or resume the capture that is there.

    ``server``: ``mysql://user@host:port`` (password: environment variable BINLOGKIT_PASSWORD, or
    ``?defaults-file=…``) or settings.
    ``out``: the folder; a new one is made with mode 0700.
    ``follow``: capture until ``stop.now()`` is called, else up to the end of the last log.
    ``stop``: what ends a capture that follows.

    Where a new capture begins:

    ``start_log``: a log's name, by default the server's first.
    ``start_position``: bytes from the log's beginning, by default 4, its first event.
    ``gtid_set``: instead, the log with the first transaction that is not in this set.

    When the connection is lost:

    ``patience``: seconds to try to reach the server again; 0: not at all.
    ``silence``: seconds without a byte, even a heartbeat, after which the server counts as lost.
    ``lost``: called with each error of the connection.

    ``progress``: called with the capture's progress.

    Errors: UsageError (``out`` holds something else), InputError (a log in ``out`` is not as the
    capture left it), WriteError, ServerError: LostConnectionError (after ``patience``),
    ReplicationError, LogGapError (the server has purged logs that are needed).
    """
    wanted = GtidSet.parse(gtid_set) if isinstance(gtid_set, str) else gtid_set
    start = CaptureStart(start_log or "", start_position, None if wanted is None else str(wanted))
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
        follows=_not_following,
        silence=silence,
    )


def _not_following(ended: Path, head: Sequence[StreamEvent], facts: ServerFacts) -> str | None:
    """Why a log that begins with ``head`` cannot follow the captured log ``ended``, else None.

    RESET MASTER TO gives a new log any number.
    """
    before = open_log(ended, on_damage="report").verify().files[0]
    bodies = [event.body for event in read_events(raw_events(head), on_damage="report")]
    previous = next((body.gtid_set for body in bodies if isinstance(body, PreviousGtids)), None)
    known = (before.previous or GtidSet()).union(before.gtids.to_set())
    if previous is not None and known:
        lost = known.subtract(GtidSet.parse(previous))
        return f"its PREVIOUS_GTIDS lack {lost}" if lost else None
    begun = next((body.created for body in bodies if isinstance(body, FormatDescription)), 0)
    if begun and before.ended == "ROTATE_EVENT":
        return "it was begun anew, and not by the rotation that ends the other"
    if begun and facts.started is not None and begun > facts.started + _STARTS_WITHIN:
        return "it was begun anew while the server ran, and the other ends with its shutdown"
    return None
