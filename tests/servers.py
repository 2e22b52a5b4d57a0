"""Running MySQL servers that the tests of one worker share: lent, given back, made as new.

A start takes seconds, and making a running server as new again a fraction of one. A test that
stops, kills or restarts its server, lets it replicate, or gives it a clock or a program of its own
starts one for itself (``binlogkit_fixtures``); nobody else may get that one. So does one that
installs plugins or writes files into the data folder: these stay.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pymysql
import pytest
from pymysql.converters import escape_string

from binlogkit.errors import ServerError
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.host import Host, Session, execute
from binlogkit_fixtures.scenarios.model import Facts, parse_version
from binlogkit_fixtures.servers import Server, ServerSpec
from binlogkit_fixtures.servers.options import normalise, render
from binlogkit_fixtures.servers.replication import replica_status, stop_following

#: The series that most tests are run on.
SERIES = ("5.7", "8.0", "9")
GTIDS: Mapping[str, str | None] = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON"}

#: What the pool has started in this process, in order.
STARTED: list[ServerSpec] = []
#: Why servers of the pool were closed before the end.
GIVEN_UP: list[str] = []

#: What some tests need from the start, and no test is disturbed by.
_BASE: Mapping[str, str | None] = {"secure-file-priv": "", "log-slave-updates": "ON"}

#: Options that a running server takes as global variables. Servers that are to differ in others
#: are different servers.
_SETTABLE = frozenset(
    """
    binlog-format binlog-row-image binlog-row-metadata binlog-row-value-options
    binlog-rows-query-log-events binlog-transaction-compression character-set-server
    collation-server enforce-gtid-consistency gtid-mode innodb-flush-log-at-trx-commit local-infile
    log-bin-trust-function-creators max-allowed-packet max-binlog-size sql-mode sync-binlog
    """.split()  # noqa: SIM905 - a table to read
)
_SETTABLE_SINCE_5_7 = frozenset({"enforce-gtid-consistency", "gtid-mode"})

_SYSTEM_DATABASES = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
_SYSTEM_SESSIONS = ("system user", "event_scheduler")
_TOLD_BY_THE_LOG = frozenset({"gtid_executed", "gtid_purged"})
_MODE, _ENFORCED = "gtid_mode", "enforce_gtid_consistency"
_MODES = ("OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")  # it takes one step at a time
_MOST_TABLES = 200  # 2 to 6 ms each to drop; a start takes 0.5 to 3 s
_PATIENCE = 60.0  # seconds until a session that was killed has ended

_Kind = tuple[str, frozenset[tuple[str, str | None]]]
_idle: dict[_Kind, list[_Pooled]] = {}


@contextmanager
def shared_server(spec: ServerSpec) -> Iterator[Server]:
    """A server of the order that is as new: its log begins, nothing is in it, nobody is there.

    It is a running one of this process where one is free that can be brought to the order. It goes
    back in the end, and is not to be used any more. ServerError: no server can be had.
    """
    kept, settings = _split(spec)
    kind = (spec.version, frozenset(kept.items()))
    pooled = _made_ready(kind, ServerSpec(spec.version, kept), settings)
    try:
        for statement in spec.init_sql:
            pooled.server.query(statement)
        yield pooled.server
    finally:
        pooled.give_back(_idle.setdefault(kind, []))


def each_server(
    series: Sequence[str] = SERIES, options: Mapping[str, str | None] | None = None
) -> Any:
    """A module's fixture: a shared server with these options, of one series after the other."""

    @pytest.fixture(scope="module", params=series)
    def server(request: pytest.FixtureRequest) -> Iterator[Server]:
        with shared_server(ServerSpec(request.param, options or {})) as lent:
            yield lent

    return server


def close_all() -> None:
    """End the servers of this process that nobody has."""
    while _idle:
        for pooled in _idle.popitem()[1]:
            pooled.server.close()


def _split(spec: ServerSpec) -> tuple[dict[str, str | None], dict[str, str]]:
    """The options that a server of the order must have been started with, and what can be set."""
    usual = {normalise(name): value for name, value in render(_BASE).items()}
    kept, settings = dict(_BASE), dict[str, str]()
    settable = _SETTABLE - (_SETTABLE_SINCE_5_7 if spec.version == "5.6" else frozenset())
    for name, value in ((normalise(name), value) for name, value in spec.options.items()):
        if name in settable and value is not None:
            settings[name.replace("-", "_")] = value
        elif name not in usual or usual[name] != value:
            kept[name] = value
    return kept, settings


def _made_ready(kind: _Kind, spec: ServerSpec, settings: Mapping[str, str]) -> _Pooled:
    """A free server of the kind or a new one, brought to the settings."""
    idle = _idle.setdefault(kind, [])
    while idle:
        pooled = idle.pop()
        try:
            pooled.renew(settings)
        except (ServerError, pymysql.Error, OSError) as error:  # or it has what cannot be undone
            pooled.give_up(error)
        else:
            return pooled
    pooled = _Pooled(spec)
    try:
        pooled.renew(settings)
    except BaseException:
        pooled.server.close()
        raise
    return pooled


