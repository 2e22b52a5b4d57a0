"""How tests wait: for what is to happen, and never for a time.

A deadline here is no statement about speed. It is there so that a test which waits in vain fails
and says what it waited for, on a machine that is many times slower than usual as well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

#: Seconds after which what has not happened is not waited for any more.
LONG = 300
_PAUSE = 0.01
_MOST = 10  # seconds of a round that count: a process that was stopped meanwhile did not wait

T = TypeVar("T")


def until(condition: Callable[[], T], what: str | Callable[[], object], seconds: float = LONG) -> T:
    """The first true answer of ``condition``, which is asked again and again.

    ``what``: what is waited for, told where no such answer comes.
    """
    waited, last = 0.0, time.monotonic()
    while not (found := condition()):
        now = time.monotonic()
        waited, last = waited + min(now - last, _MOST), now
        if waited >= seconds:
            told = what if isinstance(what, str) else what()
            raise AssertionError(f"waited {seconds:.0f} seconds in vain: {told}")
        time.sleep(_PAUSE)
    return found


def set_in_time(event: threading.Event, what: str) -> None:
    """Wait until another thread sets an event."""
    if not event.wait(LONG):
        raise AssertionError(f"waited {LONG} seconds in vain: {what}")


def joined(thread: threading.Thread) -> None:
    """Wait until a thread has ended."""
    thread.join(LONG)
    if thread.is_alive():
        raise AssertionError(f"waited {LONG} seconds in vain: {thread.name} does not end")
