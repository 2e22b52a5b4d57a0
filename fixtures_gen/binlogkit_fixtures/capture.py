"""Run a scenario on a cell's server, and bring home its binlogs with their manifest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pymysql
from pymysql.connections import Connection

from binlogkit.errors import ServerError, UsageError, printable
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.matrix import Cell
from binlogkit_fixtures.oracle import Oracle
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.model import Facts, Leave, Mark, Scenario, Sql, parse_version
from binlogkit_fixtures.servers import Server, start
from binlogkit_fixtures.truth import quote_name, read_tables

__all__ = ["SETTINGS", "capture_cell", "capture_scenario"]

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
Progress = Callable[[str], None]


def capture_cell(
    cell: Cell,
    scenarios: Sequence[str],
    out: Path,
    *,
    runner: str = "auto",
    oracle: Oracle | None = None,
    compress: bool = False,
    progress: Progress = lambda _: None,
) -> list[Path]:
    """Run scenarios on one server, one after another, into ``out/<cell>/<scenario>/``.

    ``oracle``: mysqlbinlog for its text, or None; ``compress``: manifests as gzip; ``progress``
    gets the name of each scenario when it is done. Scenarios that the server cannot run are left
    out. Returns the folders. ServerError: the server, or a statement that went otherwise than the
    story says.
    """
    folders = []
    with start(cell.spec(), runner) as server:
        facts = cell.facts(parse_version(server.version))
        for name in scenarios:
            scenario = load(name)
            if scenario.when.holds(facts):
                folder = out / cell.name / name
                captured = capture_scenario(server, cell, scenario, folder, oracle)
                mf.write(captured, folder, compress=compress)
                folders.append(folder)
            progress(name)
    return folders


def capture_scenario(
    server: Server, cell: Cell, scenario: Scenario, folder: Path, oracle: Oracle | None
) -> mf.Manifest:
    """Run one scenario on a running server and copy its logs to ``folder`` (which must be empty).

    The log is reset before and closed by a rotation after it. The manifest is not yet written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty")
    with ExitStack() as stack:
        run = _Run(server, scenario, cell.facts(parse_version(server.version)), stack)
        run.prepare()
        run.steps()
        logs = run.close_log()
        events = run.show_events(logs)
        settings = run.settings()
        run.clean()
    binlogs = tuple(_fetch(server, name, folder) for name in logs)
    return mf.Manifest(
        format_version=mf.FORMAT_VERSION,
        scenario=scenario.name,
        story=scenario.story,
        cell=cell.name,
        server_version=server.version,
        runner=server.runner,
        settings=settings,
        binlogs=binlogs,
        mysqlbinlog=oracle.version if oracle else None,
        texts=tuple(oracle.write_text(folder, name) for name in logs) if oracle else (),
        not_run=tuple(sorted(set(range(len(scenario.steps))) - run.numbers)),
        errors=tuple(run.errors),
        warnings=tuple(run.warnings),
        marks=tuple(run.marks),
        events=events,
    )


def _fetch(server: Server, name: str, folder: Path) -> mf.BinlogFile:
    data = server.copy_binlog(name, folder).read_bytes()
    return mf.BinlogFile(name, len(data), mf.sha256(data))


@dataclass
class _Run:
    """One scenario while it runs: its sessions, and what was seen."""

    server: Server
    scenario: Scenario
    facts: Facts
    stack: ExitStack
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
            self._observer = self.stack.enter_context(_closing(self.server.connect()))
            _execute(self._observer, "SET sql_log_bin = 0")
            _execute(self._observer, _SESSION)
        return self._observer

    def prepare(self) -> None:
        """An empty server and an empty log, whose first event has the story's first time."""
        self.clean()
        times = [step.time for step in self.scenario.steps if not isinstance(step, Leave)]
        _execute(self.observer, f"SET timestamp = {_seconds(times[0])}")
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

    def session(self, name: str) -> Session:
        """The session of that name, connected when it is first used."""
        if name not in self.sessions:
            session = self.server.connect()
            self.stack.enter_context(_closing(session))
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

    def statement(self, number: int, step: Sql) -> None:
        """Run one statement. ServerError: it ended otherwise than the story says."""
        session = self.session(step.session)
        expected = step.expected_error(self.facts)
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
        lines = _execute(self.observer, "XA RECOVER CONVERT XID")
        return tuple(_xid(*line) for line in lines)

    def mark(self, step: Mark) -> mf.MarkPoint:
        """Everything that is to be known of this moment."""
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
        """Rotate, and name the logs that are complete."""
        times = [step.time for step in self.scenario.steps if not isinstance(step, Leave)]
        _execute(self.observer, f"SET timestamp = {_seconds(max(times))}")
        _execute(self.observer, "FLUSH BINARY LOGS")
        return [str(line[0]) for line in _execute(self.observer, "SHOW BINARY LOGS")][:-1]

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


class _closing:
    """Close a session at the end, also one that is closed already."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def __enter__(self) -> Session:
        return self.session

    def __exit__(self, *_: object) -> None:
        if self.session.open:
            self.session.close()


def _execute(session: Session, sql: str) -> Sequence[tuple[Any, ...]]:
    with session.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def _seconds(microseconds: int) -> str:
    return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}"


def _plain(text: Any) -> str:
    """Text of the server, whatever type the client made of it."""
    return text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else str(text)


def _xid(format_id: int, gtrid_length: int, bqual_length: int, data: Any) -> str:
    """``X'gtrid',X'bqual',formatID`` from XA RECOVER CONVERT XID's ``0x…``."""
    digits = _plain(data).removeprefix("0x")
    gtrid, bqual = digits[: 2 * gtrid_length], digits[2 * gtrid_length :][: 2 * bqual_length]
    return f"X'{gtrid}',X'{bqual}',{format_id}"