class _Pooled:
    """A server of the pool, and what it was when it had just been started."""

    def __init__(self, spec: ServerSpec) -> None:
        STARTED.append(spec)
        runner = "local" if spec.version == "5.6" else "auto"  # it has no image
        self.server = start_server(spec, runner, "real")[0]
        self._facts = Facts(parse_version(self.server.version), "ROW", "full", "OFF")
        with self._host() as host:
            self._variables = _variables(host.observer)
            self._databases, self._accounts = _databases(host.observer), _accounts(host.observer)

    @contextmanager
    def _host(self) -> Iterator[Host]:
        """The server to one who writes nothing to its log."""
        with ExitStack() as stack:
            host = Host(self.server, self._facts, stack)
            execute(host.observer, "SET foreign_key_checks = 0")
            yield host

    def renew(self, settings: Mapping[str, str]) -> None:
        """Make it as new, with these settings. ServerError, pymysql.Error: it cannot be."""
        self.server._end_session()
        with self._host() as host:
            _end_others(host.observer)
            if replica_status(self.server):
                stop_following(self.server)
                self.server.query("RESET SLAVE ALL" if self._old else "RESET REPLICA ALL")
            self._set_variables(host.observer, settings)
            host.clean([*_databases(host.observer) - self._databases])
            accounts = _accounts(host.observer)
            if self._accounts - accounts:
                raise ServerError("accounts that it began with are gone")
            for account in accounts - self._accounts:
                execute(host.observer, f"DROP USER {account}")
            host.reset(time.time_ns() // 1000)
        self.server._end_session()

    @property
    def _old(self) -> bool:
        return self._facts.version < (8, 0, 22)

    def _set_variables(self, session: Session, settings: Mapping[str, str]) -> None:
        """The settings, and all other global variables as they were at the start."""
        now = _variables(session)
        wanted = {
            name: value
            for name, value in self._variables.items()
            if now.get(name) != value and name not in _TOLD_BY_THE_LOG
        } | dict(settings)
        for statement in _gtid_steps(now, now | wanted):
            execute(session, statement)
        for name in sorted(wanted.keys() - {_MODE, _ENFORCED}):
            execute(session, f"SET GLOBAL {name} = {_literal(wanted[name])}")

    def give_back(self, idle: list[_Pooled]) -> None:
        """To those that are free, without sessions; a server that takes no more is closed."""
        try:
            self.server._end_session()
            with self._host() as host:
                _end_others(host.observer)
                if (tables := _tables(host.observer)) > _MOST_TABLES:
                    raise ServerError(f"to drop {tables} tables takes longer than a start")
        except (ServerError, pymysql.Error, OSError) as error:  # it was killed, for one thing
            self.give_up(error)
        else:
            idle.append(self)

    def give_up(self, error: Exception) -> None:
        """Close it: it cannot be made as new."""
        GIVEN_UP.append(f"{self.server!r}: {error}")
        self.server.close()


def _gtid_steps(now: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[str]:
    """Statements from one mode to another. Consistency is enforced before it is on."""
    at, to = _MODES.index(now[_MODE]), _MODES.index(wanted[_MODE])
    enforce = f"SET GLOBAL {_ENFORCED} = {wanted[_ENFORCED]}"
    changed = now[_ENFORCED] != wanted[_ENFORCED]
    if changed and to > at:
        yield enforce
    for mode in _MODES[at + 1 : to + 1] if to > at else reversed(_MODES[to:at]):
        yield f"SET GLOBAL {_MODE} = {mode}"
    if changed and to <= at:
        yield enforce


def _end_others(session: Session) -> None:
    """End all other sessions, and wait until they have; what they held is free then."""
    own = execute(session, "SELECT CONNECTION_ID()")[0][0]
    deadline = time.monotonic() + _PATIENCE
    while others := [
        number
        for number, user, *_ in execute(session, "SHOW PROCESSLIST")
        if number != own and user not in _SYSTEM_SESSIONS
    ]:
        if time.monotonic() > deadline:
            raise ServerError(f"sessions {others} do not end")
        for number in others:
            try:
                execute(session, f"KILL {number}")
            except pymysql.Error as error:
                if error.args[0] != 1094:  # it has ended by itself
                    raise
        time.sleep(0.005)


def _variables(session: Session) -> dict[str, str]:
    return dict(execute(session, "SHOW GLOBAL VARIABLES"))


def _databases(session: Session) -> set[str]:
    return {name for (name,) in execute(session, "SHOW DATABASES")} - _SYSTEM_DATABASES


def _tables(session: Session) -> int:
    """How many tests have made."""
    system = ", ".join(f"'{name}'" for name in _SYSTEM_DATABASES)
    counted = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema NOT IN"
    return int(execute(session, f"{counted} ({system})")[0][0])


def _accounts(session: Session) -> set[str]:
    """As statements name them."""
    found = execute(session, "SELECT user, host FROM mysql.user")
    return {f"'{escape_string(user)}'@'{escape_string(host)}'" for user, host in found}


def _literal(value: str) -> str:
    """An option's value, or one that SHOW VARIABLES shows, as SET takes it."""
    size = re.fullmatch(r"(\d+)([KMG])", value)
    if size is not None:
        return str(int(size[1]) << {"K": 10, "M": 20, "G": 30}[size[2]])
    return value if re.fullmatch(r"-?\d+(\.\d+)?", value) else f"'{escape_string(value)}'"
