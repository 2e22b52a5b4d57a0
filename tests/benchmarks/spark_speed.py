"""The Spark source beside ``log.batches()``: seconds of user CPU per part of the work, one core.

    python tests/benchmarks/spark_speed.py LOG [--table DB.T] [--rounds N] [--session | --land DIR]

``plan``: the walk where a query is planned; ``splits``: what the workers do, one split after the
other, in this process; ``batches``: a Log over the same rows, with one thread, for comparison. With
``--session`` also the wall time of a real local session of two workers that counts the rows and
sums up a column. Without ``--table`` the typed scan is of the table with the most columns.

With ``--land DIR`` only that: CPU seconds of landing LOG in new folders below DIR, by this process,
then twice by a local session of two workers, their JVM included.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import binlogkit as bk
from binlogkit.spark import land, session
from binlogkit.spark.options import parse_options
from binlogkit.spark.splits.decode import decode, scan_schema
from binlogkit.spark.splits.plan import SplitPlan, make_plan
from tests.benchmarks.processes import facts_of_all


def timed(call: Callable[[], int], rounds: int) -> tuple[int, float]:
    """What ``call`` gives, and its least user CPU."""
    found, best = 0, float("inf")
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        found = call()
        best = min(best, resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return found, best


def line(name: str, rows: int, seconds: float) -> None:
    """One line of the result."""
    rate = f"{rows / seconds:14,.0f} rows/s" if rows else ""
    print(f"{name:22} {seconds:8.3f} s {rate}", flush=True)


def splits_rows(plan: SplitPlan) -> int:
    """Decode every split; how many rows."""
    schema = scan_schema(plan)
    return sum(
        batch.num_rows for split in plan.splits for batch in decode(plan.scan, split, schema)
    )


def in_session(log: str, options: dict[str, str]) -> None:
    """Read with real workers."""
    spark = session(master="local[2]", memory="2g")
    for _ in range(2):
        start = time.monotonic()
        frame = spark.read.format("binlog").options(**options).load(log)
        rows = frame.selectExpr("count(*)", "sum(pos)").collect()[0][0]
        line(f"session, {frame.rdd.getNumPartitions()} splits", rows, time.monotonic() - start)
    spark.stop()


def family_seconds() -> float:
    """CPU seconds of this process and all below it, alive or not."""
    spent, children = dict[int, int](), dict[int, list[int]]()
    for number, facts in facts_of_all():
        spent[number] = sum(map(int, facts[11:15]))  # utime to cstime
        children.setdefault(int(facts[1]), []).append(number)
    found, waiting = 0, [os.getpid()]
    while waiting:
        found += spent[(one := waiting.pop())]
        waiting += children.get(one, ())
    return found / os.sysconf("SC_CLK_TCK")


def landings(log: Path, out: Path) -> None:
    """Land a log by one process, and by Spark."""
    logs = sorted(log.iterdir()) if log.is_dir() else [log]

    def landed(name: str, engine: Any) -> None:
        before = family_seconds()
        rows = sum(land(engine, logs, out / name).rows.values())
        line(name, rows, family_seconds() - before)

    landed("one process", None)
    before = family_seconds()
    spark = session(master="local[2]", memory="2g", brief=True)  # as on the command line
    spark.range(10).count()
    line("session", 0, family_seconds() - before)
    for name in ("first", "second"):
        landed(f"Spark, {name}", spark)
    spark.stop()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--table")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--generic", action="store_true", help="the generic rows, too")
    parser.add_argument("--session", action="store_true")
    parser.add_argument("--land", type=Path, metavar="DIR", help="a new folder")
    given = parser.parse_args()
    if given.land:
        landings(Path(given.log), given.land)
        return
    table: Any = given.table
    table = table or bk.open(given.log).tables().groupby(["db", "table"]).size().idxmax()
    table = table if isinstance(table, str) else ".".join(table)
    options = {"table": table}
    rows, seconds = timed(
        lambda: sum(b.batch.num_rows for b in bk.open(given.log, threads=1).batches(table)),
        given.rounds,
    )
    line(f"batches {table}", rows, seconds)
    for name, chosen in [("typed", options), *([("generic", {})] if given.generic else [])]:
        scan = parse_options({"path": given.log, **chosen})
        _, seconds = timed(lambda scan=scan: len(make_plan(scan).splits), given.rounds)  # type: ignore[misc]
        line(f"plan {name}", 0, seconds)
        plan = make_plan(scan)
        rows, seconds = timed(lambda plan=plan: splits_rows(plan), given.rounds)  # type: ignore[misc]
        line(f"splits {name} ({len(plan.splits)})", rows, seconds)
    if given.session:
        in_session(given.log, options)


if __name__ == "__main__":
    main()
