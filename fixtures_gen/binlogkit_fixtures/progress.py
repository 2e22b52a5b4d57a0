"""A progress bar on standard error for work that takes more than two seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["PATIENCE", "progress_bar"]

PATIENCE = 2.0  # seconds before anything is drawn


@contextmanager
def progress_bar(total: int, console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """Gives a function that takes, from any thread, the name of each of ``total`` parts done.

    Nothing is drawn where standard error is no terminal.
    """
    console = console or Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("fixtures", total=total)
    begin, lock = time.monotonic(), threading.Lock()

    def advance(name: str) -> None:
        with lock:
            bar.update(task, advance=1, description=name)
            if not bar.live.is_started and time.monotonic() - begin >= PATIENCE:
                bar.start()

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
