"""The smallest input that still shows a fault: events left out, then bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.fuzz.binlogkit_fuzz.framing import MAGIC, Pieces, join, split

__all__ = ["fewest", "smallest"]

_TIMES = 4  # of the first event, since a target asks what a checksum of the input says


def smallest(
    data: bytes, breaks: Callable[[bytes], bool], *, framed: bool, seconds: float
) -> bytes:
    """The smallest input found in so many CPU seconds for which ``breaks`` holds."""
    until = time.process_time() + seconds
    forms = [_fewer_events, _shorter_events, _fewer_bytes] if framed else [_fewer_bytes]
    shrunk = True
    while shrunk:
        shrunk = False
        for form in forms:
            found = True
            while found:
                found = False
                for other in form(data):
                    if time.process_time() > until:
                        return data
                    if len(other) < len(data) and breaks(other):
                        data, found, shrunk = other, True, True
                        break
    return data


def fewest(logs: Sequence[bytes], breaks: Callable[..., bool], *, seconds: float) -> list[bytes]:
    """The fewest of these logs for which ``breaks`` holds, each with the fewest events."""
    until = time.process_time() + seconds
    found = list(logs)
    for at in reversed(range(len(found))):
        fewer = found[:at] + found[at + 1 :]
        if len(fewer) > 1 and time.process_time() < until and breaks(*fewer):
            found = fewer
    for at, log in enumerate(found):

        def still(other: bytes, at: int = at) -> bool:
            return breaks(*found[:at], other, *found[at + 1 :])

        left = until - time.process_time()
        found[at] = smallest(log, still, framed=True, seconds=left)
    return found


def _fewer_events(data: bytes) -> Iterator[bytes]:
    pieces = split(data)
    if not data.startswith(MAGIC):
        return
    for at in reversed(range(len(pieces.parts))):
        yield from _joined(replace(pieces, parts=pieces.parts[:at] + pieces.parts[at + 1 :]))


def _shorter_events(data: bytes) -> Iterator[bytes]:
    pieces = split(data)
    if not data.startswith(MAGIC):
        return
    for at, part in enumerate(pieces.parts):
        for body in _fewer_bytes(part.body):
            parts = [*pieces.parts[:at], replace(part, body=body), *pieces.parts[at + 1 :]]
            yield from _joined(replace(pieces, parts=parts))


def _joined(pieces: Pieces) -> Iterator[bytes]:
    if not pieces.parts:
        return
    first, *others = pieces.parts
    for time_ in range(_TIMES):
        yield join(replace(pieces, parts=[replace(first, timestamp=time_), *others]))


def _fewer_bytes(data: bytes) -> Iterator[bytes]:
    size = len(data)
    while size:
        for at in range(0, len(data), size):
            yield data[:at] + data[at + size :]
        size //= 2
