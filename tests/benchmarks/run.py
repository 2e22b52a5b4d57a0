"""`make bench`: every decoder over the same logs, side by side in one run, then the answers, and
live state.

For each log a table: user CPU, user and system CPU, and wall seconds of whole processes (medians of
several rounds, the decoders taking turns), peak memory, and how many times the user CPU of
binlogkit's decode call that is. What each decoder counted stands beside it. The decode call is
measured in a process that has loaded what is loaded once; as a fresh process binlogkit has a row of
its own, imports included. The floors are what any decoder must do at least (floors.py).
The second table is that of whole commands beside mysqlbinlog (answers.py); the third, of live state
(live.py), comes where no log is named.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks import answers, decoders, live, logs
from tests.benchmarks.processes import Figures, last_line, once, passed

HERE = Path(__file__).parent
_OURS = (sys.executable, str(HERE / "ours.py"))
_CALLS = ("--repeat", "12", "--threads")
_ONE, _TWO, _FRESH = "decode call", "decode call, 2 threads", "fresh process"
_TWO_COLUMNS = "decode call, 2 columns"
_SLOW = 20.0  # seconds of wall: a decoder that takes longer runs once


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
            counts = passed if figures.counts and decoder.counts else decoder.counts or last_line
            said = once([*decoder.command, str(log)], figures, counts)
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
        told = once([sys.executable, str(HERE / "floors.py"), str(log)], Figures(), last_line)
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
        counted = once([*_OURS, "--count", str(log)], Figures(), last_line)
        found = _measure(log, _decoders(built, name), wanted.rounds)
        found[_ONE].counts = {k: int(counted[k]) for k in ("changes", "values")}
        _report(log, found, _floors(log, wanted.rounds))
        answers.measure(name, log, [d for d in built if d.counts], wanted.rounds)
    if not wanted.names:
        live.measure(20_000, 10, 500, 500_000)


if __name__ == "__main__":
    main()
