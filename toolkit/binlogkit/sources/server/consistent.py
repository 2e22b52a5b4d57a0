"""Tables of a running server as of one moment, with that moment's position in its logs.

A position that is read beside ``START TRANSACTION WITH CONSISTENT SNAPSHOT`` is not the snapshot's,
even if it is the same before and after: a transaction is in the log, and in the position, before
its engine commits it (``MYSQL_BIN_LOG::ordered_commit``), and in gtid_executed after. So writers
have to stand still for that moment. ``LOCK TABLES … READ`` is granted when no transaction that
wrote these tables is open, and a transaction gives its metadata locks back after its engine's
commit: while they are locked, every position is right for these tables. Nobody else waits. Up to
9.5 InnoDB carries out cascades without locking the child's metadata: parents are locked as well.

After that moment the snapshot's own session holds the tables' metadata, so that their DDL waits
until it is closed. Rights: SELECT, LOCK TABLES, REPLICATION CLIENT; RELOAD for :attr:`Lock.GLOBAL`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any

from binlogkit.constants import TableId
from binlogkit.errors import ServerError, printable
from binlogkit.sources.connection import (
    USER_TABLES,
    ServerSettings,
    ask,
    connect,
    quoted,
    translated,
)
from binlogkit.sources.log_format import CASCADES_LOGGED, is_mariadb, version_tuple

_LOCK_WAIT_TIMEOUT = 1205
_TRIES, _PATIENCE, _PAUSE = 5, 2, 1.0  # how often, and seconds to wait in and between tries
_NEW_STATUS = (8, 2, 0)  # SHOW BINARY LOG STATUS, formerly SHOW MASTER STATUS
_DAY = 86400
_SESSION = (
    "SET SESSION sql_mode = '', time_zone = '+00:00', sql_quote_show_create = 1, "
    f"net_write_timeout = {_DAY}, wait_timeout = {_DAY}, lock_wait_timeout = {_PATIENCE}, "
    "sql_big_selects = 1, sql_select_limit = 18446744073709551615"
)
_WHERE_KNOWN = {  # 5.7.8, 8.0.30
    "max_execution_time": 0, "show_gipk_in_create_table_and_information_schema": 1,
}  # fmt: skip
_PARENTS = (
    "SELECT constraint_schema, table_name, unique_constraint_schema, referenced_table_name "
    "FROM information_schema.referential_constraints WHERE "
    "update_rule IN ('CASCADE', 'SET NULL') OR delete_rule IN ('CASCADE', 'SET NULL')"
)


class Lock(StrEnum):
    """What makes writers wait: the tables for the moment of the snapshot (TABLES), the tables until
    they are read, so that those without transactions can be read too (HELD), or all of the server
    for the moment (GLOBAL: FLUSH TABLES WITH READ LOCK), which does not wait for open transactions.
    """

    TABLES = "tables"
    HELD = "held"
    GLOBAL = "global"


class ConsistentTables:
    """The tables that are ``wanted``, and those from which foreign keys change them.

    ``names``: (db, table) of all of them, sorted; ``file``, ``pos``: after everything that is in
    them, None where the server has no log; ``gtids``: its gtid_executed then, a set's text or
    empty; ``transactional``: engines that have transactions.

    Errors: those of :func:`connect`; ServerError, also where writers did not let it in.
    """

    def __init__(
        self, settings: ServerSettings, wanted: Callable[[TableId], bool], lock: Lock = Lock.TABLES
    ) -> None:
        self.server = settings.name
        self._sessions: list[Any] = []
        self._lock = lock
        try:
            self._reader, self._locker = self._session(settings), self._session(settings)
            self.version = str(self._reader.server_version)
            if is_mariadb(self.version):
                raise ServerError(f"MariaDB ({self.version}) is not read", server=self.server)
            for setting, value in _WHERE_KNOWN.items():
                if self.query(f"SHOW VARIABLES LIKE '{setting}'"):
                    self.query(f"SET SESSION {setting} = {value}")
            engines = "SELECT engine FROM information_schema.engines WHERE transactions = 'YES'"
            self.transactional = frozenset(str(one).upper() for (one,) in self.query(engines))
            self.names = self._with_parents(wanted)
            self.file, self.pos, self.gtids = self._begin() if self.names else (None, None, "")
        except BaseException:
            self.close()
            raise

    def _session(self, settings: ServerSettings) -> Any:
        found = connect(settings, use_unicode=False, conv={}, autocommit=True)
        self._sessions.append(found)
        ask(found, self.server, _SESSION)
        return found

    def query(self, sql: str) -> list[tuple[str | None, ...]]:
        """The rows of a statement, as texts."""
        return ask(self._reader, self.server, sql)

    def rows(self, sql: str) -> Iterator[tuple[bytes | None, ...]]:
        """The rows of a SELECT as they come from the server, texts in their columns' character
        sets; one at a time, to its end or :meth:`close`."""
        from pymysql.cursors import SSCursor

        self.query("SET SESSION character_set_results = NULL")
        with translated(self.server):
            cursor = self._reader.cursor(SSCursor)
            try:
                cursor.execute(sql)
                yield from cursor.fetchall_unbuffered()
            except BaseException:
                _abandon(self._reader, cursor)
                raise
            cursor.close()
        self.query("SET SESSION character_set_results = utf8mb4")

    def close(self) -> None:
        """End both sessions, and what they hold."""
        for session in self._sessions:
            with suppress(Exception):
                session._force_close()

    @property
    def follows_parents(self) -> bool:
        """Whether unlogged foreign key cascades change tables, so that their parents are needed."""
        return version_tuple(self.version) < CASCADES_LOGGED

    # ---- which tables -------------------------------------------------------------------------

    def _with_parents(self, wanted: Callable[[TableId], bool]) -> list[TableId]:
        there = {_name(row) for row in self.query(USER_TABLES)}
        found = {name for name in there if wanted(name)}
        if found and self.follows_parents:
            above: dict[TableId, set[TableId]] = {}
            for row in self.query(_PARENTS):
                above.setdefault(_name(row), set()).add(_name(row[2:]))
            found = _reached(found, above) & there
        return sorted(found)

    # ---- the moment ---------------------------------------------------------------------------

    def _begin(self) -> tuple[str | None, int | None, str]:
        self.query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for left in reversed(range(_TRIES)):
            try:
                return self._snapshot()
            except ServerError as error:
                if error.code != _LOCK_WAIT_TIMEOUT:
                    raise
                self.query("ROLLBACK")
                ask(self._locker, self.server, "UNLOCK TABLES")
                if not left:
                    why = "transactions or statements that use the tables did not end"
                    if self._lock is not Lock.GLOBAL:
                        why += "; a lock of the whole server waits for statements only (global)"
                    raise ServerError(
                        f"no consistent snapshot could be taken: {why}", server=self.server
                    ) from error
            time.sleep(_PAUSE)
        raise AssertionError("unreachable")

    def _snapshot(self) -> tuple[str | None, int | None, str]:
        if self._lock is Lock.GLOBAL:
            ask(self._locker, self.server, "FLUSH TABLES WITH READ LOCK")
        else:
            listed = ", ".join(f"{quoted(name)} READ" for name in self.names)
            ask(self._locker, self.server, f"LOCK TABLES {listed}")
        self.query("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        for name in self.names:  # whose metadata locks stay to the transaction's end
            self.query(f"SELECT 1 FROM {quoted(name)} LIMIT 0")
        file, pos = self.end()
        gtids = self.query("SELECT @@GLOBAL.gtid_executed")[0][0] or ""
        if self._lock is not Lock.HELD:
            ask(self._locker, self.server, "UNLOCK TABLES")
        return file, pos, gtids

    def end(self) -> tuple[str | None, int | None]:
        """Where the log ends now; None where the server has none."""
        new = version_tuple(self.version) >= _NEW_STATUS
        found = self.query(f"SHOW {'BINARY LOG' if new else 'MASTER'} STATUS")
        return (found[0][0], int(found[0][1] or 0)) if found else (None, None)


def shown(name: TableId) -> str:
    """A name for messages."""
    return printable(".".join(name))


def _reached(found: set[TableId], above: Mapping[TableId, set[TableId]]) -> set[TableId]:
    """Names, and all that is above them."""
    new = set(found)
    while new:
        new = {parent for name in new for parent in above.get(name, ())} - found
        found = found | new
    return found


def _name(row: tuple[str | None, ...]) -> TableId:
    return row[0] or "", row[1] or ""


def _abandon(session: Any, cursor: Any) -> None:
    """End a session in the middle of a result, whose rest PyMySQL would read when it is deleted."""
    session._force_close()
    result, cursor.connection = session._result, None
    if result is not None:
        result.unbuffered_active, result.connection = False, None
