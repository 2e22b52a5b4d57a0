"""How long a damaged log takes: `python tests/benchmarks/damage_speed.py LOG … [--runs 3]`.

Bytes at random places are changed, more in each round; the log is then read to Arrow with
``on_damage="report"``. Prints wall seconds (the least of the runs), the damages told, and how many
row changes came, of them in Python. Logs as ``logs.py`` makes them.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import binlogkit as bk

DAMAGES = (0, 1, 10, 100, 1000)
_HEAD = 1000  # bytes that stay as they are: without its format description a log is another's


def damaged(data: bytes, count: int) -> bytes:
    """The log with so many of its bytes changed."""
    chance, broken = random.Random(5), bytearray(data)
    for _ in range(count):
        broken[chance.randrange(_HEAD, len(broken))] ^= 0x41
    return bytes(broken)


def measured(path: Path, runs: int) -> tuple[float, bk.Log, int]:
    """The seconds, the log that was read, and its row changes."""
    best = float("inf")
    for _ in range(runs):
        log = bk.open(path, on_damage="report")
        began = time.perf_counter()
        rows = sum(batch.batch.num_rows for batch in log.batches())
        best = min(best, time.perf_counter() - began)
    return best, log, rows


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "damaged.binlog"
        for path in chosen.logs:
            data = path.read_bytes()
            for count in DAMAGES:
                copy.write_bytes(damaged(data, count))
                seconds, log, rows = measured(copy, chosen.runs)
                print(
                    f"{path.name}: {seconds:.2f} s, {len(log.damages)} damages, {rows} row changes",
                    flush=True,
                )


if __name__ == "__main__":
    main()
