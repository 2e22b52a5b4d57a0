"""Ten thousand logs of five servers: indexed, landed, landed again, made compact, asked.

    python tests/benchmarks/scale.py [--logs 10000] [--out out/bench/scale] [--master 'local[2]']

The logs are those of ``many_logs.py``. Each step says its wall time, what it read or wrote a
second, and the largest memory that the driver's Python process has had. What has landed is compared
with what the server said: rows by table and operation, each GTID once, the last rows of a table.
Status 1 where that differs.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.many_logs import make

#: Left for the second landing: the last logs of each server.
_LATER = 2


class Steps:
    """Steps that are timed; ``wrong``: what was not as it should be."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    @contextmanager
    def step(self, name: str, count: int = 0, size: int = 0) -> Iterator[None]:
        """One step, of ``count`` things and ``size`` bytes."""
        begin = time.monotonic()
        yield
        took = time.monotonic() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rates = f"{1000 * took / count:10.2f} ms each" if count else " " * 18
        rates += f"{size / took / 1e6:10.1f} MB/s" if size else ""
        print(f"{name:44}{took:9.2f} s{rates:34} driver {peak:6,} MB", flush=True)

    def check(self, what: str, found: Any, wanted: Any) -> None:
        """Note what differs."""
        if found != wanted:
            self.wrong.append(f"{what}: {found}, not {wanted}")
            print(f"DIFFERENT  {self.wrong[-1]}", flush=True)


def of_folder(folder: Path) -> int:
    """The bytes below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--logs", type=int, default=10_000)
    parser.add_argument("--many", type=Path, default=Path("out/bench/many"))
    parser.add_argument("--out", type=Path, default=Path("out/bench/scale"))
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    facts = json.loads(make(given.logs, given.many).read_text("utf-8"))
    from binlogkit.spark import session

    spark, steps = session(master=given.master), Steps()
    try:
        _measure(spark, steps, facts, given.many.absolute(), given.out.absolute())
    finally:
        spark.stop()
    sys.exit(bool(steps.wrong))


def _measure(spark: Any, steps: Steps, facts: dict[str, Any], many: Path, out: Path) -> None:
    from binlogkit.spark import index, land

    files = [path for name in "abcde" for path in sorted((many / name).iterdir())]
    later = {path for name in "abcde" for path in sorted((many / name).iterdir())[-_LATER:]}
    sizes = {path: path.stat().st_size for path in files}
    first, total = [path for path in files if path not in later], sum(sizes.values())
    with steps.step("index", len(files), total):
        told = index(spark, files, out / "index")
    steps.check("logs read", told.read, len(files))
    print(f"{'':44}{of_folder(out / 'index') / total:9.1%} of the logs' bytes")
    with steps.step("index again, nothing is new", len(files)):
        told = index(spark, files, out / "index")
    steps.check("logs read again", told.read, 0)
    lake = out / "lake"
    with steps.step("land", len(first), sum(sizes[path] for path in first)):
        arrived = land(spark, first, lake)
    print(f"{'':44}{sum(arrived.rows.values()):,} rows, {arrived.files:,} files")
    with steps.step("land what is new", len(later)):
        more = land(spark, files, lake)
    with steps.step("land again, nothing is new", len(files)):
        again = land(spark, files, lake)
    steps.check("rows landed again", again.rows, {})
    rows = Counter(arrived.rows) + Counter(more.rows)
    _ask(spark, steps, facts, many, lake, rows)
    _compact(steps, lake)


def _ask(
    spark: Any, steps: Steps, facts: dict[str, Any], many: Path, lake: Path, rows: Counter[str]
) -> None:
    import pyarrow.compute as pc

    from binlogkit.spark.landing import Landing

    with steps.step("changes by table, Spark", sum(rows.values())):
        found = _changes(spark, lake)
    wanted = Counter[str]()
    for database, tellings in facts["tellings"].items():
        for what, count in facts["rows"].items():
            wanted[f"{database}.{what}"] += count * tellings
    # Tellings are whole but for the last of each server.
    cut = {name: found[name] - wanted[name] for name in wanted}
    most = {name: facts["rows"][name.partition(".")[2]] for name in wanted}
    steps.check("changes by table", {n: cut[n] for n in wanted if not 0 <= cut[n] <= most[n]}, {})
    with steps.step("open the landing, its transactions"):
        landing = Landing(lake)
        transactions = landing.transactions()
    gtids = transactions["gtid"].drop_null()
    steps.check("GTIDs that came twice", len(gtids) - len(pc.unique(gtids)), 0)
    last = facts["tellings"]["shop_1"] * 24
    with steps.step("state of shop_1.orders at a telling's end"):
        state = landing.state("shop_1.orders", at=(str(many / f"a/binlog.{last:06}"), 1 << 40))
    held = [[*map(_text, row["values"].values())] for row in state.rows.to_pylist()]
    steps.check("whether its rows are determined", state.determined, True)
    steps.check("rows of shop_1.orders", sorted(held), sorted(facts["ends"]["orders"]))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _changes(spark: Any, lake: Path) -> Counter[str]:
    from deltalake import DeltaTable

    found = Counter[str]()
    for folder in sorted((lake / "tables").glob("*/*")):
        files = DeltaTable(folder).file_uris()
        grouped = spark.read.parquet(*files).groupBy("_change_type").count().collect()
        for kind, count in grouped:
            if kind != "update_preimage":
                op = kind.removesuffix("_postimage")
                found[f"{folder.parent.name}.{folder.name} {op}"] += count
    return found


def _compact(steps: Steps, lake: Path) -> None:
    from binlogkit.spark.landing import compact

    with steps.step("make compact"):
        found = compact(lake)
    before, after = (sum(getattr(one, n) for one in found) for n in ("before", "after"))
    print(f"{'':44}{before:,} files are {after:,}")


if __name__ == "__main__":
    main()
