"""`make bench`: every decoder over the same logs, side by side in one run.

For each log a table: user CPU, user and system CPU, and wall seconds of whole processes (medians of
several rounds, the decoders taking turns), peak memory, and how many times the user CPU of
binlogkit's decode call that is. What each decoder counted stands beside it. The decode call is
measured in a process that has loaded what is loaded once; as a fresh process binlogkit has a row of
its own, imports included. The floors are what any decoder must do at least (floors.py).
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks import decoders, logs

T = TypeVar("T")
HERE = Path(__file__).parent
_OURS = (sys.executable, str(HERE / "ours.py"))
_CALLS = ("--repeat", "12", "--threads")
_ONE, _TWO, _FRESH = "decode call", "decode call, 2 threads", "fresh process"
_TWO_COLUMNS = "decode call, 2 columns"
_SLOW = 20.0  # seconds of wall: a decoder that takes longer runs once


@dataclass
class Figures:
    """What one decoder took for one log: a number per round."""

    user: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    failure: str = ""


def _once(command: list[str], figures: Figures, read: Callable[[IO[str]], T]) -> T:
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


def _last(text: IO[str]) -> dict[str, float]:
    """The figures in the last line."""
    *_, line = text
    told: dict[str, float] = json.loads(line)
    return told


def _passed(_: IO[str]) -> dict[str, float]:
    """Nothing: it was counted before."""
    return {}


def _decoders(found: list[decoders.Peer], name: str) -> list[decoders.Peer]:
    ours = [
        decoders.Peer(_ONE, "", (*_OURS, *_CALLS, "1")),
        decoders.Peer(_TWO, "", (*_OURS, *_CALLS, "2")),
        decoders.Peer(_FRESH, "", (*_OURS, "--threads", "1")),
    ]
    if name.startswith("wide"):
        ours.append(decoders.Peer(_TWO_COLUMNS, "", (*_OURS, *_CALLS, "1", "--columns", "id,v")))
    return [*ours, *found]


def _measure(log: Path, decoders: list[decoders.Peer], rounds: int) -> dict[str, Figures]:
    found = {decoder.name: Figures() for decoder in decoders}
    for _ in range(rounds):
        for decoder in decoders:
            figures = found[decoder.name]
            if figures.wall and max(figures.wall) > _SLOW:
                continue
            counts = _passed if figures.counts and decoder.counts else decoder.counts or _last
            said = _once([*decoder.command, str(log)], figures, counts)
            if figures.failure or not said:
                continue
            figures.counts = {k: int(said[k]) for k in ("changes", "values")}
            if "--repeat" in decoder.command:
                for name in ("user", "cpu", "wall"):
                    getattr(figures, name)[-1] = said[name]
    return found


def _floors(log: Path, rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {}
    for _ in range(rounds):
        told = _once([sys.executable, str(HERE / "floors.py"), str(log)], Figures(), _last)
        for name, seconds in told.items():
            taken.setdefault(name, []).append(seconds)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def _report(log: Path, found: dict[str, Figures], floors: dict[str, float]) -> None:
    alone = statistics.median(found[_ONE].user)
    print(f"\n{log.name}: {log.stat().st_size:,} bytes")
    print("| | user s | least-most | CPU s | wall s | MB | times our user s | counted |")
    print("|---|--:|--:|--:|--:|--:|--:|---|")
    for name, figures in found.items():
        user = statistics.median(figures.user)
        counted = figures.failure
        if figures.counts:
            counted += f" {figures.counts['changes']:,} changes"
        if figures.counts.get("values"):
            counted += f", {figures.counts['values']:,} values"
        shown = f"**binlogkit**, {name}" if name in (_ONE, _TWO, _FRESH, _TWO_COLUMNS) else name
        print(
            f"| {shown} | {user:.3f} | {min(figures.user):.3f}-{max(figures.user):.3f} | "
            f"{statistics.median(figures.cpu):.3f} | {statistics.median(figures.wall):.2f} | "
            f"{max(figures.peak):,} | {user / alone:.1f} | {counted.strip()} |"
        )
    for name, seconds in floors.items():
        print(f"| floor: {name} | {seconds:.3f} | | | | | {seconds / alone:.2f} | |")
    sys.stdout.flush()


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(logs.NAMES)}; all by default")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the logs' full size")
    parser.add_argument("--without", action="append", default=[], help="a decoder to leave out")
    wanted = parser.parse_args()
    built = [p for p in decoders.build(wanted.out) if p.name not in wanted.without]
    print("versions: " + ", ".join(f"{p.name} {p.version}" for p in built))
    for name in wanted.names or logs.NAMES:
        log = logs.make(name, wanted.out / "logs", wanted.share)
        # Also puts the log into the page cache.
        counted = _once([*_OURS, "--count", str(log)], Figures(), _last)
        found = _measure(log, _decoders(built, name), wanted.rounds)
        found[_ONE].counts = {k: int(counted[k]) for k in ("changes", "values")}
        _report(log, found, _floors(log, wanted.rounds))


if __name__ == "__main__":
    main()
