"""The third table of `make bench`: live state, beside asking the server or DuckDB each time.

A server of two tables, five views of them. Row changes a second are by processor time, all threads
together; what is waited for is wall time. Memory: of a table that the server has in its buffer pool
as a whole, and of a process that keeps it. Alone:

    python tests/benchmarks/live.py [--rows N] [--rounds N] [--transactions N] [--kept N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
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
_MB = 1 << 20
_STEP = 20_000  # rows of a transaction
_KEEP = """
import json, sys
from pathlib import Path
import pandas, duckdb
import binlogkit as bk
import binlogkit.livestate.live
from binlogkit.sources.connection import ServerSettings

def told(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

password = sys.stdin.readline().strip()
settings = ServerSettings("127.0.0.1", int(sys.argv[1]), "root", password)
idle = told("VmRSS")
with bk.live(settings, ["m.big"]) as live:
    began, after_begin = told("VmHWM"), told("VmRSS")
    print("begun", flush=True)
    live.wait_for(sys.stdin.readline().strip())
    live.wait(2.0)
    found = [one - idle for one in (began, after_begin, told("VmHWM"), told("VmRSS"))]
    print(json.dumps([*found, live.state("m.big").rows["values"].nbytes]))
"""


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


def _memory(rows: int) -> None:
    """A table of ``rows`` rows: what it takes in the server's buffer pool, and in a process that
    keeps it while each row is updated once."""
    with start_series("8.0", {"innodb-buffer-pool-size": "2G"}) as server:
        _prepare(server, 1)
        before = _pool(server)
        server.query("CREATE TABLE m.big (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60))")
        for start in range(0, rows, _STEP):
            values = "({0}, {0}, LEFT(REPEAT(MD5({0}), 4), 120), LEFT(REPEAT(MD5({0}), 2), 60))"
            some = ", ".join(values.format(i) for i in range(start, min(start + _STEP, rows)))
            server.query(f"INSERT INTO m.big VALUES {some}")
        pool = _pool(server) - before
        command = [sys.executable, "-c", _KEEP, str(server.port)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
            process.stdin.write(f"{server.password}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "begun\n"
            for start in range(0, rows, _STEP):
                server.query(f"UPDATE m.big SET k = k + 1 WHERE id BETWEEN {start} AND "
                             f"{start + _STEP - 1}")  # fmt: skip
            (gtids,) = server.query("SELECT @@GLOBAL.gtid_executed")[0]
            out, _ = process.communicate(gtids.replace("\n", "") + "\n")
    began, after_begin, peak, rest, values = json.loads(out)
    print(f"\nmemory of {rows:,} rows\n| | MB | bytes a row |\n|---|--:|--:|")
    for name, size in (
        ("the server's buffer pool", pool), ("its values in Arrow", values),
        ("the live process: peak of the beginning", began), ("begun", after_begin),
        (f"peak with updates of {_STEP:,} rows", peak), ("after them", rest),
    ):  # fmt: skip
        print(f"| {name} | {size / _MB:,.0f} | {size / rows:,.0f} |")


def _pool(server: Server) -> int:
    return int(server.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_bytes_data'")[0][1])


def measure(rows: int, rounds: int, transactions: int, kept: int) -> None:
    """Measure all of it."""
    print(f"\nlive state of {rows:,} rows, five views\n| | |\n|---|--:|")
    with TemporaryDirectory() as folder, start_series("8.0", {}) as server:
        _prepare(server, rows)
        _changes_a_second(server, Path(folder), rows, rounds)
        with bk.live(settings_of(server), TABLES) as live:
            _answers(server, live)
            _visible(server, live, transactions)
    _memory(kept)
    sys.stdout.flush()


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--transactions", type=int, default=500)
    parser.add_argument("--kept", type=int, default=500_000)
    given = parser.parse_args()
    measure(given.rows, given.rounds, given.transactions, given.kept)


if __name__ == "__main__":
    main()
