"""One scenario while it runs on a server: its sessions, what it marks, what it meets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pymysql
from pymysql.connections import Connection

from binlogkit.errors import ServerError, printable
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.clock import StoryClock
from binlogkit_fixtures.scenarios.model import Facts, Leave, Mark, Scenario, Sql
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import quote_name, read_tables

__all__ = ["SETTINGS", "Run"]

#: Variables that bear on what stands in a log; none holds a path, a host or a secret.
SETTINGS = (
    "autocommit",
    "binlog_checksum",
    "binlog_direct_non_transactional_updates",
    "binlog_encryption",
    "binlog_format",
    "binlog_order_commits",
    "binlog_row_event_max_size",
    "binlog_row_image",
    "binlog_row_metadata",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "binlog_transaction_dependency_tracking",
    "character_set_server",
    "collation_server",
    "default_storage_engine",
    "enforce_gtid_consistency",
    "explicit_defaults_for_timestamp",
    "gtid_mode",
    "log_bin",
    "log_bin_use_v1_row_events",
    "log_slave_updates",
    "lower_case_table_names",
    "server_id",
    "server_uuid",
    "sql_mode",
    "system_time_zone",
    "time_zone",
    "transaction_isolation",
    "tx_isolation",
    "version",
)

#: What a scenario's sessions begin with, so that 5.7 and 8.0 agree (their defaults do not).
_SESSION = "SET sql_mode = 'NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1"
_FIRST_THREAD = 101  # pseudo_thread_id of the first session; the next ones count on
_GONE_SECONDS = 30.0

Session: TypeAlias = "Connection[Any]"


@dataclass
class Run:
    """One scenario while it runs: its sessions, and what was seen."""

    server: Server
    scenario: Scenario
    facts: Facts
    stack: ExitStack
    clock: StoryClock | None = None
    sessions: dict[str, Session] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    errors: list[mf.ErrorLine] = field(default_factory=list)
    warnings: list[mf.WarningLine] = field(default_factory=list)
    marks: list[mf.MarkPoint] = field(default_factory=list)
    threads: int = _FIRST_THREAD
    _observer: Session | None = None

    @property
    def observer(self) -> Session:
        """A session that reads, and writes nothing to the log."""
        if self._observer is None:
            self._observer = self._connect()
            _execute(self._observer, "SET sql_log_bin = 0")
            _execute(self._observer, _SESSION)
        return self._observer

    def prepare(self) -> None:
        """An empty server and an empty log, whose first event has the story's first time."""
        self.clean()
        if self.clock is not None:
            self.clock.begin(self.scenario.begin)
        _execute(self.observer, f"SET timestamp = {_seconds(self.scenario.begin)}")
        new = self.facts.version >= (8, 4, 0)
        _execute(self.observer, "RESET BINARY LOGS AND GTIDS" if new else "RESET MASTER")

    def clean(self) -> None:
        """Resolve what is prepared, end the sessions, drop the scenario's databases."""
        for name in list(self.sessions):
            self.leave(name)
        for xid in self.prepared():
            _execute(self.observer, f"XA ROLLBACK {xid}")
        for database in self.scenario.databases:
            _execute(self.observer, f"DROP DATABASE IF EXISTS {quote_name(database)}")

    def steps(self) -> None:
        """Do all that the story has for this cell."""
        for number, step in self.scenario.steps_for(self.facts):
            self.numbers.add(number)
            if isinstance(step, Sql):
                self.statement(number, step)
            elif isinstance(step, Leave):
                self.leave(step.session)
            else:
                self.marks.append(self.mark(step))

    def _connect(self) -> Session:
        session = self.server.connect()
        self.stack.callback(_close, session)
        return session

    def session(self, name: str) -> Session:
        """The session of that name, connected when it is first used."""
        if name not in self.sessions:
            session = self._connect()
            _execute(session, _SESSION)
            _execute(session, f"SET pseudo_thread_id = {self.threads}")
            self.threads += 1
            self.sessions[name] = session
        return self.sessions[name]

    def leave(self, name: str) -> None:
        """Disconnect a session and wait until the server has forgotten it."""
        session = self.sessions.pop(name)
        thread = _execute(session, "SELECT CONNECTION_ID()")[0][0]
        session.close()
        deadline = time.monotonic() + _GONE_SECONDS
        gone = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {int(thread)}"
        while _execute(self.observer, gone)[0][0]:
            if time.monotonic() > deadline:
                raise ServerError(f"session {name} is still there after {_GONE_SECONDS} s")
            time.sleep(0.005)

    def _tick(self, moment: int) -> None:
        if self.clock is not None:
            self.clock.advance(moment)

    def statement(self, number: int, step: Sql) -> None:
        """Run one statement. ServerError: it ended otherwise than the story says."""
        session = self.session(step.session)
        expected = step.expected_error(self.facts)
        self._tick(step.time)
        _execute(session, f"SET timestamp = {_seconds(step.time)}")
        try:
            with session.cursor() as cursor:
                cursor.execute(step.text)
                warned = cursor.warning_count
        except pymysql.Error as exc:
            self._failed(number, step, expected, exc)
            return
        if expected is not None:
            raise self._surprise(number, step, f"error {expected} did not come")
        if warned:
            self.warnings += [
                mf.WarningLine(number, str(level), int(code), _plain(message))
                for level, code, message in _execute(session, "SHOW WARNINGS")
            ]

    def _failed(self, number: int, step: Sql, expected: int | None, exc: pymysql.Error) -> None:
        code, message = exc.args if len(exc.args) == 2 else (0, str(exc))
        if code != expected:
            raise self._surprise(number, step, f"error {code}: {_plain(message)}") from exc
        self.errors.append(
            mf.ErrorLine(number, step.session, step.text, int(code), _plain(message))
        )

    def _surprise(self, number: int, step: Sql, what: str) -> ServerError:
        return ServerError(
            f"scenario {self.scenario.name}, step {number} in session {step.session}, "
            f"server {self.server.version} {self.facts.format}: {printable(what)} "
            f"({printable(step.text[:120])})"
        )

    def status(self) -> tuple[str, int, str]:
        """File, position and executed GTIDs at the log's end."""
        new = self.facts.version >= (8, 2, 0)
        line = _execute(self.observer, f"SHOW {'BINARY LOG' if new else 'MASTER'} STATUS")[0]
        return str(line[0]), int(line[1]), str(line[4]).replace("\n", "")

    def prepared(self) -> tuple[str, ...]:
        """XA RECOVER's transactions, each as XA COMMIT takes it."""
        if self.facts.version < (5, 7, 0):
            lines = _execute(self.observer, "XA RECOVER")
            return tuple(
                _xid(f, g, b, f"0x{_bytes(data).hex().upper()}") for f, g, b, data in lines
            )
        lines = _execute(self.observer, "XA RECOVER CONVERT XID")
        return tuple(_xid(*line) for line in lines)

    def mark(self, step: Mark) -> mf.MarkPoint:
        """Everything that is to be known of this moment."""
        self._tick(step.time)
        file, pos, gtids = self.status()
        clock = _execute(self.observer, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) AS CHAR)")[0][0]
        return mf.MarkPoint(
            name=step.name,
            file=file,
            pos=pos,
            gtid_executed=gtids,
            unix_time=step.time // 1_000_000,
            commit_clock=int(str(clock).replace(".", "")),
            prepared=self.prepared(),
            tables=read_tables(self.observer, self.scenario.databases),
        )

    def close_log(self) -> list[str]:
        """Rotate where the story ends so; the logs that are the story's."""
        self._tick(self.scenario.end)
        if self.scenario.ending == "rotate":
            _execute(self.observer, f"SET timestamp = {_seconds(self.scenario.end)}")
            _execute(self.observer, "FLUSH BINARY LOGS")
        names = [str(line[0]) for line in _execute(self.observer, "SHOW BINARY LOGS")]
        return names[:-1] if self.scenario.ending == "rotate" else names

    def finish(self) -> None:
        """End the server where the story ends so, else leave it as if nothing had been."""
        if self.scenario.ending == "kill":
            self.server.kill()
        elif self.scenario.ending == "stop":
            self.server.stop()
        else:
            self.clean()

    def show_events(self, logs: Sequence[str]) -> tuple[mf.EventLine, ...]:
        """SHOW BINLOG EVENTS of these logs."""
        found = []
        for log in logs:
            for line in _execute(self.observer, f"SHOW BINLOG EVENTS IN '{log}'"):
                file, pos, kind, server_id, end, info = line
                found.append(
                    mf.EventLine(file, int(pos), kind, int(server_id), int(end), _plain(info))
                )
        return tuple(found)

    def settings(self) -> Mapping[str, str]:
        """The variables of SETTINGS that this version has."""
        names = ", ".join(f"'{name}'" for name in SETTINGS)
        lines = _execute(self.observer, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
        return {str(name): str(value) for name, value in sorted(lines)}


def _close(session: Session) -> None:
    if session.open:
        session.close()


def _execute(session: Session, sql: str) -> Sequence[tuple[Any, ...]]:
    with session.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def _seconds(microseconds: int) -> str:
    return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}"


def _plain(text: Any) -> str:
    """Text of the server, whatever type the client made of it."""
    return text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else str(text)


def _bytes(data: Any) -> bytes:
    return data if isinstance(data, bytes) else str(data).encode("utf-8")


def _xid(format_id: int, gtrid_length: int, bqual_length: int, data: Any) -> str:
    """``X'gtrid',X'bqual',formatID`` from XA RECOVER CONVERT XID's ``0x…``."""
    digits = _plain(data).removeprefix("0x")
    gtrid, bqual = digits[: 2 * gtrid_length], digits[2 * gtrid_length :][: 2 * bqual_length]
    return f"X'{gtrid}',X'{bqual}',{format_id}"
