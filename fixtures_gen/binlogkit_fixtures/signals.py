"""Signals that end a run."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from binlogkit.signals import ENDING, on_signals

__all__ = ["interruptible"]

_AGAIN = 0.01  # seconds until an interruption that Python ignored is raised once more


@contextmanager
def interruptible(*numbers: signal.Signals) -> Iterator[None]:
    """The signals (SIGINT and SIGTERM, where none is given) raise KeyboardInterrupt, the first of
    them alone: what ends is not disturbed.

    Python ignores what is raised in a finaliser, for it has nobody to give it to; an interruption
    that came there is raised again after it.
    """
    ended = False

    def end() -> None:
        nonlocal ended
        if not ended:
            ended = True
            raise KeyboardInterrupt

    def again() -> None:
        raise KeyboardInterrupt

    def ignored(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            before(unraisable)

    before = sys.unraisablehook
    with on_signals(again, (signal.SIGALRM,)):
        try:
            sys.unraisablehook = ignored
            with on_signals(end, numbers or ENDING):
                yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.unraisablehook = before
