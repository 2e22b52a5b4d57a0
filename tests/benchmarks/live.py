"""The third table of `make bench`: live state, beside asking the server or DuckDB each time.

A server of two tables, five views of them. Row changes a second are by processor time, all threads
together; what is waited for is wall time. Alone:

    python tests/benchmarks/live.py [--rows N] [--rounds N] [--transactions N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2]))

import pyarrow as pa

import binlogkit as bk
from binlogkit.livestate.live import Live
from binlogkit.livestate.views.view import ViewChange
from binlogkit_fixtures.servers import Server
from tests.livestate.shop import reached
from tests.sources.server.conftest_server import settings_of, start_series

TABLES = ("m.t", "m.g")
VIEWS = (
    "SELECT id, amount FROM m.t WHERE amount > 900",
    "SELECT grp, COUNT(*), SUM(amount), MAX(amount) FROM m.t GROUP BY grp",
    "SELECT COUNT(*), SUM(amount), AVG(amount) FROM m.t",
    "SELECT g.name, SUM(t.amount) FROM m.t JOIN m.g ON g.id = t.grp GROUP BY g.name",
    "SELECT id, amount FROM m.t ORDER BY amount DESC, id LIMIT 10",
)
_COUNTED = 1_000_000  # an amount above all others
_LOOKUPS = 20_000
_PAUSE = 0.05  # seconds between two transactions of an idle server


def _prepare(server: Server, rows: int) -> None:
    server.query("CREATE DATABASE m")
    server.query("CREATE TABLE m.g (id INT PRIMARY KEY, name VARBINARY(9))")
    server.query("CREATE TABLE m.t (id INT PRIMARY KEY, grp INT, amount INT)")
    server.query(f"INSERT INTO m.g VALUES {', '.join(f'({i}, {i})' for i in range(20))}")
    values = ", ".join(f"({i}, {i % 20}, {i % 1000})" for i in range(rows))
    server.query(f"INSERT INTO m.t VALUES {values}")


def _changes_a_second(server: Server, folder: Path, rows: int, rounds: int) -> None:
    """Row changes of large transactions; the state in the end is that of the log."""
    base = folder / "base"
    bk.snapshot(settings_of(server), base, tables=TABLES)
    for number in range(rounds):
        change = f"amount = (amount * 7 + id + {number}) % 1000, grp = 19 - grp"
        server.query(f"UPDATE m.t SET {change}")
    bk.capture(settings_of(server), folder / "logs")
    logs, changes = bk.open(folder / "logs"), rows * rounds
    for count in (0, len(VIEWS)):
        begun = time.process_time()  # with the base and the queries' beginning
        with bk.live(logs, TABLES, base=base, wait=False) as live:
            for sql in VIEWS[:count]:
                live.register(sql)
            while not live.ended:
                live.wait(1.0)
            took = time.process_time() - begun
            whole = logs.state("m.t", base=base)
            if list(live.state("m.t").records()) != list(whole.records()):
                sys.exit("live state and the log's differ")
        print(f"| row changes, {count} views | {changes / took:,.0f} a second |")


def _visible(server: Server, live: Live, transactions: int) -> None:
    """From a commit's answer until it is shown, on a server that does nothing else."""
    shown: dict[int, float] = {}

    def note(change: ViewChange) -> None:
        now = time.perf_counter()
        shown.update({row[1]: now for row, weight in change.rows if weight > 0})

    view = live.register(f"SELECT id, amount FROM m.t WHERE amount >= {_COUNTED}", on_change=note)
    committed: dict[int, float] = {}
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("SET autocommit = 1")
        for number in range(_COUNTED, _COUNTED + transactions):
            cursor.execute(f"UPDATE m.t SET amount = {number} WHERE id = 0")
            committed[number] = time.perf_counter()
            time.sleep(_PAUSE)
    reached(server, live)
    view.drop()
    waited = sorted(max(shown[n] - at, 0.0) for n, at in committed.items() if n in shown)
    if len(waited) < transactions:
        print(f"| shown together with a later one | {transactions - len(waited)} |")
    for name, place in (("median", 0.5), ("99th percentile", 0.99)):
        print(f"| commit to visible, {name} | {waited[int(place * len(waited))] * 1e3:.1f} ms |")


def _answers(server: Server, live: Live) -> None:
    """All five answers, by whoever gives them."""
    import duckdb

    queries = [live.register(sql) for sql in VIEWS]
    by_key = live.register("SELECT id, grp, amount FROM m.t")
    begun = time.perf_counter()
    for number in range(_LOOKUPS):
        by_key.lookup(id=number % 1000)
    took = time.perf_counter() - begun
    print(f"| a lookup by key | {took / _LOOKUPS * 1e6:.0f} µs |")
    tables = {name: live.state(name).rows for name in TABLES}
    memory = duckdb.connect()
    for name, rows in tables.items():
        memory.register(name.replace(".", "_"), pa.Table.from_struct_array(rows["values"]))
    with server.connect() as session, session.cursor() as cursor:

        def ask_server() -> None:
            for sql in VIEWS:
                cursor.execute(sql)
                cursor.fetchall()

        def ask_duckdb() -> None:
            for sql in VIEWS:
                memory.execute(sql.replace("m.t", "m_t AS t").replace("m.g", "m_g AS g")).fetchall()

        def ask_live() -> None:
            for query in queries:
                query.rows()

        print(f"| five answers, kept | {_milliseconds(ask_live):.2f} ms |")
        print(f"| five answers, recomputed by the server | {_milliseconds(ask_server):.2f} ms |")
        print(f"| five answers, recomputed by DuckDB | {_milliseconds(ask_duckdb):.2f} ms |")


def _milliseconds(ask: Callable[[], None]) -> float:
    taken = []
    for _ in range(30):
        begun = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(taken)


def measure(rows: int, rounds: int, transactions: int) -> None:
    """Measure all of it, on one server."""
    print(f"\nlive state of {rows:,} rows, five views\n| | |\n|---|--:|")
    with TemporaryDirectory() as folder, start_series("8.0", {}) as server:
        _prepare(server, rows)
        _changes_a_second(server, Path(folder), rows, rounds)
        with bk.live(settings_of(server), TABLES) as live:
            _answers(server, live)
            _visible(server, live, transactions)
    sys.stdout.flush()


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--transactions", type=int, default=500)
    given = parser.parse_args()
    measure(given.rows, given.rounds, given.transactions)


if __name__ == "__main__":
    main()
