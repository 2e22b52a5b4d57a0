"""Incidents planted into ordinary days on real servers: does the log's first suspect name them?

``python -m tests.truth.incidents --seed S --incidents N`` prints a line of JSON for each incident
and one with sums: how often the planted cause is the first suspect, and how many lines ordinary
days raise (those of the same log that are not the cause). Server, images, statement texts, one day
or three are drawn, unless ``--server`` and ``--days`` say them; ``--calm`` plants nothing,
``--number I`` is one alone, ``--hourly`` and ``--size`` say how much happens. gh-ost and
pt-online-schema-change are the programs where PATH has them (``tools`` of a line). ``--keep`` names
a folder for the logs. Rules are tuned on other seeds than those that count.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import binlogkit as bk
from binlogkit.errors import ServerError
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.truth.incident_kinds import INCIDENTS, Incident
from tests.truth.ordinary_days import Days

OPTIONS: dict[str, str | None] = {
    "binlog-format": "ROW", "sync-binlog": "0", "innodb-flush-log-at-trx-commit": "0",
    "gtid-mode": "OFF", "enforce-gtid-consistency": "OFF", "log-bin-trust-function-creators": "1",
    "max-allowed-packet": "64M", "max-binlog-size": "1G",
}  # fmt: skip
SERVERS = ("5.7", "8.0", "9")
MOST = 3  # lines that ordinary days may raise


class Planted:
    """An incident among ordinary days; None plants nothing; ``later``: the log begins after the
    tables' creation."""

    def __init__(
        self, server: Server, incident: Incident | None, days: Days, *, later: bool
    ) -> None:
        self._server, self._incident, self._days = server, incident, days
        self._places: list[tuple[str, int, int]] = []
        for name in ("shop", "crm", "PLEASE_READ_ME"):
            server.query(f"DROP DATABASE IF EXISTS {name}")
        server.query("FLUSH BINARY LOGS")
        days.make()
        if later:
            server.query("FLUSH BINARY LOGS")
        self._first = server.binlog_names()[-1]
        days.plan()
        if incident is not None:
            incident.plan(days, self._plant)

    def _position(self) -> tuple[str, int]:
        for words in ("BINARY LOG", "MASTER"):
            try:
                row = self._server.query(f"SHOW {words} STATUS")[0]
            except ServerError:
                continue
            return str(row[0]), int(row[1])
        raise AssertionError("the server says no position")

    def _plant(self, done: Any) -> None:
        """Do a part of the incident, and remember where it stands in the log."""
        file, start = self._position()
        self._days.hurt = True
        done()
        self._places.append((file, start, self._position()[1]))

    def logs(self, folder: Path) -> list[str]:
        """Live the days; their logs."""
        self._days.live()
        self._days.close()
        self._server.query("FLUSH BINARY LOGS")
        names = self._server.binlog_names()
        wanted = names[names.index(self._first) : -1]
        return [str(self._server.copy_binlog(name, folder)) for name in wanted]

    def is_cause(self, suspect: dict[str, Any]) -> bool:
        """Whether a suspect is what was planted."""
        if self._incident is None:
            return False
        if self._incident.shown:
            return suspect["rule"] == "unlogged" and self._incident.shown in suspect["what"]
        return any(
            Path(suspect["file"] or "").name == file and start <= suspect["pos"] < end
            for file, start, end in self._places
        )


def tried(server: Server, seed: str, name: str | None, folder: Path, **how: int) -> dict[str, Any]:
    """Plant one incident and read the log; what the suspects are."""
    chance, began = random.Random(seed), time.monotonic()
    incident = None if name is None else INCIDENTS[name]
    shown = bool(incident and incident.shown)  # by later images only
    image = "FULL" if shown else chance.choice(["FULL", "MINIMAL"])
    texts, later = chance.random() < 0.5, chance.random() < 0.5 and not shown
    server.query(f"SET GLOBAL binlog_row_image = '{image}'")
    server.query(f"SET GLOBAL binlog_rows_query_log_events = {int(texts)}")
    if not server.version.startswith("5"):
        names = chance.choice(["FULL", "MINIMAL"])
        server.query(f"SET GLOBAL binlog_row_metadata = '{names}'")
    days = Days(server, chance, **how)
    planted = Planted(server, incident, days, later=later)
    files = planted.logs(folder)
    made, began = time.monotonic() - began, time.process_time()
    log = bk.open(files)
    found = log.suspects(engine="pyarrow").to_pylist()
    took = time.process_time() - began
    ledger = log.transactions(engine="pyarrow")["rows"]
    rank = next((s["rank"] for s in found if planted.is_cause(s)), None)
    return {
        "seed": seed, "incident": name, "rank": rank,
        "others": sum(not planted.is_cause(s) for s in found),
        "server": server.version, "days": how["days"], "image": image, "texts": texts,
        "later": later, "tools": days.tools, "transactions": len(ledger),
        "changes": sum(ledger.to_pylist()), "made": round(made, 1), "seconds": round(took, 2),
        "suspects": [
            f"{s['score']} {s['rule']} {s['table']} {s['op']} {s['rows']}: {s['what'][:80]}"
            f" [{s['why'][:200]}]{'  <- planted' if planted.is_cause(s) else ''}"
            for s in found[:6]
        ],
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--server")
    parser.add_argument("--incidents", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, nargs="*")
    parser.add_argument("--hourly", type=int, default=300)
    parser.add_argument("--days", type=int)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args(arguments)
    order = random.Random(f"{args.seed}/order")
    kinds = [name for _ in range(9)
             for name in order.sample(sorted(INCIDENTS), len(INCIDENTS))]  # fmt: skip
    numbers = args.number or range(args.incidents)
    found = []
    for version in [args.server] if args.server else SERVERS:
        mine = [n for n in numbers if args.server or SERVERS[n % len(SERVERS)] == version]
        with ExitStack() as stack:
            if mine:
                spec = ServerSpec(version, OPTIONS)
                server = stack.enter_context(start_server(spec, "auto", "real")[0])
            for number in mine:
                seed = f"{args.seed}/{number}"
                days = args.days or random.Random(f"{seed}/days").choice([1, 3])
                with tempfile.TemporaryDirectory() as name:
                    folder = Path(name) if args.keep is None else args.keep / seed
                    folder.mkdir(parents=True, exist_ok=True)
                    found.append(
                        tried(server, seed, None if args.calm else kinds[number], folder,
                              days=days, hourly=args.hourly, size=args.size)
                    )  # fmt: skip
                print(json.dumps(found[-1], ensure_ascii=False), flush=True)
    first, calm = sum(f["rank"] == 1 for f in found), sum(f["others"] <= MOST for f in found)
    most = max((f["others"] for f in found), default=0)
    sums = {"seed": args.seed, "tried": len(found), "first": first, "calm": calm, "most": most}
    print(json.dumps(sums | {"changes": sum(f["changes"] for f in found)}))
    return 0 if calm == len(found) and (args.calm or first >= 0.9 * len(found)) else 1


if __name__ == "__main__":
    sys.exit(main())
