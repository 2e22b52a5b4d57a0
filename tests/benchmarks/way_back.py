"""Peak memory of states forth and back: each in its own process.

``python tests/benchmarks/way_back.py [--mb 100,400] [CASE …]`` writes logs of some seconds in which
a table of 50,000 rows of 200 bytes is updated over and over, takes the state at their end as a base
(Parquet), and goes back from it to where the updates began. It prints the peak of each process
beyond the interpreter's with pyarrow and pandas. docs/performance.md says what is promised.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.memory import MB, Log, query, rows_head, table_map

_QUERY, _TABLE_MAP, _WRITE, _UPDATE = 2, 19, 30, 31
_TYPES = b"\x03\x0f"  # INT, VARCHAR
_ROWS = 50_000
_WIDTH = 190
_CREATE = f"CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR({_WIDTH}) CHARSET latin1)"
_BATCH = 40  # rows of an event: 8 KB of them, 16 of updates
CASES = {"large": 1000, "small": 1}  # by name: events (small: rows) of a transaction
_SHELL = """
import json, resource, sys, time
import binlogkit as bk
import pyarrow, pyarrow.parquet, pandas
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
log, start, base, out = sys.argv[1:]
idle, begun = peak(), time.process_time()
given = {"at": int(start), "back_from": base} if base else {}
(state,) = bk.open(log, threads=1).states(["d.t"], **given)
found = {"idle": idle, "peak": peak(), "seconds": time.process_time() - begun}
found["rows"], found["determined"] = state.rows.num_rows, state.rows_determined
if out:
    state.to_parquet(out)
print(json.dumps(found))
"""


def _row(i: int, turn: int) -> bytes:
    text = b"%d-%d" % (i, turn)
    return b"\0" + i.to_bytes(4, "little") + bytes([_WIDTH]) + text.ljust(_WIDTH, b".")


def write(log: Log, megabytes: int, events: int) -> int:
    """The log; the position behind which the updates begin."""
    columns = table_map(1, "t", _TYPES, _WIDTH.to_bytes(2, "little"))
    log.event(_QUERY, query(_CREATE))
    turn, size, start = 0, 1 if events == 1 else _BATCH, 0
    while log.pos < megabytes * MB:
        for number, first in enumerate(range(0, _ROWS, size if turn else _BATCH)):
            if number % events == 0:
                log.begin()
            which = range(first, first + (size if turn else _BATCH))
            log.event(_TABLE_MAP, columns)
            if turn:
                rows = b"".join(_row(i, turn - 1) + _row(i, turn) for i in which)
                log.event(_UPDATE, rows_head(1, 2, update=True), rows)
            else:
                log.event(_WRITE, rows_head(1, 2), b"".join(_row(i, 0) for i in which))
            if number % events == events - 1:
                log.commit(number)
        if number % events != events - 1:
            log.commit(number)
        turn += 1
        start = start or log.pos
    return start


def measured(*arguments: str) -> dict[str, float]:
    """What a process of its own says."""
    done = subprocess.run(
        [sys.executable, "-c", _SHELL, *arguments], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--mb", default="100,400", help="the logs' sizes")
    wanted = parser.parse_args()
    print("| transactions | log MB | state | rows | CPU s | peak MB beyond idle |")
    print("|---|---|---|---|---|---|")
    for case in wanted.case:
        for size in map(int, wanted.mb.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                path, base = Path(folder, "log.000001"), str(Path(folder, "base.parquet"))
                with path.open("wb") as file:
                    start = str(write(Log(file), size, CASES[case]))
                ways = {"forth": ("", base), "back": (base, "")}
                for way, files in ways.items():
                    found = measured(str(path), start, *files)
                    assert found["determined"], way
                    print(
                        f"| {case} | {size} | {way} | {found['rows']:,} | {found['seconds']:.1f} "
                        f"| {found['peak'] - found['idle']:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
