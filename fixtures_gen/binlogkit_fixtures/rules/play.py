"""Plays statements on a server one by one: what each brought of errors, warnings and events."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql

import binlogkit as bk
from binlogkit_fixtures.servers import Server

__all__ = ["DISCONNECT", "ENDINGS", "KILL", "Played", "Session"]

#: How a connection ends: the client closes it, or another one kills it.
DISCONNECT, KILL = "(disconnect)", "(kill)"
ENDINGS = (DISCONNECT, KILL)
_NOISE = ("GTID_LOG_EVENT", "ANONYMOUS_GTID_LOG_EVENT", "GTID_TAGGED_LOG_EVENT")


@dataclass(slots=True)
class Played:
    """A statement that was played.

    ``error``: the server's number and text, None where it took it; ``warnings``: likewise;
    ``rows``: how many it changed; ``start``, ``end``: the log's position before and after it;
    ``events`` and ``changes``: records between these, GTID events left out.
    """

    sql: str
    error: tuple[int, str] | None
    warnings: tuple[tuple[int, str], ...]
    rows: int
    start: int
    end: int
    events: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """The statements that it brought into the log, BEGIN and COMMIT among them."""
        found = []
        for event in self.events:
            if event["type"] in ("QUERY_EVENT", "EXECUTE_LOAD_QUERY_EVENT"):
                found.append(str(event["fields"]["query"]))
            elif event["type"] == "XID_EVENT":
                found.append("COMMIT")
        return found

    @property
    def maps(self) -> list[dict[str, Any]]:
        """The table maps that rows follow: from 8.0 on a CALL whose arguments call functions that
        change data has those of the procedure's tables, too."""
        found: dict[int, dict[str, Any]] = {}
        used: list[dict[str, Any]] = []
        for event in self.events:
            number = event["fields"].get("table_id")
            if event["type"] == "TABLE_MAP_EVENT":
                found[number] = event
            elif "ROWS_EVENT" in event["type"] and number in found:
                used.append(found.pop(number))
        return sorted(used, key=lambda event: int(event["pos"]))


class Session:
    """A client's session, and another one that asks for the log's position meanwhile.

    ``rotate``: in a log of its own.
    """

    def __init__(self, server: Server, db: str | None = None, *, rotate: bool = True) -> None:
        self.server = server
        self.played: list[Played] = []
        # Without TLS: its settings would take most of a short session's time.
        self._options: dict[str, Any] = {"database": db, "ssl_disabled": True}
        self._connection = server.connect(**self._options)
        self._cursor = self._connection.cursor()
        self._observer = server.connect(ssl_disabled=True)
        self._asks = self._observer.cursor()
        modern = tuple(map(int, server.version.split("."))) >= (8, 2, 0)
        self._status = "SHOW BINARY LOG STATUS" if modern else "SHOW MASTER STATUS"
        if rotate:
            self._asks.execute("FLUSH BINARY LOGS")
        self.file = str(self._position()[0])

    def _position(self) -> tuple[str, int]:
        self._asks.execute(self._status)
        row = self._asks.fetchone()
        assert row is not None
        return str(row[0]), int(row[1])

    def _connected(self) -> int:
        """How many connections the server counts: one is taken off when all of it is undone, while
        5.7's list of processes lacks it as soon as its socket is closed."""
        self._asks.execute("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
        row = self._asks.fetchone()
        assert row is not None
        return int(row[1])

    def run(self, sql: str) -> Played:
        """Play one statement, or end the connection (:data:`ENDINGS`)."""
        if sql in ENDINGS:
            return self._end(sql)
        start, error, rows = self._position()[1], None, 0
        try:
            rows = self._cursor.execute(sql)
            while self._cursor.nextset():
                pass
        except pymysql.MySQLError as exc:
            error = (int(exc.args[0]), str(exc.args[1]) if len(exc.args) > 1 else "")
        self._cursor.execute("SHOW WARNINGS")
        shown = [(int(row[1]), str(row[2])) for row in self._cursor.fetchall()]
        warnings = tuple(warning for warning in shown if error is None or warning[0] != error[0])
        found = Played(sql, error, warnings, rows, start, self._position()[1])
        self.played.append(found)
        return found

    def run_all(self, statements: Iterable[str]) -> None:
        """Play statements that must succeed."""
        for statement in statements:
            error = self.run(statement).error
            if error is not None:
                raise RuntimeError(f"{statement}: {error}")

    def _end(self, how: str) -> Played:
        """End the client's connection, or have the other one end it, and begin a new one."""
        start, connected = self._position()[1], self._connected()
        if how == KILL:
            thread = int(self._connection.thread_id())  # type: ignore[no-untyped-call]
            self._asks.execute(f"KILL {thread}")
        else:
            self._connection.close()
        while self._connected() >= connected:
            time.sleep(0.001)
        found = Played(how, None, (), 0, start, self._position()[1])
        self.played.append(found)
        if self._connection.open:
            self._connection.close()
        self._connection = self.server.connect(**self._options)
        self._cursor = self._connection.cursor()
        return found

    def read(self) -> Sequence[Played]:
        """What was played, with what the log has of it; the session continues in the same log."""
        self.read_for(self.played)
        return self.played

    def read_for(self, steps: Iterable[Played]) -> None:
        """Give steps, also of other sessions in the same log, what the log has of them."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.server.copy_binlog(self.file, Path(folder))
            log = bk.open(str(path))
            events = [e for e in log.event_records() if e["type"] not in _NOISE]
            changes = list(bk.open(str(path)).row_records())
        for played in steps:
            played.events = _between(events, played)
            played.changes = _between(changes, played)

    def close(self) -> None:
        """End both sessions."""
        for connection in (self._connection, self._observer):
            if connection.open:
                connection.close()


def _between(records: list[dict[str, Any]], played: Played) -> list[dict[str, Any]]:
    return [record for record in records if played.start <= record["pos"] < played.end]
