"""Points after a log's end: asked for by mistake, or to mean the end; either way it is reported."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO

from binlogkit.errors import DamageError, InputError, LimitError
from binlogkit.rows.filters import Filters
from binlogkit.sources.loose_events import LooseEvents

if TYPE_CHECKING:
    from binlogkit.log.streams import Streams
    from binlogkit.sources.carriers import Carrier

__all__ = ["MICROSECONDS", "filters_behind_end", "times_outside", "utc"]

MICROSECONDS = 1_000_000
_CHUNK = 1 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc(seconds: int) -> str:
    """A second since the epoch as text."""
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:
        return f"second {seconds}"


def times_outside(log: Streams, filters: Mapping[str, Any]) -> list[str]:
    """What to tell of times before the log's first event, or after its last."""
    wanted = Filters.build(
        start_time=filters.get("start_time"),
        stop_time=filters.get("stop_time"),
        timezone=filters.get("timezone"),
    )
    start, stop, first = wanted.start_time, wanted.stop_time, log.times.first
    if first is None:
        return []
    last = log.times.last
    told, found = f"the log's events are from {utc(first)} to {utc(last)}", []
    if start is not None and start >= (last + 1) * MICROSECONDS:
        found.append(f"{told}, before the start time {utc(start // MICROSECONDS)}")
    if stop is not None and stop <= first * MICROSECONDS:
        found.append(f"{told}, not before the stop time {utc(stop // MICROSECONDS)}")
    return found


def filters_behind_end(log: Streams, filters: Mapping[str, Any]) -> list[str]:
    """What to tell of positions that the first and the last log do not reach.

    A log is only as long as its bytes, whatever its events say; of events without a file around
    them nothing is reported.
    """
    told = []
    for carrier, option, means in (
        (log.carriers[0], "start", "nothing of it is chosen"),
        (log.carriers[-1], "stop", "it is read to its end"),
    ):
        pos = filters.get(f"{option}_position")
        end = None if pos is None else _end_before(carrier, pos)
        if end is not None:
            told.append(
                f"{carrier.name} ends at {end}, before the {option} position {pos}: {means}"
            )
    return told


def _end_before(carrier: Carrier, pos: int) -> int | None:
    """Where a log ends, None where that is not before ``pos``, or where reading tells of it."""
    with suppress(DamageError, InputError, LimitError), carrier.open() as file:
        if isinstance(file, LooseEvents):
            return None
        end = file.seek(0, os.SEEK_END) if file.seekable() else _read_up_to(file, pos)
        return end if end < pos else None
    return None


def _read_up_to(file: BinaryIO, pos: int) -> int:
    """How many bytes there are, up to about ``pos``."""
    count = 0
    while count < pos and (chunk := file.read(_CHUNK)):
        count += len(chunk)
    return count
