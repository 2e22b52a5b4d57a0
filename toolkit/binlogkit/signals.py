"""What SIGINT and SIGTERM do while a command runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: What ends a command.
ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_signals(
    call: Callable[[], object], numbers: tuple[signal.Signals, ...] = ENDING
) -> Iterator[None]:
    """These signals call this, and nothing else; also where the shell had SIGINT ignored, as for a
    script's background job."""
    before = {number: signal.signal(number, lambda *_: call()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
