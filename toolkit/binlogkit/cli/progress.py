"""A progress bar on standard error for reading that takes more than two seconds.

Damage, a filter and an interruption end reading early; the bar ends with the command, however that
ends, and before anything else is said.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from binlogkit.errors import printable
from binlogkit.sources.layers import Layer

if TYPE_CHECKING:
    from binlogkit.log import Log
    from binlogkit.sources.carriers import Carrier
    from binlogkit.sources.server.capture import Progress

T = TypeVar("T")
PATIENCE = 2.0
_REFRESH = 0.2


class _Meter:
    """How far a command is; draws nothing before the patience is over. ``speed``: shows that
    instead of the time which is left."""

    def __init__(self, total: int | None, *, speed: bool = False) -> None:
        self._total, self._speed = total, speed
        self._furthest: dict[int, int] = {}
        self._start = time.monotonic()
        self._drawn = 0.0
        self._bar: Any = None
        self._task: Any = None

    def reached(self, log: int, offset: int) -> None:
        """Note that ``log`` was read up to ``offset``."""
        self._furthest[log] = max(self._furthest.get(log, 0), offset)
        done = sum(self._furthest.values())
        if self.draw("reading", done, self._total) and done >= (self._total or 0):
            self.end()

    def draw(self, what: str, done: int, total: int | None) -> bool:
        """Draw it if it is time to; whether it was."""
        now = time.monotonic()
        if now - self._start < PATIENCE or now - self._drawn < _REFRESH:
            return False
        self._drawn = now
        if self._bar is None:
            self._open(what)
        self._bar.update(self._task, description=what, completed=done, total=total)
        return True

    def end(self) -> None:
        """Take the bar away and give the cursor back; it does not come again."""
        self._drawn = math.inf
        if self._bar is not None:
            self._bar.stop()

    def _open(self, what: str) -> None:
        from rich import progress as bars
        from rich.console import Console

        last = bars.TransferSpeedColumn() if self._speed else bars.TimeRemainingColumn()
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}", markup=False), bars.BarColumn(),
            bars.DownloadColumn(), last, console=Console(stderr=True), transient=True,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._task = self._bar.add_task(what, total=self._total)
        self._bar.start()


_meters: list[_Meter] = []


def end_progress() -> None:
    """End what is drawn: reading is over, or other words follow on standard error."""
    while _meters:
        _meters.pop().end()


def ended_by(records: Iterator[T], output: str | os.PathLike[str]) -> Iterator[T]:
    """``records``, the first of which ends what is drawn where they go to the same terminal."""
    for record in records:
        if _meters and os.fspath(output) == "-" and sys.stdout and sys.stdout.isatty():
            end_progress()
        yield record


def batches_done() -> Callable[[int, int], None]:
    """Draws how many bytes of a batch are done, where standard error is a terminal."""
    total = 0

    def reached(done: int, of: int) -> None:
        nonlocal total
        if not _on_terminal():
            return
        if not _meters or total != of:
            end_progress()
            _meters.append(_Meter(of))
            total = of
        _meters[-1].reached(0, done)

    return reached


def captured(progress: Progress) -> None:
    """Draw how far a capture is, where standard error is a terminal."""
    if _on_terminal():
        if not _meters:
            _meters.append(_Meter(None, speed=True))
        total = None if progress.total is None else max(progress.total, progress.done)
        _meters[-1].draw(printable(f"{progress.file}:{progress.position}"), progress.done, total)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


class _Counted(Layer):
    """A file, read from its beginning on, that reports to a meter how far it was read."""

    def __init__(self, file: BinaryIO, meter: _Meter, log: int) -> None:
        super().__init__(file)
        self._meter, self._log, self._offset = meter, log, 0

    def seekable(self) -> bool:
        return False

    def some(self, size: int) -> bytes:
        data = self._inner.read(size)
        self._offset += len(data)
        self._meter.reached(self._log, self._offset)
        return data


def with_progress(log: Log) -> Log:
    """``log``, watched where standard error is a terminal and the logs' sizes are known."""
    sizes = [carrier.size for carrier in log.carriers]
    if not _on_terminal() or None in sizes:
        return log
    meter = _Meter(sum(size or 0 for size in sizes))
    _meters.append(meter)
    log.carriers = [
        replace(carrier, opener=_Watched(carrier.opener, meter, number))
        for number, carrier in enumerate(log.carriers)
    ]
    return log


@dataclass(frozen=True, slots=True)
class _Watched:
    """An opener whose files report to a meter how far they are read."""

    opener: Callable[[], BinaryIO]
    meter: _Meter
    log: int

    def __call__(self) -> BinaryIO:
        return cast(BinaryIO, _Counted(self.opener(), self.meter, self.log))


def unwatched(carrier: Carrier) -> Carrier:
    """A log for reading that is not what takes the time."""
    opener = carrier.opener
    return replace(carrier, opener=opener.opener) if isinstance(opener, _Watched) else carrier
