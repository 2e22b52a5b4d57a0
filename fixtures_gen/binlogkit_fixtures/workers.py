"""Cells in processes of their own, so that an interruption ends each of them at once.

A worker's signal is an exception in the midst of what it does: its servers are gone, and its half
folder, when it has left. One that does not leave in time is killed, and then the guards of its
servers remove them. Nothing outlives the process that began it.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from binlogkit.errors import BinlogKitError, ServerError
from binlogkit_fixtures.capture import PARTIAL, Captured, How, Job, capture_cell, check_empty
from binlogkit_fixtures.signals import interruptible

__all__ = ["capture_matrix"]

_GRACE = 0.6  # seconds for workers to end by themselves when they are to


def capture_matrix(
    jobs: Sequence[Job],
    out: Path,
    how: How,
    *,
    servers: int = 2,
    done: Callable[[Captured], None] = lambda _: None,
) -> list[Captured]:
    """Run each cell's scenarios, ``servers`` cells at a time; the rest as
    :func:`~binlogkit_fixtures.capture.capture_cell`.

    After the first error no further cell is begun, and it is raised when those that run are done.
    An interruption ends all within a second; what is whole by then stays. A script that calls this
    does so below ``if __name__ == "__main__":`` (multiprocessing, "spawn"). UsageError: a folder
    that is to be written is there already and not empty.
    """
    for cell, scenarios in jobs:
        for scenario in scenarios:
            check_empty(out / cell.name / scenario.name)
    out.mkdir(parents=True, exist_ok=True)
    crew = _Crew(out, how, done)
    try:
        crew.work(list(jobs), servers)
    except BaseException:
        crew.end()
        raise
    finally:
        shutil.rmtree(out / PARTIAL, ignore_errors=True)
    if crew.error is not None:
        raise crew.error
    order = [f"{cell.name}/{scenario.name}" for cell, scenarios in jobs for scenario in scenarios]
    return sorted(crew.found, key=lambda captured: order.index(captured.name))


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    cell: str


class _Crew:
    """The workers of one run, and what they have found."""

    def __init__(self, out: Path, how: How, done: Callable[[Captured], None]) -> None:
        self._out, self._how, self._done = out, how, done
        self._running: list[_Worker] = []
        self.found: list[Captured] = []
        self.error: BinlogKitError | None = None

    def work(self, jobs: list[Job], servers: int) -> None:
        """All jobs, in their order; after an error those that run."""
        while self._running or (jobs and self.error is None):
            while jobs and self.error is None and len(self._running) < servers:
                self._begin(jobs.pop(0))
            ready = wait([worker.pipe for worker in self._running])
            for worker in [w for w in self._running if w.pipe in ready]:
                self._hear(worker)

    def _begin(self, job: Job) -> None:
        ours, theirs = get_context("spawn").Pipe(duplex=False)
        process = get_context("spawn").Process(
            target=_work, args=(job, self._out, self._how, theirs)
        )
        self._running.append(_Worker(process, ours, job[0].name))
        process.start()
        theirs.close()  # the worker's end alone is left: its end is the end of the pipe

    def _hear(self, worker: _Worker) -> None:
        try:
            news = worker.pipe.recv()
        except EOFError:
            self._running.remove(worker)
            worker.pipe.close()
            worker.process.join()
            if worker.process.exitcode and self.error is None:
                self.error = ServerError(
                    f"the process of {worker.cell} ended with status {worker.process.exitcode}"
                )
            return
        if isinstance(news, Captured):
            self.found.append(news)
            self._done(news)
        else:
            self.error = self.error or news

    def end(self) -> None:
        """End all workers, by force those that take longer than _GRACE."""
        started = [w.process for w in self._running if w.process.pid is not None]
        for process in started:
            process.terminate()
        deadline = time.monotonic() + _GRACE
        for process in started:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        for worker in self._running:
            worker.pipe.close()


def _work(job: Job, out: Path, how: How, pipe: Connection) -> None:
    """A worker: one cell, its results sent as they come; BinlogKitErrors are sent, too."""
    signal.signal(signal.SIGINT, lambda *_: None)  # the terminal sends it to all: one of us decides
    with interruptible(signal.SIGTERM):
        threading.Thread(target=_end_with_parent, daemon=True).start()
        try:
            capture_cell(*job, out, how, pipe.send)
        except ServerError as exc:
            pipe.send(ServerError(f"{job[0].name}: {exc}"))
        except BinlogKitError as exc:
            pipe.send(exc)
        except KeyboardInterrupt:
            pass  # nobody waits for what is missing


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
