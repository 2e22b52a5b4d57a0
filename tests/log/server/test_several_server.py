"""Servers that stand in for each other: a source that dies, its replicas, and what they lack."""

from __future__ import annotations

import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit.errors import LogGapError, LostConnectionError, ReplicationError, UsageError
from binlogkit.livestate.live import Live, live
from binlogkit.log.server.several_servers import FollowingSeveral
from binlogkit.sources.connection import ServerSettings, servers_of
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.servers.replication import (
    await_gtids,
    executed_gtids,
    follow,
    stop_following,
)
from tests.livestate.shop import answers, reached
from tests.sources.server.conftest_server import settings_of, shared_series, start_series
from tests.waiting import LONG, joined, until

pytestmark = pytest.mark.server

DEAD = ServerSettings("127.0.0.1", 1)
ELSEWHERE = "11111111-1111-1111-1111-111111111111"
PATIENCE = 1.0
TRANSACTIONS = 60


@contextmanager
def servers(series: str, count: int) -> Iterator[list[Server]]:
    """A source and its replicas."""
    options = {"binlog-row-image": "MINIMAL", "log-slave-updates": "ON"}
    with ExitStack() as stack:
        found = [
            stack.enter_context(start_series(series, options | {"server-id": str(i + 1)}))
            for i in range(count)
        ]
        for replica in found[1:]:
            follow(replica, found[0])
        yield found


class Writer(threading.Thread):
    """Changes rows until its server is gone, or ``stop``; ``done``: transactions."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server, self._over, self.done = server, threading.Event(), 0

    def stop(self) -> None:
        """Let it end, once it has written for a while."""
        until(lambda: self.done >= TRANSACTIONS, "the writer writes")
        self._over.set()
        joined(self)

    def run(self) -> None:
        chance = random.Random(7)
        try:
            with self._server.connect() as session, session.cursor() as cursor:
                while not self._over.wait(0.003):
                    i, j = chance.randrange(50), chance.randrange(1000)
                    cursor.execute(f"REPLACE INTO u.t (id, n) VALUES ({i}, {j})")
                    cursor.execute(f"UPDATE u.t SET n = n + 1 WHERE id > {j % 50}")
                    cursor.execute("ROLLBACK" if chance.random() < 0.2 else "COMMIT")
                    self.done += 1
        except pymysql.Error:
            return


def same(server: Server, kept: Live, query: Any) -> None:
    """The table and the query are what the server says."""
    reached(server, kept)
    ours, theirs = answers(server, query)
    assert ours == theirs and ours
    frame = kept["u.t"].astype(object)
    rows = {tuple(None if v != v else v for v in row) for row in frame.itertuples(index=False)}
    assert rows == {tuple(row) for row in server.query("SELECT * FROM u.t")}


@pytest.mark.parametrize("series", [pytest.param("5.7", marks=pytest.mark.slow), "8.0"])
def test_a_source_that_dies(series: str) -> None:
    """While it is written, with an XA transaction prepared, and DDL that only the log told; the
    replica that has everything goes on, the one that is behind after it, once it is not any more.
    """
    with servers(series, 3) as (source, late, ready):
        source.query("CREATE DATABASE u")
        source.query("CREATE TABLE u.t (id INT PRIMARY KEY, n INT)")
        source.query("INSERT INTO u.t VALUES (1, 1), (2, 2), (100, 100)")
        await_gtids(late, executed_gtids(source))
        seen: list[tuple[str, int]] = []
        addresses = [settings_of(one) for one in (source, late, ready)]
        with live(addresses, ["u.t"], patience=PATIENCE * 6, heartbeat=0.5) as kept:
            query = kept.register("SELECT COUNT(*) AS n, SUM(n) AS s FROM u.t")
            query.changes()
            source.query("ALTER TABLE u.t ADD later VARCHAR(9) DEFAULT 'x' AFTER id")
            late.query("STOP SLAVE SQL_THREAD")
            writer = Writer(source)
            writer.start()
            writer.stop()
            with source.connect(autocommit=True) as session, session.cursor() as cursor:
                for statement in (
                    "XA START 'x'", "UPDATE u.t SET n = -7 WHERE id = 100", "XA END 'x'",
                    "XA PREPARE 'x'",
                ):  # fmt: skip
                    cursor.execute(statement)
            same(source, kept, query)
            gtids = executed_gtids(source)
            await_gtids(ready, gtids)
            source.kill()
            ready.query("STOP SLAVE")
            ready.query("XA COMMIT 'x'")
            writer = Writer(ready)
            writer.start()
            writer.stop()
            same(ready, kept, query)
            assert kept.state("u.t").determined
            late.query("STOP SLAVE")
            follow(late, ready)
            await_gtids(late, executed_gtids(ready))
            ready.stop()
            late.query("STOP SLAVE")
            late.query("DELETE FROM u.t WHERE id = 1")
            same(late, kept, query)
            seen.append((kept.moment.file, kept.moment.pos))
        assert seen


class Address:
    """A port whose connections go to one server, until it moves to another one."""

    def __init__(self, server: Server) -> None:
        self._server, self._open = server, list[socket.socket]()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._server.port))
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)

    def move(self, server: Server) -> None:
        """Break all connections; new ones go to another server."""
        self._server = server
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Listen no more."""
        self._listening.close()
        for one in self._open:
            one.close()


