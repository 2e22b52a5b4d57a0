"""The moment at which a server's tables are read, with a server that answers as it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pymysql
import pytest

from binlogkit.errors import ServerError
from binlogkit.sources.connection import USER_TABLES, ServerSettings
from binlogkit.sources.server import consistent
from binlogkit.sources.server.consistent import ConsistentTables, Lock

Answer = Callable[[str], list[tuple[Any, ...]]]
#: Child and parent in each row: b refers to a, c to b, d to a table that is not shown.
PARENTS: list[tuple[bytes | None, ...]] = [
    (b"d", b"b", b"d", b"a"),
    (b"d", b"c", b"d", b"b"),
    (b"d", b"d", b"other", b"x"),
]


class Server:
    """``busy``: how often writers do not let it lock; ``said``: the statements."""

    def __init__(self, version: str = "8.0.40", busy: int = 0) -> None:
        self.server_version, self.busy, self.code = version, busy, 1205
        self.said: list[str] = []
        self.slept: list[float] = []

    def connect(self, *_: object, **__: object) -> Server:
        return self

    cursor = connect

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str) -> None:
        self.said.append(sql)
        if sql.startswith(("LOCK", "FLUSH")) and self.busy:
            self.busy -= 1
            raise pymysql.err.OperationalError(self.code, "it waits")

    def fetchall(self) -> list[tuple[bytes | None, ...]]:
        sql = self.said[-1]
        if sql == USER_TABLES:
            return [(b"d", name) for name in (b"a", b"b", b"c", b"d")]
        if "referential_constraints" in sql:
            return PARENTS
        if sql in ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"):
            return [(b"binlog.000007", b"155")]
        return [(None,)] if sql == "SELECT @@GLOBAL.gtid_executed" else []

    def count(self, sql: str) -> int:
        return sum(one.startswith(sql) for one in self.said)


def read(
    monkeypatch: pytest.MonkeyPatch, server: Server, wanted: str = "c", lock: Lock = Lock.TABLES
) -> ConsistentTables:
    monkeypatch.setattr(consistent, "connect", server.connect)
    monkeypatch.setattr("time.sleep", server.slept.append)
    return ConsistentTables(ServerSettings("h"), lambda name: name[1] in wanted, lock)


def test_writers_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(busy=4)
    tables = read(monkeypatch, server)
    assert (tables.file, tables.pos, tables.gtids) == ("binlog.000007", 155, "")
    assert server.count("LOCK TABLES") == 5 and server.count("UNLOCK") == 5
    assert server.slept == [1.0] * 4


@pytest.mark.parametrize(("lock", "told"), [(Lock.TABLES, True), (Lock.GLOBAL, False)])
def test_writers_that_do_not_end(monkeypatch: pytest.MonkeyPatch, lock: Lock, told: bool) -> None:
    server = Server(busy=9)
    with pytest.raises(ServerError, match="no consistent snapshot") as raised:
        read(monkeypatch, server, lock=lock)
    assert ("a lock of the whole server" in str(raised.value)) is told
    assert server.count("ROLLBACK") == 5 and server.slept == [1.0] * 4


def test_another_error_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(busy=1)
    server.code = 1142
    with pytest.raises(ServerError) as raised:
        read(monkeypatch, server)
    assert raised.value.code == 1142 and not server.count("ROLLBACK")


@pytest.mark.parametrize(
    ("version", "names"), [("9.5.0", "abc"), ("9.6.0", "c"), ("8.0.40", "abc")]
)
def test_parents_are_locked_where_cascades_are_not_logged(
    monkeypatch: pytest.MonkeyPatch, version: str, names: str
) -> None:
    server = Server(version)
    assert read(monkeypatch, server).names == [("d", name) for name in names]
    listed = ", ".join(f"`d`.`{name}` READ" for name in names)
    assert f"LOCK TABLES {listed}" in server.said
    new = version > "8.2"
    assert ("SHOW BINARY LOG STATUS" in server.said, "SHOW MASTER STATUS" in server.said) == (
        new, not new,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lock", "begins", "unlocked"),
    [(Lock.TABLES, "LOCK TABLES", 1), (Lock.HELD, "LOCK TABLES", 0), (Lock.GLOBAL, "FLUSH", 1)],
)
def test_how_long_writers_wait(
    monkeypatch: pytest.MonkeyPatch, lock: Lock, begins: str, unlocked: int
) -> None:
    server = Server()
    read(monkeypatch, server, lock=lock)
    assert server.count(begins) == 1 and server.count("UNLOCK") == unlocked


def test_without_tables_nothing_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    tables = read(monkeypatch, server, wanted="")
    assert (tables.names, tables.file, tables.pos) == ([], None, None)
    assert not server.count("LOCK TABLES")
