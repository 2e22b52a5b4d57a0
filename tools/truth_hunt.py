"""Random workloads on real servers, checked against the log they left: a hunt for what tests miss.

``python tools/truth_hunt.py --series 8.0 --seeds 1-20 --units 60 --keep out/hunt``
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.truth import random_workload as workloads  # noqa: E402
from tests.truth import truth_checks as checks  # noqa: E402


def options(series: str, random: Random) -> dict[str, str | None]:
    """Server options by chance."""
    pick = random.choice
    made: dict[str, str | None] = {
        "binlog-format": "ROW",
        "binlog-row-event-max-size": pick(["256", "1024", "8192", "65536"]),
        "binlog-checksum": pick(["CRC32", "CRC32", "NONE"]),
        "log-bin-trust-function-creators": "ON",
        "local-infile": "ON",
        "innodb-lock-wait-timeout": "2",
        "loose-explicit-defaults-for-timestamp": pick(["ON", "OFF"]),
        "secure-file-priv": "",
        "max-allowed-packet": "64M",
    }
    if series != "5.6" and random.random() < 0.7:
        made |= {"gtid-mode": "ON"}
        made |= {"enforce-gtid-consistency": "ON"}
    if series not in ("5.6", "5.7"):
        made["binlog-row-metadata"] = pick(["FULL", "MINIMAL"])
    return made


def hunt(series: str, seed: int, args: argparse.Namespace) -> int:
    import binlogkit as bk
    from binlogkit_fixtures.clock import start_server
    from binlogkit_fixtures.servers import ServerSpec

    random = Random(seed)
    began = time.time()
    chosen = options(series, random)
    out = Path(args.keep) / f"{series}-{seed}"
    out.mkdir(parents=True, exist_ok=True)
    found: list[str] = []
    notes: Counter[str] = Counter()
    with start_server(ServerSpec(series, chosen), "local", "real")[0] as server:
        work = workloads.Workload(
            server,
            seed,
            formats=tuple(args.formats.split(",")),
            ddl=not args.no_ddl,
            images=tuple(args.images.split(",")),
            gtids="gtid-mode" in chosen,
            wide=args.wide,
        )
        try:
            work.go(args.units, args.every)
        finally:
            (out / "journal.sql").write_text("\n".join(work.journal), "utf-8")
        span = work.calm(args.undo) if args.undo else None
        for name in server.binlog_names():
            server.copy_binlog(name, out)
        generated = time.time()
        paths = [str(out / n) for n in server.binlog_names()]
        log = bk.open(paths)
        found += checks.check_events(log, work)
        found += checks.check_units(log, work)
        found += checks.check_images(log)
        if not args.no_state:
            found += checks.check_states(log, work, notes)
        if args.conform:
            found += conform(paths)
        if span is not None:
            found += checks.check_undo(work, paths[-1:], *span)
        found += [f"problem: {p}" for p in log.problems]
        work.close()
    counted = {k: v for k, v in notes.items() if not k.startswith("undetermined")}
    print(
        f"{series} seed {seed}: {len(work.units)} units, {len(found)} complaints, "
        f"{generated - began:.0f} + {time.time() - generated:.0f} s; {counted}; "
        f"errors {dict(work.errors)}; {chosen}",
        flush=True,
    )
    for key, count in notes.items():
        if key.startswith("undetermined"):
            print("   -", count, key, flush=True)
    for line in found[: args.show]:
        print("   ", line[: args.width], flush=True)
    return len(found)


def conform(paths: list[str]) -> list[str]:
    import subprocess

    run: Any = subprocess.run(
        [str(ROOT / ".venv/bin/binlogkit"), "conform", "--format", "jsonl", *paths],
        capture_output=True,
        text=True,
    )
    wrong = ('"kind":"unexplained"', '"kind":"ours"')
    lines = [x for x in run.stdout.splitlines() if any(w in x for w in wrong)]
    found = [f"conform: {x}" for x in lines[:10]]
    return found + ([f"conform {run.returncode}: {run.stderr[-600:]}"] if found else [])


def main(arguments: Sequence[str] | None = None) -> int:
    """The hunts that the arguments name; how many complaints there were."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--series", default="8.0")
    parser.add_argument("--seeds", default="1-5")
    parser.add_argument("--units", type=int, default=60)
    parser.add_argument("--every", type=int, default=12)
    parser.add_argument("--wide", type=int, default=10)
    parser.add_argument("--formats", default="ROW")
    parser.add_argument("--images", default="FULL,MINIMAL,NOBLOB")
    parser.add_argument("--keep", default="/tmp/hunt")
    parser.add_argument("--no-ddl", action="store_true")
    parser.add_argument("--no-state", action="store_true")
    parser.add_argument("--conform", action="store_true")
    parser.add_argument("--undo", type=int, default=0)
    parser.add_argument("--show", type=int, default=15)
    parser.add_argument("--width", type=int, default=700)
    args = parser.parse_args(arguments)
    first, _, last = args.seeds.partition("-")
    total = 0
    for seed in range(int(first), int(last or first) + 1):
        for series in args.series.split(","):
            total += hunt(series, seed, args)
    return total


if __name__ == "__main__":
    sys.exit(main() > 0)
