"""A MySQL server started only to play logs on, and removed afterwards.

It comes from an installed package, under the entry-point group ``binlogkit.servers``: a callable
``(version, options)`` that returns a started :class:`DisposableServer`, of the version if there is
one, else of the nearest; ``options``: mysqld's, without ``--``. It listens on this machine only.

What a log holds is run there, and may be crafted (docs/hostile-input.md). So the server reads and
writes no files for statements, loads no plugins, runs no events and has no account with a name that
a log could know: those that its DEFINER clauses name are made with rights on data alone, and from
8.0.18 on the log itself is applied with these (``PRIVILEGE_CHECKS_USER``). 5.7 applies a log with
all rights.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, BinaryIO, Protocol, TypeAlias

from binlogkit.errors import ServerError
from binlogkit.sources.connection import ServerSettings, connect, translated
from binlogkit.sources.log_format import version_tuple

ENTRY_POINTS = "binlogkit.servers"

#: What the server runs with. OFF_PERMISSIVE applies transactions with and without GTIDs. The
#: server's number is none that servers have: a replica leaves out what it wrote itself.
OPTIONS: Mapping[str, str | None] = {
    "gtid-mode": "OFF_PERMISSIVE", "server-id": "4294967213", "relay-log": "relay",
    "relay-log-purge": "OFF", "loose-skip-slave-start": None, "loose-skip-replica-start": None,
    "loose-slave-parallel-workers": "0", "loose-replica-parallel-workers": "0",
    "max-allowed-packet": "1073741824", "secure-file-priv": "NULL", "local-infile": "OFF",
    "event-scheduler": "OFF", "symbolic-links": "OFF", "loose-partial-revokes": "ON",
    "log-bin-trust-function-creators": "ON", "performance-schema": "ON",
}  # fmt: skip

_RIGHTS = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, LOCK TABLES, EXECUTE, "
    "CREATE TEMPORARY TABLES, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER"
)
_CHECKED = (8, 0, 18)  # PRIVILEGE_CHECKS_USER
_DEFINERS = (8, 2, 0)  # SET_USER_ID became two
_REPLICA = (8, 0, 23)  # CHANGE REPLICATION SOURCE
_RELAY = "relay.000001"
_READ_ALL = "has read all relay log"
_WORKERS = (
    "SELECT last_error_message AS why FROM "
    "performance_schema.replication_applier_status_by_worker WHERE last_error_number <> 0"
)
_PATIENCE = 600.0  # seconds in which something has to be applied
_PAUSE = 0.05
_BUILT_IN = ("root'@'localhost", "mysql.session'@'localhost")


class DisposableServer(Protocol):
    """A started server: how root reaches it, files of its data folder, and its end."""

    host: str
    port: int
    user: str

    @property
    def version(self) -> str:
        """As ``8.0.31``."""

    @property
    def password(self) -> str:
        """That of ``user``."""

    def put(self, name: str, source: BinaryIO) -> None:
        """Write a file of the data folder, over the one that is there."""

    def close(self) -> None:
        """End it, and remove its files."""


Provider: TypeAlias = Callable[[str, Mapping[str, str | None]], DisposableServer]
Account = tuple[str, str]


class NotPlayedError(ServerError):
    """The server could not apply a log; ``at``: where in the relay log, in bytes."""

    def __init__(self, reason: str, at: int, **facts: Any) -> None:
        super().__init__(reason, **facts)
        self.at = at


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """What a script said: its ``verdict``, or at which ``statement`` which ``error`` ended it."""

    verdict: str
    statement: str | None = None
    error: str | None = None


def offered() -> Provider:
    """The installed package's server. ServerError: none is installed."""
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name):
        found: Provider = point.load()
        return found
    raise ServerError(
        "no MySQL server to try this on: install binlogkit's fixtures package, which starts one "
        f"(or another package with the entry point {ENTRY_POINTS})"
    )


