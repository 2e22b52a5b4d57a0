"""The second table of `make bench`: whole commands beside mysqlbinlog, in one run.

Each is a process of its own with one thread, imports included; all take turns with
``mysqlbinlog -v --base64-output=decode-rows --verify-binlog-checksum``. User CPU is the median of
the rounds; beside it how many times mysqlbinlog's that is, and the aim. Alone:

    python tests/benchmarks/answers.py [oltp|smalltx|wide-plain …] [--rounds N] [--share S]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks import decoders, logs
from tests.benchmarks.processes import Figures, once, passed

_COMMAND = (sys.executable, str(Path(sys.executable).with_name("binlogkit")))
_ROWS = "import sys, binlogkit as bk; print(len(bk.open(sys.argv[2:]).rows(sys.argv[1])))"
#: The table of each log, and a key in it.
TABLES = {"oltp": "bench.sbtest", "smalltx": "bench.small", "wide-plain": "bench.wide"}
#: User CPU, as multiples of mysqlbinlog's.
AIMS: Mapping[str, tuple[float | None, ...]] = {
    "transactions": (0.3, 1.2, 0.3),
    "verify": (0.3, 1, 0.3),
    "audit": (0.6, 3, 0.6),
    "events": (0.6, 6, 0.5),
    "rows --where": (0.25, 1, 0.25),
    "state": (0.6, 1.5, 1),
    "undo": (2, None, None),
    "conform": (4, None, None),  # mysqlbinlog's own time included
    "rows(table) to pandas": (None, None, None),
}


def _commands(table: str, out: str) -> dict[str, tuple[str, ...]]:
    lines = ("--format", "jsonl", "--output", out)
    return {
        "transactions": ("transactions", *lines),
        "verify": ("verify", *lines),
        "audit": ("audit", *lines),
        "events": ("events", *lines),
        "rows --where": ("rows", "--table", table, "--where", "id=5000", *lines),
        "state": ("state", "--table", table, "--format", "parquet", "--output", out),
        "undo": ("undo", "--table", table, "--op", "delete", "--output", out),
        "conform": ("conform", "--format", "jsonl", "--output", out),
    }


def measure(name: str, log: Path, peers: Iterable[decoders.Peer], rounds: int) -> None:
    """Print the table for a log; ``peers``: mysqlbinlog, where it is there."""
    if name not in TABLES:
        return
    os.environ["BINLOGKIT_THREADS"] = "1"
    paths = list(map(str, logs.files(log)))
    with tempfile.TemporaryDirectory() as folder:
        table, out = TABLES[name], str(Path(folder) / "out")
        runs = {peer.name: [*peer.command, *paths] for peer in peers}
        others = tuple(runs)
        for answer, command in _commands(table, out).items():
            if answer != "undo" or name == "oltp":
                runs[answer] = [*_COMMAND, *command, *paths]
        runs["rows(table) to pandas"] = [sys.executable, "-c", _ROWS, table, *paths]
        found = {run: Figures() for run in runs}
        for _ in range(rounds):
            for run, words in runs.items():
                once(words, found[run], passed)
    _report(name, log, found, others)


def _report(name: str, log: Path, found: Mapping[str, Figures], others: tuple[str, ...]) -> None:
    print(f"\n{log.name}: {sum(f.stat().st_size for f in logs.files(log)):,} bytes, answers")
    print("| | user s | least-most | CPU s | wall s | MB | times mysqlbinlog | aim |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    unit = statistics.median(found[others[0]].user) if others else None
    at = list(TABLES).index(name)
    for run, figures in found.items():
        user = statistics.median(figures.user)
        times = "" if unit is None else f"{user / unit:.2f}"
        aim = AIMS[run][at] if run in AIMS else None
        print(
            f"| {run} | {user:.2f} | {min(figures.user):.2f}-{max(figures.user):.2f} | "
            f"{statistics.median(figures.cpu):.2f} | {statistics.median(figures.wall):.2f} | "
            f"{max(figures.peak):,} | {times} | {'' if aim is None else aim} | {figures.failure}"
        )
    sys.stdout.flush()


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TABLES)}; all by default")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the logs' full size")
    wanted = parser.parse_args()
    peers = [p for p in decoders.mysqlbinlog(wanted.out) if p.counts]
    for name in wanted.names or TABLES:
        measure(name, logs.make(name, wanted.out / "logs", wanted.share), peers, wanted.rounds)


if __name__ == "__main__":
    main()
