"""binlogkit's side of the benchmark: decodes one log to Arrow and says what the call alone took.

Prints ``{"changes": n, "values": n, "user": s, "cpu": s, "wall": s}``: the figures of the decoding
alone, mean of ``--repeat`` calls in this process behind a first one that loads what is loaded
once. With ``--repeat 0`` there is but the first call: what the process takes as a whole is then
that of one that was started for it.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import binlogkit as bk


def _values(batch: Any) -> int:
    """The cells of both images that are there, NULLs included."""
    count = 0
    for image in ("before", "after"):
        struct = batch.column(image)
        there = len(struct) - struct.null_count
        count += there * struct.type.num_fields
        states = batch.column(f"{image}_state")
        if states.null_count < len(states):
            count -= sum(state == 2 for state in states.flatten().to_pylist())
    return count


def _decode(wanted: argparse.Namespace, count: bool) -> tuple[int, int]:
    changes = values = 0
    columns = wanted.columns.split(",") if wanted.columns else None
    for batch in bk.open(wanted.log, threads=wanted.threads).batches(columns=columns):
        changes += batch.batch.num_rows
        if count:
            values += _values(batch.batch)
    return changes, values


def main() -> None:
    """Decode the log that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--count", action="store_true", help="count the values too (untimed runs)")
    parser.add_argument("--columns", help="names, with commas between; all by default")
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("--threads", type=int)
    wanted = parser.parse_args()
    turns = max(1, wanted.repeat)
    if wanted.repeat:
        _decode(wanted, wanted.count)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    for _ in range(turns):
        changes, values = _decode(wanted, wanted.count)
    wall = (time.perf_counter() - start) / turns
    after = resource.getrusage(resource.RUSAGE_SELF)
    # The kernel tells user from system time by its ticks: one call is too short for that.
    user = (after.ru_utime - before.ru_utime) / turns
    cpu = user + (after.ru_stime - before.ru_stime) / turns
    told = {"changes": changes, "values": values, "user": user, "cpu": cpu, "wall": wall}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
