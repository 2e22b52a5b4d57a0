"""What it takes to land one more log behind many landed ones: seconds of CPU, and peak memory.

    python tests/benchmarks/landed_logs.py out/bench/many 2 20 60 250 1000 --out DIR

``out/bench/many``: what ``many_logs.py`` makes, a folder for each server. For each number so many
logs land; then three more land one by one, each with all the others named again; then it is asked
where the landing stands, it is opened, and asked for a table's rows. ``DIR`` is new.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

from binlogkit.spark import land
from binlogkit.spark.landing import Landing, status


def main() -> None:
    """Print a line for each number."""
    parser = argparse.ArgumentParser()
    parser.add_argument("logs", type=Path)
    parser.add_argument("numbers", type=int, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    folders = sorted(path for path in asked.logs.iterdir() if path.is_dir())
    logs = [log for folder in folders for log in sorted(folder.iterdir())]
    for number in asked.numbers:
        land(None, logs[:number], asked.out)
        taken = []
        for more in range(1, 4):
            begun = time.process_time()
            land(None, logs[: number + more], asked.out)
            taken.append(f"{time.process_time() - begun:.2f}")
        print(number, *taken, _peak(), flush=True)
        asks: dict[str, Callable[[], object]] = {
            "status": lambda: status(asked.out),
            "open": lambda: Landing(asked.out),
            "open and state": lambda: (made := Landing(asked.out)).state(made.tables()[0]),
        }
        for name, ask in asks.items():
            begun = time.process_time()
            ask()
            print(name, f"{time.process_time() - begun:.2f}", _peak(), flush=True)


def _peak() -> str:
    """The most memory of this process until now."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB"


if __name__ == "__main__":
    main()