class Stage:
    """A disposable server, made ready to play a log; to be closed.

    ``version``: the one it should have; ``provider``: what starts it, None for :func:`offered`.
    """

    def __init__(self, version: str, provider: Provider | None = None) -> None:
        self._server = (provider or offered())(version, OPTIONS)
        try:
            self.version = self._server.version
            self._known = version_tuple(self.version)
            self._name, self._user = (f"bk_{secrets.token_hex(8)}" for _ in range(2))
            self._secret = secrets.token_hex(16)
            self._admin = connect(self._settings(self._server.user, self._server.password))
            self._admin.autocommit(True)
            self._lock_up()
        except BaseException:
            self._server.close()
            raise

    @property
    def settings(self) -> ServerSettings:
        """How its tables are read."""
        return self._settings(self._name, self._server.password)

    def _settings(self, user: str, password: str) -> ServerSettings:
        return ServerSettings(self._server.host, self._server.port, user, password)

    def _lock_up(self) -> None:
        """Leave no account with a name that a log can know, and make one with few rights."""
        self._ask("SET SESSION sql_log_bin = 0")
        self._ask(f"RENAME USER '{self._server.user}'@'%' TO '{self._name}'@'%'")
        for account in _BUILT_IN:
            with suppress(ServerError):
                self._ask(f"DROP USER '{account}'")
        self._ask(f"CREATE USER '{self._user}'@'%' IDENTIFIED BY '{self._secret}'")
        self._grant(f"'{self._user}'@'%'")
        if self._known >= _CHECKED:
            definers = "SET_USER_ID"
            if self._known >= _DEFINERS:
                definers = "SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER"
            self._ask(
                f"GRANT REPLICATION_APPLIER, SESSION_VARIABLES_ADMIN, XA_RECOVER_ADMIN, {definers} "
                f"ON *.* TO '{self._user}'@'%'"
            )

    def _grant(self, account: str) -> None:
        self._ask(f"GRANT {_RIGHTS} ON *.* TO {account}")
        if self._known >= _CHECKED:
            self._ask(f"REVOKE {_RIGHTS} ON mysql.* FROM {account}")

    def make_accounts(self, names: Iterable[Account]) -> None:
        """Make the accounts that definers are, with rights on data, and nobody to log in."""
        for name in sorted(names):
            user, host = ("'" + part.replace("\\", "").replace("'", "''") + "'" for part in name)
            with suppress(ServerError):  # a name that no server takes
                secret = secrets.token_hex(16)
                self._ask(f"CREATE USER {user}@{host} IDENTIFIED BY '{secret}' ACCOUNT LOCK")
                self._grant(f"{user}@{host}")

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        from pymysql.cursors import DictCursor

        with translated(f"MySQL {self.version}"), self._admin.cursor(DictCursor) as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def load(self, statements: Iterable[str]) -> None:
        """Run a schema's or a dump's statements; ServerError names the one that failed."""
        with self._session() as session, session.cursor() as cursor:
            for statement in statements:
                try:
                    with translated(f"MySQL {self.version}"):
                        cursor.execute(statement)
                except ServerError as exc:
                    text = f"{exc} (in the schema's statement {statement[:200]})"
                    raise ServerError(text, code=exc.code) from exc

    def run(self, script: Iterable[str]) -> ScriptRun:
        """Run a script (reports.sql) as the client would: it ends at an error."""
        verdict = ""
        with self._session() as session, session.cursor() as cursor:
            for line in script:
                if line.startswith("--"):
                    continue
                statement = line.rstrip(";\n")
                try:
                    with translated(f"MySQL {self.version}"):
                        cursor.execute(statement)
                        for row in cursor.fetchall():
                            verdict = str(row[-1])
                except ServerError as exc:
                    return ScriptRun("rolled back: a statement failed", statement, str(exc))
        return ScriptRun(verdict)

    def _session(self) -> Any:
        return connect(self._settings(self._user, self._secret), autocommit=True)

    def play(self, log: BinaryIO, size: int) -> None:
        """Apply a log of ``size`` bytes as a relay log, to its end.

        NotPlayedError: the server stopped; LostConnectionError: it went away.
        """
        new = self._known >= _REPLICA
        source, replica = ("SOURCE", "REPLICA") if new else ("MASTER", "SLAVE")
        change = f"CHANGE {'REPLICATION SOURCE' if new else 'MASTER'} TO"
        self._ask(f"{change} {source}_HOST = '127.0.0.1', {source}_PORT = 1")
        self._ask("FLUSH RELAY LOGS")
        self._server.put(_RELAY, log)
        checked = ""
        if self._known >= _CHECKED:
            checked = f", PRIVILEGE_CHECKS_USER = '{self._user}'@'%'"
        self._ask(f"{change} RELAY_LOG_FILE = '{_RELAY}', RELAY_LOG_POS = 4{checked}")
        self._ask(f"START {replica} SQL_THREAD")
        for status in self._progress(f"SHOW {replica} STATUS"):
            facts = {name.lower(): value for name, value in status.items()}
            at = int(facts["relay_log_pos"])
            state = facts.get("replica_sql_running_state", facts.get("slave_sql_running_state", ""))
            running = facts.get("replica_sql_running", facts.get("slave_sql_running"))
            if facts["last_sql_errno"] or running != "Yes":
                why = facts["last_sql_error"] or "the server stopped applying it"
                if self._known >= _REPLICA:  # what of several workers is the first, and says why
                    why = next((str(w["why"]) for w in self._ask(_WORKERS)), why)
                raise NotPlayedError(why, at, code=int(facts["last_sql_errno"]))
            if _READ_ALL in state and (at >= size or facts["relay_log_file"] != _RELAY):
                break
        self._ask(f"STOP {replica} SQL_THREAD")

    def _progress(self, ask: str) -> Iterator[dict[str, Any]]:
        last, since = None, time.monotonic()
        while True:
            (status,) = self._ask(ask)
            place = status["Relay_Log_File"], status["Relay_Log_Pos"]
            if place != last:
                last, since = place, time.monotonic()
            elif time.monotonic() - since > _PATIENCE:
                why = f"nothing was applied for {_PATIENCE:.0f} seconds"
                raise NotPlayedError(why, int(status["Relay_Log_Pos"]))
            yield status
            time.sleep(_PAUSE)

    def close(self) -> None:
        """End the server, and remove its files."""
        try:
            self._admin._force_close()
        finally:
            self._server.close()
