"""Streams of running servers' logs: busy ones, that purge and begin new logs, while Spark's
processes are killed."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pymysql.err import OperationalError
from pyspark.errors import PySparkException

import binlogkit as bk
from binlogkit_fixtures.servers import Server, ServerSpec, start
from binlogkit_fixtures.servers.replication import (
    await_gtids,
    executed_gtids,
    follow,
    stop_following,
)
from tests.servers import shared_server
from tests.spark.killing import killed
from tests.spark.stream.sink import Sink, key_of
from tests.spark.stream.streams import batch_of
from tests.waiting import LONG, joined, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.server]


@pytest.fixture(params=["5.7", "8.0"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    options = {"binlog-row-metadata": "FULL"} if request.param != "5.7" else {}
    with shared_server(ServerSpec(request.param, options)) as running:
        running.query("CREATE DATABASE shop")
        running.query("CREATE TABLE shop.t (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(200))")
        yield running


#: On 5.7 the names of columns stand in CREATE TABLE alone, which may have been purged.
SCHEMA = "_change_type string, _sequence binary, _gtid string, a int, b string"


def url_of(server: Server, folder: Path) -> str:
    options = folder / "my.cnf"
    options.write_text(f"[client]\nuser = root\npassword = '{server.password}'\n")
    options.chmod(0o600)
    return f"mysql://127.0.0.1:{server.port}/?defaults-file={options}"


class Work:
    """What sessions have done."""

    def __init__(self) -> None:
        self.transactions = 0

    def goes_on(self, count: int) -> None:
        """Wait until there are so many transactions more."""
        before = self.transactions
        until(lambda: self.transactions >= before + count, f"{count} transactions end")


@contextmanager
def busy(server: Server) -> Iterator[Work]:
    """Two sessions that write, of which one ends transactions this way and that, and new logs."""
    done, work = threading.Event(), Work()

    def transaction(chosen: random.Random, cursor: Any) -> None:
        for _ in range(chosen.randrange(1, 5)):
            cursor.execute(
                "INSERT INTO shop.t (b) VALUES (%s), (%s)",
                (chosen.randbytes(20).hex(), "x" * chosen.randrange(200)),
            )
            if chosen.random() < 0.3:
                cursor.execute("SAVEPOINT s")
                cursor.execute("UPDATE shop.t SET b = 'y' ORDER BY a DESC LIMIT 3")
                cursor.execute("ROLLBACK TO SAVEPOINT s")
        cursor.execute("UPDATE shop.t SET b = 'z' ORDER BY a LIMIT 1")
        cursor.execute("DELETE FROM shop.t WHERE a % 7 = 0 ORDER BY a LIMIT 1")
        cursor.execute(chosen.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
        if chosen.random() < 0.01:
            cursor.execute("FLUSH BINARY LOGS")

    def writes(seed: int) -> None:
        chosen = random.Random(seed)
        with server.connect(autocommit=False) as session, session.cursor() as cursor:
            while not done.wait(0.02):
                with suppress(OperationalError):  # deadlocks
                    transaction(chosen, cursor)
                    work.transactions += 1

    sessions = [threading.Thread(target=writes, args=[seed]) for seed in range(2)]
    for session in sessions:
        session.start()
    try:
        yield work
    finally:
        done.set()
        for session in sessions:
            joined(session)


def applied(rows: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """What the table holds behind all changes of a changelog."""
    table: dict[int, str] = {}
    for row in rows:
        if row["_change_type"] in ("delete", "update_preimage"):
            assert table.pop(row["a"]) == row["b"]
        else:
            assert row["a"] not in table
            table[row["a"]] = row["b"]
    return sorted(table.items())


def reads_on(query: StreamingQuery) -> bool:
    """Whether several batches of a query had something in them."""
    return sum(bool(batch.numInputRows) for batch in query.recentProgress) > 1


@pytest.mark.sampled(1, 1)
def test_a_busy_server(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """Its logs are purged behind the query, which is stopped and begun again in between."""
    url = url_of(server, tmp_path)
    sink = Sink(spark, url, tmp_path / "out", SCHEMA, records="changelog", table="shop.t")
    server.query("INSERT INTO shop.t (b) VALUES ('first')")
    for _ in range(3):
        query = sink.begin(processingTime="0 seconds")
        with busy(server) as work:
            until(partial(reads_on, query), "the query reads what is written")
            work.goes_on(100)
        query.processAllAvailable()
        query.stop()
        server.query("FLUSH BINARY LOGS")
        server.query(f"PURGE BINARY LOGS TO '{server.binlog_names()[-2]}'")
    sink.run()
    rows = sink.rows
    assert len(rows) > 200
    assert applied(rows) == sorted(server.query("SELECT a, b FROM shop.t"))


@pytest.mark.parametrize("version", [pytest.param("5.7", marks=pytest.mark.campaign), "8.0"])
def test_a_snapshot_first(spark: SparkSession, version: str, tmp_path: Path) -> None:
    """Of a busy server whose first logs are purged; then behind it the one that takes over."""
    options: dict[str, str | None] = {
        "gtid-mode": "ON", "enforce-gtid-consistency": "ON", "log-slave-updates": "ON",
    }  # fmt: skip
    with (
        start(ServerSpec(version, options)) as source,
        start(ServerSpec(version, options | {"server-id": "2"})) as replica,
    ):
        follow(replica, source)
        source.query("CREATE DATABASE shop")
        source.query("CREATE TABLE shop.t (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(200))")
        source.query("INSERT INTO shop.t (b) VALUES ('first'), ('second')")
        source.query("FLUSH BINARY LOGS")
        await_gtids(replica, executed_gtids(source))
        source.query(f"PURGE BINARY LOGS TO '{source.binlog_names()[-1]}'")
        with busy(source) as work:
            work.goes_on(50)
            taken = bk.snapshot(url_of(source, tmp_path), tmp_path / "base", tables="shop.t")
            work.goes_on(50)
        given = {"records": "changelog", "table": "shop.t", "base": str(tmp_path / "base")}
        sink = Sink(spark, url_of(source, tmp_path), tmp_path / "out", **given)
        sink.run()
        assert applied(sink.rows) == sorted(source.query("SELECT a, b FROM shop.t"))
        begun = [row for row in sink.rows if row["_commit_timestamp"] is None]
        assert len(begun) == taken.tables["shop.t"] > 2
        with busy(source) as work:
            work.goes_on(25)
        sink.run()
        rows = sink.rows
        assert applied(rows) == sorted(source.query("SELECT a, b FROM shop.t"))
        await_gtids(replica, executed_gtids(source))
        stop_following(replica)
        replica.query("UPDATE shop.t SET b = 'after it took over' ORDER BY a LIMIT 3")
        behind = Sink(spark, url_of(replica, tmp_path), tmp_path / "behind", **given)
        behind.run()
        assert applied(behind.rows) == sorted(replica.query("SELECT a, b FROM shop.t"))
        assert len(behind.rows) == len(rows) + 6


@pytest.mark.slow
@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("server", ["8.0"], indirect=True)
def test_a_busy_server_while_processes_are_killed(
    spark: SparkSession, server: Server, kills: int, tmp_path: Path
) -> None:
    """So often at least: tasks, and the process that plans the batches."""
    url = url_of(server, tmp_path)
    sink = Sink(spark, url, tmp_path / "out", records="changelog", table="shop.t")
    server.query("INSERT INTO shop.t (b) VALUES ('first')")
    sink.run()
    failed = 0

    def killed_enough() -> bool:
        nonlocal failed
        try:
            query = sink.begin(processingTime="0 seconds")
            try:
                query.awaitTermination(10)
            finally:
                query.stop()
        except (PySparkException, Py4JError):
            failed += 1
        return failed > 0 and len(those) >= kills

    with busy(server), killed(kills, 0.3, 3) as those:
        until(killed_enough, f"{kills} processes are killed at work", kills * LONG)
    for _ in range(5):
        with suppress(PySparkException, Py4JError):
            sink.run()
            break
    sink.run()
    rows = sink.rows
    assert applied(rows) == sorted(server.query("SELECT a, b FROM shop.t"))
    expected, _ = batch_of(url, records="changelog", table="shop.t")
    assert rows == sorted(expected, key=key_of)
