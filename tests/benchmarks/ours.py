"""binlogkit's side of the benchmark: decodes one log to Arrow and says what the call alone took.

Prints ``{"changes": n, "values": n, "user": s, "wall": s}``: the figures of the decoding alone,
without the interpreter's start and the imports, which the process as a whole shows.
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


def main() -> None:
    """Decode the log that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--count", action="store_true", help="count the values too (untimed runs)")
    wanted = parser.parse_args()
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    changes = values = 0
    for batch in bk.open(wanted.log).batches():
        changes += batch.batch.num_rows
        if wanted.count:
            values += _values(batch.batch)
    wall = time.perf_counter() - start
    user = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before.ru_utime
    print(json.dumps({"changes": changes, "values": values, "user": user, "wall": wall}))


if __name__ == "__main__":
    main()
