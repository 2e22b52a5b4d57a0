"""Money moves between accounts at random: what live state shows never has part of a transaction.

The test is the one of "Internal consistency in streaming systems" (J. Brandon, 2021). The campaign:
``BINLOGKIT_RUNNER=local python -m tests.livestate.test_consistency_server --seconds 600 --rate 1100
--restarts 100``.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pymysql
import pytest

from binlogkit.errors import LostConnectionError
from binlogkit.livestate.live import live
from binlogkit.livestate.views.view import ViewChange
from binlogkit_fixtures.servers import Server
from tests.livestate.shop import answers, reached
from tests.sources.server.conftest_server import settings_of, shared_series
from tests.waiting import LONG, joined, until

pytestmark = pytest.mark.server

#: Told how often was looked, and how many transfers were seen.
Enough = Callable[[int, int], bool]

ACCOUNTS, EACH = 20, 1000
OPTIONS = {"binlog-row-image": "MINIMAL", "binlog-transaction-compression": "ON"}
TABLES = ("bank.account", "bank.transfer")
BALANCES = "SELECT id, balance FROM bank.account"
TOTAL = "SELECT SUM(balance) AS total, COUNT(*) AS n FROM bank.account"
BY_BRANCH = "SELECT branch, SUM(balance) AS total FROM bank.account GROUP BY branch"
CREDITS = "SELECT receiver, SUM(amount) AS s FROM bank.transfer GROUP BY receiver"
DEBITS = "SELECT giver, SUM(amount) AS s FROM bank.transfer GROUP BY giver"
MOVED = "SELECT COUNT(*) FROM bank.transfer HAVING COUNT(*) > 30"
JOINED = (
    "SELECT a.id, a.balance, COUNT(t.id) AS n, SUM(t.amount) AS s FROM bank.account a "
    "LEFT JOIN bank.transfer t ON t.receiver = a.id GROUP BY a.id, a.balance"
)


def prepare(server: Server) -> None:
    """The bank."""
    server.query("CREATE DATABASE bank")
    server.query("CREATE TABLE bank.account (id INT PRIMARY KEY, branch INT, balance BIGINT)")
    server.query(
        "CREATE TABLE bank.transfer (id INT PRIMARY KEY AUTO_INCREMENT, giver INT, receiver INT, "
        "amount BIGINT)"
    )
    rows = ", ".join(f"({i}, {i % 3}, {EACH})" for i in range(ACCOUNTS))
    server.query(f"INSERT INTO bank.account VALUES {rows}")


class Customers:
    """Sessions that move money until they are told to stop, in a process of their own; every fifth
    time it is rolled back. ``pause``: seconds between two transactions of a session; ``done``:
    transactions, once it has ended."""

    def __init__(self, server: Server, sessions: int, pause: float) -> None:
        command = [sys.executable, "-m", "tests.livestate.customers", str(server.port)]
        self._process = subprocess.Popen(
            [*command, str(sessions), str(pause)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{server.password}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "begun\n"
        self.done = 0

    def stop(self) -> None:
        """Let them end."""
        if self._process.returncode is None:
            self.done = int(self._process.communicate("stop\n")[0])

    def __enter__(self) -> Customers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Watcher:
    """Follows a result by its changes; ``wrong``: what it had that is not right."""

    def __init__(self, place: int, total: int) -> None:
        self._place, self._total = place, total
        self.rows: Counter[Any] = Counter()
        self.met = 0
        self.wrong: list[str] = []

    def __call__(self, change: ViewChange) -> None:
        self.met += 1
        for row, weight in change.rows:
            self.rows[row] += weight
        total = sum(row[self._place] * count for row, count in self.rows.items())
        if total != self._total or min(self.rows.values()) < 0:
            self.wrong.append(f"{total} at {change.moment}")


@dataclass(slots=True)
class Watched:
    """How many transactions there were, how many outputs, what was wrong with them, and how far
    what was shown lay behind, in seconds."""

    transactions: int = 0
    outputs: int = 0
    wrong: list[str] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)


def watched(server: Server, sessions: int, pause: float, enough: Enough, most: float) -> Watched:
    """Look at every output while money moves, until it is ``enough``, ``most`` seconds at most."""
    prepare(server)
    found = Watched()
    watchers = {BALANCES: Watcher(1, ACCOUNTS * EACH), BY_BRANCH: Watcher(1, ACCOUNTS * EACH)}
    wrong, reads = found.wrong, 0
    with Customers(server, sessions, pause) as customers, live(settings_of(server), TABLES) as kept:
        asked = (BALANCES, TOTAL, BY_BRANCH, CREDITS, DEBITS, JOINED)
        queries = {sql: kept.register(sql, on_change=watchers.get(sql)) for sql in asked}

        def look() -> bool:
            nonlocal reads
            found.lags.append(kept.lag)
            with kept.holding() as moment:
                rows = {sql: query.rows() for sql, query in queries.items()}
                frame = kept["bank.account"]["balance"].sum() if not reads % 50 else None
            reads += 1
            sums = [sum(row[1] for row in rows[sql]) for sql in (CREDITS, DEBITS)]
            if rows[TOTAL] != [(ACCOUNTS * EACH, ACCOUNTS)] or sums[0] != sums[1]:
                wrong.append(f"{rows[TOTAL]} {sums} at {moment}")
            if sum(row[1] for row in rows[JOINED]) != ACCOUNTS * EACH:
                wrong.append(f"{rows[JOINED]} at {moment}")
            if frame not in (None, ACCOUNTS * EACH):
                wrong.append(f"{frame} at {moment}")
            return enough(reads, sum(row[2] for row in rows[JOINED]))

        until(look, "enough was looked at", most)
        customers.stop()
        reached(server, kept)
        for query in queries.values():
            ours, theirs = answers(server, query)
            if ours != theirs:
                wrong.append(f"{query.sql}: {ours} {theirs}")
    wrong += [text for one in watchers.values() for text in one.wrong]
    found.outputs = reads * len(queries) + sum(one.met for one in watchers.values())
    found.transactions = customers.done
    return found


def test_the_total_never_changes() -> None:
    with shared_series("8.0", OPTIONS) as server:
        found = watched(server, 2, 0.01, lambda reads, moved: reads > 50 and moved > 200, LONG)
    assert found.wrong == []
    assert found.transactions > 30 and found.outputs > 100


def test_kills_and_restarts_lose_and_double_nothing(tmp_path: Path) -> None:
    """While somebody writes: begun by a snapshot or a checkpoint, its connections killed at random,
    from the snapshot on; each time the tables equal SELECT in the end."""
    with shared_series("8.0", OPTIONS) as server:
        killed(server, tmp_path, 6)


def killed(server: Server, folder: Path, times: int) -> int:
    """How many connections were killed."""
    prepare(server)
    chance, moments, kills, over = random.Random(3), random.Random(4), 0, threading.Event()

    def kill() -> None:
        nonlocal kills
        with server.connect() as session, session.cursor() as cursor:
            while not over.wait(chance.random() * 0.4):
                cursor.execute(
                    "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog D%'"
                )
                for (thread,) in cursor.fetchall():
                    with suppress(pymysql.err.OperationalError):  # it has ended by itself
                        cursor.execute(f"KILL {thread}")
                        kills += 1

    def killed_since(before: int, more: int) -> bool:
        return kills >= before + more

    killer, customer = threading.Thread(target=kill), Customers(server, 1, 0.01)
    killer.start()
    lost: list[LostConnectionError] = []
    try:
        for number in range(times):
            checkpoint = folder / "kept" if number % 3 else None
            with live(settings_of(server), TABLES, checkpoint=checkpoint, lost=lost.append) as kept:
                query = kept.register(JOINED)
                more = moments.randrange(4)
                until(partial(killed_since, kills, more), f"{more} connections are killed")
                moment = kept.moment
                assert kept.wait_for(moment.gtids).count >= moment.count
                if number == times - 1:
                    until(partial(server.query, MOVED), "money moves")
                    customer.stop()
                reached(server, kept)
                with server.connect() as session, session.cursor() as cursor:
                    cursor.execute("FLUSH TABLES WITH READ LOCK")
                    reached(server, kept)
                    ours, theirs = answers(server, query)
                    assert ours == theirs
                    balances = dict(server.query(BALANCES))
                    frame = kept["bank.account"]
                    assert dict(zip(frame["id"], frame["balance"], strict=True)) == balances
    finally:
        over.set()
        customer.stop()
        joined(killer)
    assert kills and customer.done > 30
    return kills


def main() -> None:
    """The campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1000, help="transactions a second")
    given = parser.parse_args()
    with shared_series("8.0", OPTIONS) as server:
        begun, pause = time.monotonic(), given.sessions / given.rate
        end, most = begun + given.seconds, given.seconds + LONG
        found = watched(server, given.sessions, pause, lambda *_: time.monotonic() >= end, most)
        took, lags = time.monotonic() - begun, sorted(found.lags)
    rate, late = found.transactions / given.seconds, lags[int(0.99 * len(lags))]
    print(f"{found.transactions:,} transactions in {given.seconds:.0f} s ({rate:,.0f} a second), "
          f"all shown after {took:.0f} s; {found.outputs:,} outputs, {len(found.wrong)} wrong; "
          f"behind {statistics.median(lags):.2f} s in the middle, {late:.2f} s in 99 of 100",
          *found.wrong[:5], flush=True)  # fmt: skip
    with shared_series("8.0", OPTIONS) as server, TemporaryDirectory() as folder:
        print(f"{given.restarts} restarts, {killed(server, Path(folder), given.restarts)} kills")


if __name__ == "__main__":
    main()