@pytest.mark.gate
def test_an_address_that_moves() -> None:
    """The replica that takes over answers where the source did; one that is behind does not do."""
    with servers("8.0", 3) as (source, late, ready), closing(Address(source)) as address:
        source.query("CREATE DATABASE u")
        source.query("CREATE TABLE u.t (id INT PRIMARY KEY, n INT)")
        source.query("INSERT INTO u.t VALUES (1, 1), (2, 2)")
        source.query("CREATE USER 'f'@'%' IDENTIFIED WITH mysql_native_password BY 'f'")
        source.query("GRANT ALL ON *.* TO 'f'@'%'")
        for replica in (late, ready):
            await_gtids(replica, executed_gtids(source))
        stop_following(late)
        settings = ServerSettings("127.0.0.1", address.port, "f", "f")
        with live(settings, ["u.t"], patience=PATIENCE * 3, heartbeat=0.5) as kept:
            query = kept.register("SELECT COUNT(*) AS c, SUM(n) AS s FROM u.t")
            source.query("UPDATE u.t SET n = n + 1")
            same(source, kept, query)
            await_gtids(ready, executed_gtids(source))
            address.move(ready)
            stop_following(ready)
            ready.query("INSERT INTO u.t VALUES (3, 3)")
            same(ready, kept, query)
            address.move(late)
            late.query("INSERT INTO u.t VALUES (4, 4)")
            with pytest.raises(ReplicationError, match="lacks"):
                kept.wait_for(executed_gtids(late), timeout=LONG)


def followed(server: Server, seen: str, **how: Any) -> list[str | None]:
    """The transactions that a server gives, which stands in for one that is gone."""
    addresses = [DEAD, settings_of(server)]
    following = bk.follow(addresses, gtid_set=seen, wait=False, patience=PATIENCE, **how)
    return [gtid for step in following.steps() for gtid in step.gtids]


def test_which_server_can_go_on() -> None:
    with shared_series("8.0", {}) as server:
        uuid = str(server.query("SELECT @@server_uuid")[0][0])
        server.query("CREATE DATABASE u")
        server.query("CREATE TABLE u.t (id INT PRIMARY KEY)")
        own = executed_gtids(server)
        for number in (1, 2, 3):  # as a replica has them
            server.query(f"SET gtid_next = '{ELSEWHERE}:{number}'")
            server.query(f"INSERT INTO u.t VALUES ({number})")
        server.query("SET gtid_next = 'AUTOMATIC'")
        server.query("INSERT INTO u.t VALUES (10)")
        last = f"{uuid}:3"
        # Each transaction once, whatever had come.
        assert Counter(followed(server, f"{own},{ELSEWHERE}:1-2")) == {f"{ELSEWHERE}:3": 1, last: 1}
        assert followed(server, "")[-1] == last
        # The other server had more than this one has.
        with pytest.raises(ReplicationError, match=rf"lacks {ELSEWHERE}:4-9"):
            followed(server, f"{own},{ELSEWHERE}:1-9")
        # This one was written to before it had what was read.
        with pytest.raises(ReplicationError, match=rf"{uuid}:1 is its own \(errant\)"):
            followed(server, f"{ELSEWHERE}:1-2")
        # What comes next was deleted here.
        server.query("FLUSH BINARY LOGS")
        log = server.binlog_names()[-1]
        server.query(f"PURGE BINARY LOGS TO '{log}'")
        with pytest.raises(LogGapError, match="has purged"):
            followed(server, f"{own},{ELSEWHERE}:1-2")
        server.query("INSERT INTO u.t VALUES (11)")
        assert followed(server, f"{own},{ELSEWHERE}:1-3,{last}") == [f"{uuid}:4"]
        with pytest.raises(UsageError, match="by GTIDs"):
            bk.follow([DEAD, settings_of(server)], start_log=log)
        with pytest.raises(LostConnectionError):
            list(bk.follow([DEAD, DEAD], gtid_set="", patience=0.2).rows())
        with pytest.raises(UsageError, match="no events"):
            next(iter(bk.follow([DEAD, DEAD], gtid_set="")))


def test_a_server_without_gtids_goes_on_for_nobody() -> None:
    off = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}
    with (
        shared_series("8.0", off) as server,
        pytest.raises(ReplicationError, match="gtid_mode=ON"),
    ):
        followed(server, "")


@pytest.mark.gate
def test_addresses() -> None:
    found = servers_of("mysql://me@one:3307,two,[::1]:3308/?ssl-mode=disabled")
    assert [one.name for one in found] == ["one:3307", "two:3306", "[::1]:3308"]
    assert {(one.user, one.ssl_mode) for one in found} == {("me", "disabled")}
    assert isinstance(bk.follow("mysql://one,two", gtid_set=""), FollowingSeveral)
    with pytest.raises(UsageError, match="name a server"):
        servers_of([])
