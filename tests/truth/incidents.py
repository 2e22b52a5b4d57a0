"""Incidents planted into ordinary days on a real server: does the log's first suspect name them?

``python -m tests.truth.incidents --server 8.0 --incidents N --seed S`` prints a line of JSON for
each incident and one with sums: how often the planted cause is the first suspect, and how many
lines ordinary days raise (those of the same log that are not the cause). ``--number I`` is one
alone, ``--hourly``, ``--days`` and ``--size`` say how much happens beside it, ``--calm`` plants
nothing. Rules are tuned on other seeds than those that count.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import binlogkit as bk
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.truth.ordinary_days import DAY, Days

OPTIONS: dict[str, str | None] = {
    "binlog-format": "ROW", "sync-binlog": "0", "innodb-flush-log-at-trx-commit": "0",
    "gtid-mode": "OFF", "enforce-gtid-consistency": "OFF", "log-bin-trust-function-creators": "1",
}  # fmt: skip
MOST = 3  # lines that ordinary days may raise


def _pieces(days: Days) -> None:
    low = days.chance.randint(1, days.size // 2)
    session = days.session()
    days.run(session, "USE shop", *(
        f"DELETE FROM orders WHERE id = {low + n}" for n in range(days.size // 10)
    ))  # fmt: skip
    session.close()


def _unlogged(days: Days) -> None:
    days.alone(
        "UPDATE coupons SET percent = 100", settings="SET sql_log_bin = 0"
    )  # the next customers' coupons show it


def _text(days: Days) -> None:
    days.alone(
        "UPDATE orders SET total = 0 WHERE status = 'new'", settings="SET binlog_format = STATEMENT"
    )


def _some(days: Days) -> str:
    """The ids of a part of the orders."""
    low = days.chance.randint(1, days.size // 2)
    return f"id BETWEEN {low} AND {low + days.chance.randint(days.size // 20, days.size // 3)}"


def _alone(make: Callable[[Days], str]) -> Callable[[Days], None]:
    return lambda days: days.alone(make(days))


#: What can happen, by name.
INCIDENTS: dict[str, Callable[[Days], None]] = {
    "half_where": _alone(
        lambda days: f"UPDATE orders SET status = 'refunded', total = 0 WHERE {_some(days)}"
    ),
    "no_where": _alone(lambda _: "UPDATE products SET price = 9.99"),
    "factor": _alone(lambda days: f"UPDATE orders SET total = total * 100 WHERE {_some(days)}"),
    "null": _alone(lambda days: f"UPDATE customers SET email = NULL WHERE {_some(days)}"),
    "join": _alone(
        lambda _: "UPDATE orders JOIN customers ON customer = customers.id SET total = points"
        " WHERE city = 'Bari'"
    ),
    "delete_all": _alone(lambda _: "DELETE FROM carts"),
    "delete_some": _alone(lambda _: "DELETE FROM orders WHERE status = 'new'"),
    "delete_range": _alone(lambda days: f"DELETE FROM items WHERE order_{_some(days)}"),
    "pieces": _pieces,
    "truncate": _alone(lambda _: "TRUNCATE TABLE coupons"),
    "drop": _alone(lambda _: "DROP TABLE items"),
    "drop_column": _alone(lambda _: "ALTER TABLE customers DROP COLUMN city"),
    "drop_database": _alone(lambda _: "DROP DATABASE legacy"),
    "unlogged": _unlogged,
    "text": _text,
    "grant": _alone(lambda _: "CREATE USER intruder@localhost; GRANT ALL ON *.* TO"
                    " intruder@localhost; DROP USER intruder@localhost"),
}  # fmt: skip


class Planted:
    """An incident among ordinary days; ``kind``: None plants nothing; ``later``: the log begins
    after the tables' creation."""

    def __init__(self, server: Server, kind: str | None, days: Days, *, later: bool) -> None:
        self._server, self._kind, self._days = server, kind, days
        self.place: tuple[str, int, int] | None = None
        for name in ("shop", "legacy"):
            server.query(f"DROP DATABASE IF EXISTS {name}")
        server.query("FLUSH BINARY LOGS")
        days.make()
        if later:
            server.query("FLUSH BINARY LOGS")
        self._first = server.binlog_names()[-1]
        days.plan()
        if kind is not None:
            days.at(days.chance.uniform(0.3, 0.9) * days.days * DAY, self._plant)

    def _position(self) -> tuple[str, int]:
        row = self._server.query("SHOW MASTER STATUS")[0]
        return str(row[0]), int(row[1])

    def _plant(self) -> None:
        file, start = self._position()
        assert self._kind is not None
        INCIDENTS[self._kind](self._days)
        self._days.hurt = True
        self.place = file, start, self._position()[1]

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
        if self.place is None:
            return False
        if self._kind == "unlogged":
            return bool(suspect["rule"] == "unlogged" and "coupons" in suspect["what"])
        file, start, end = self.place
        return bool(Path(suspect["file"] or "").name == file and start <= suspect["pos"] < end)


def tried(server: Server, seed: str, kind: str | None, **how: int) -> dict[str, Any]:
    """Plant one incident and read the log; what the suspects are."""
    chance = random.Random(seed)
    later = chance.random() < 0.5 and kind != "unlogged"  # no log without the key shows that
    planted = Planted(server, kind, Days(server, chance, **how), later=later)
    with tempfile.TemporaryDirectory() as name:
        files = planted.logs(Path(name))
        began = time.process_time()
        log = bk.open(files)
        found = log.suspects(engine="pyarrow").to_pylist()
        took = time.process_time() - began
        changes = sum(row["rows"] for row in log.transactions(engine="pyarrow").to_pylist())
    rank = next((s["rank"] for s in found if planted.is_cause(s)), None)
    others = [s for s in found if not planted.is_cause(s)]
    return {
        "seed": seed, "incident": kind, "rank": rank, "others": len(others), "changes": changes,
        "seconds": round(took, 2),
        "suspects": [
            f"{s['score']} {s['rule']} {s['table']} {s['op']} {s['rows']}: {s['what'][:80]}"
            for s in found[:6]
        ],
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--server", default="8.0")
    parser.add_argument("--incidents", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=None)
    parser.add_argument("--hourly", type=int, default=25)
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--calm", action="store_true")
    args = parser.parse_args(arguments)
    how = {"days": args.days, "hourly": args.hourly, "size": args.size}
    found = []
    with start_server(ServerSpec(args.server, OPTIONS), "auto", "real")[0] as server:
        for number in range(args.incidents) if args.number is None else [args.number]:
            chance = random.Random(f"{args.seed}/{number}")
            kind = None if args.calm else chance.choice(sorted(INCIDENTS))
            found.append(tried(server, f"{args.seed}/{number}", kind, **how))
            print(json.dumps(found[-1], ensure_ascii=False), flush=True)
    first, calm = sum(f["rank"] == 1 for f in found), sum(f["others"] <= MOST for f in found)
    most = max((f["others"] for f in found), default=0)
    sums = {"server": args.server, "tried": len(found), "first": first, "calm": calm, "most": most}
    print(json.dumps(sums | {"changes": sum(f["changes"] for f in found)}))
    return 0 if calm == len(found) and (args.calm or first >= 0.9 * len(found)) else 1


if __name__ == "__main__":
    sys.exit(main())
