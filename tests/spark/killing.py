"""Spark's Python processes, to be killed."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.benchmarks.processes import facts_of_all


def workers() -> list[int]:
    """The Python processes of this process's Spark: children of the daemon that its Java began.

    Other tests run beside this one, with a Spark of their own.
    """
    children: dict[int, list[int]] = {}
    for number, facts in facts_of_all():
        children.setdefault(int(facts[1]), []).append(number)
    java = children.get(os.getpid(), [])
    daemons = [pid for parent in java for pid in children.get(parent, [])]
    return [pid for parent in daemons for pid in children.get(parent, [])]


@contextmanager
def killed(seed: int, soonest: float, latest: float) -> Iterator[list[int]]:
    """SIGKILL for all of them, again and again, after so many seconds; those that were."""
    found, done, moments = list[int](), threading.Event(), random.Random(seed)

    def kills() -> None:
        while not done.wait(moments.uniform(soonest, latest)):
            for pid in workers():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    found.append(pid)

    killer = threading.Thread(target=kills)
    killer.start()
    try:
        yield found
    finally:
        done.set()
        killer.join()
