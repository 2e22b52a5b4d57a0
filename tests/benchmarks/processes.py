"""Whole processes and what they took: user CPU, user and system CPU, wall time, peak memory."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

T = TypeVar("T")


def facts_of_all() -> Iterator[tuple[int, list[str]]]:
    """The number of each process, and the fields of proc_pid_stat(5) from its state on."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            yield int(status.parent.name), status.read_text().rpartition(")")[2].split()


@dataclass
class Figures:
    """What one decoder took for one log: a number per round."""

    user: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    failure: str = ""


def once(command: list[str], figures: Figures, read: Callable[[IO[str]], T]) -> T:
    """``read``: what is made of the output. It and all else here stays small: a process is told to
    have had the peak memory of the one that started it."""
    # Installed modules are compiled before: the fresh process must not do that either.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        figures.wall.append(time.perf_counter() - start)
        figures.user.append(usage.ru_utime)
        figures.cpu.append(usage.ru_utime + usage.ru_stime)
        figures.peak.append(usage.ru_maxrss // 1024)
        if child.returncode:
            figures.failure = f"exit status {child.returncode}"
        out.seek(0)
        with io.TextIOWrapper(out, "utf-8", "replace") as text:
            return read(text)


def last_line(text: IO[str]) -> dict[str, float]:
    """The figures in the last line."""
    *_, line = text
    told: dict[str, float] = json.loads(line)
    return told


def passed(_: IO[str]) -> dict[str, float]:
    """Nothing: it was counted before."""
    return {}
