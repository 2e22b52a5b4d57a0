"""A landed table's state beside the replay of its log into a server: seconds of wall time.

    python tests/benchmarks/landed_state.py LOG --table DB.T --out DIR [--rounds N] [--skip-replay]

``LOG`` lands in ``DIR`` unless it has. Then ``Landing.state`` (here) and ``shared_state`` (on a
local Spark of two workers whose session is there already) give the table's rows at the log's end,
and a fresh 8.0 server is fed with ``mysqlbinlog LOG | mysql``. What its SELECT gives has to be what
the state says: so many rows, and a checksum of all their values.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from binlogkit.spark import land, session
from binlogkit.spark.landing import Landing
from binlogkit.spark.landing.shared import shared_state
from binlogkit_fixtures.servers import ServerSpec, mysqlbinlog, mysqldump, start
from binlogkit_fixtures.servers.base import Server
from tests.benchmarks.logs import files


def timed(call: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    """What ``call`` gives, and its least wall time."""
    found, best = None, float("inf")
    for _ in range(rounds):
        start_of = time.monotonic()
        found = call()
        best = min(best, time.monotonic() - start_of)
    return found, best


def line(name: str, seconds: float, told: str) -> None:
    """One line of the result."""
    print(f"{name:24} {seconds:9.2f} s   {told}", flush=True)


def replay(log: Path, server: Server) -> None:
    """``mysqlbinlog LOG | mysql``."""
    client = [
        word.removesuffix("dump") if word.endswith("/mysqldump") else word
        for word in mysqldump.ensure().argv
    ]
    reads = [*mysqlbinlog.ensure().argv, "--skip-gtids", *map(str, files(log))]
    writes = [
        *client, f"--host={server.host}", f"--port={server.port}", f"--user={server.user}",
        "--binary-mode", "--max-allowed-packet=1G",
    ]  # fmt: skip
    environment = os.environ | {"MYSQL_PWD": server.password}
    with subprocess.Popen(reads, stdout=subprocess.PIPE) as reading:
        subprocess.run(writes, stdin=reading.stdout, env=environment, check=True)
    if reading.returncode:
        raise SystemExit(f"mysqlbinlog ended with {reading.returncode}")


def crc_of_state(rows: Any) -> int:
    """A checksum of a table's values, by key, each as text."""
    crc = 0
    for batch in rows.select(["values"]).flatten().to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            crc = zlib.crc32("\t".join(map(str, row)).encode(), crc)
    return crc


def crc_of_server(server: Server, table: str, key: str) -> tuple[int, int]:
    """The same of what the server holds, and how many rows."""
    crc = count = 0
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY {key}")
        while rows := cursor.fetchmany(10_000):
            count += len(rows)
            for row in rows:
                crc = zlib.crc32("\t".join(map(str, row)).encode(), crc)
    return count, crc


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--table", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-replay", action="store_true")
    given = parser.parse_args()
    spark = session(master="local[2]", memory="2g")
    _, seconds = timed(lambda: land(spark, [str(f) for f in files(given.log)], given.out), 1)
    line("land", seconds, "nothing where it has landed")
    here, local = timed(lambda: Landing(given.out).state(given.table), given.rounds)
    crc = crc_of_state(here.rows)
    line("state, one process", local, f"{here.rows.num_rows} rows, checksum {crc:08x}")
    landing = Landing(given.out)
    there, shared = timed(lambda: shared_state(spark, landing, given.table), given.rounds)
    line("state, Spark", shared, f"{there.row_count} rows")
    spark.stop()
    if given.skip_replay:
        return
    database = given.table.split(".")[0]
    with start(ServerSpec("8.0", {"max-allowed-packet": "1G"})) as server:
        server.query(f"CREATE DATABASE {database}")
        _, seconds = timed(lambda: replay(given.log, server), 1)
        count, theirs = crc_of_server(server, given.table, ", ".join(here.key))
    line("mysqlbinlog | mysql", seconds, f"{count} rows, checksum {theirs:08x}")
    line("", seconds / local, f"times as long as one process; as Spark: {seconds / shared:.1f}")
    if (count, theirs) != (here.rows.num_rows, crc):
        raise SystemExit("the server holds other rows")


if __name__ == "__main__":
    main()
