"""One server of a story while it runs: its statements beside the story, and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

from pymysql.connections import Connection

from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.clock import StoryClock
from binlogkit_fixtures.scenarios.model import Facts, Kept, Mark
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.servers import replication as repl
from binlogkit_fixtures.truth import quote_name, read_tables

__all__ = ["OBSERVER", "SETTINGS", "Host", "Session", "execute", "plain", "seconds"]

Session: TypeAlias = "Connection[Any]"

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

#: What a session begins with that sees tables as the manifest records them (truth.py).
OBSERVER = ("sql_mode = 'NO_ENGINE_SUBSTITUTION'", "time_zone = '+00:00'", "autocommit = 1")


@dataclass
class Host:
    """A server while a story runs on it; ``source``: the server that it follows, or None."""

    server: Server
    facts: Facts
    stack: ExitStack
    clock: StoryClock | None = None
    source: Host | None = None
    _observer: Session | None = None

    @property
    def observer(self) -> Session:
        """A session that reads, and writes nothing to the log."""
        if self._observer is None:
            self._observer = self.connect()
            execute(self._observer, "SET sql_log_bin = 0")
            execute(self._observer, f"SET {', '.join(OBSERVER)}")
        return self._observer

    def connect(self, autocommit: bool | None = True) -> Session:
        """A session that is closed with the story."""
        session = self.server.connect(autocommit=autocommit)
        self.stack.callback(_close, session)
        return session

    def set_clock(self, begin: int, now: float) -> None:
        """It is ``begin`` now, whatever it was before; ``now`` as clocks take it."""
        if self.clock is not None:
            self.clock.begin(begin, now)

    def reset(self, begin: int) -> None:
        """An empty log, whose first event has the story's first time."""
        execute(self.observer, f"SET timestamp = {seconds(begin)}")
        new = self.facts.version >= (8, 4, 0)
        execute(self.observer, "RESET BINARY LOGS AND GTIDS" if new else "RESET MASTER")

    def clean(self, databases: Sequence[str]) -> None:
        """Resolve what is prepared, drop these databases."""
        for xid in self.prepared():
            execute(self.observer, f"XA ROLLBACK {xid}")
        for database in databases:
            execute(self.observer, f"DROP DATABASE IF EXISTS {quote_name(database)}")

    def tick(self, moment: int, now: float) -> None:
        """It is ``moment`` now, or later."""
        if self.clock is not None:
            self.clock.advance(moment, now)

    def restart(self, how: str) -> None:
        """End the server, ``stop`` or ``kill``, and start it again; no session outlives it."""
        if how == "kill":
            self.server.kill()
        else:
            self.server.stop()
        self._observer = None
        self.server.start_again()

    # ---- replication --------------------------------------------------------------------------

    def follow(self, source: Host) -> None:
        """Replicate: by GTIDs, or where there are none from the beginning of the source's log."""
        if source is self.source:
            repl.follow_again(self.server)
            return
        at = None if self._by_gtids else (source.binlogs()[0], 4)
        repl.follow(self.server, source.server, at=at)
        self.source = source

    def unfollow(self) -> None:
        """Replicate no more; ``source`` stays, to resume with."""
        repl.stop_following(self.server)

    def await_source(self) -> None:
        """Wait until all is applied that stands in the source's log. ServerError: it is not."""
        assert self.source is not None
        if self._by_gtids:
            repl.await_gtids(self.server, repl.executed_gtids(self.source.server))
        else:
            file, pos, _ = self.source.status()
            repl.await_position(self.server, file, pos)

    @property
    def _by_gtids(self) -> bool:
        return self.facts.gtid == "ON"

    # ---- what it says -------------------------------------------------------------------------

    def status(self) -> tuple[str, int, str]:
        """File, position and executed GTIDs at the log's end."""
        new = self.facts.version >= (8, 2, 0)
        line = execute(self.observer, f"SHOW {'BINARY LOG' if new else 'MASTER'} STATUS")[0]
        return str(line[0]), int(line[1]), str(line[4]).replace("\n", "")

    def prepared(self) -> tuple[str, ...]:
        """XA RECOVER's transactions, each as XA COMMIT takes it."""
        if self.facts.version < (5, 7, 0):
            lines = execute(self.observer, "XA RECOVER")
            return tuple(
                _xid(f, g, b, f"0x{_bytes(data).hex().upper()}") for f, g, b, data in lines
            )
        lines = execute(self.observer, "XA RECOVER CONVERT XID")
        return tuple(_xid(*line) for line in lines)

    def mark(self, step: Mark, databases: Sequence[str], kept: Kept) -> mf.MarkPoint:
        """Everything that is to be known of this moment, at the end of the logs that are kept."""
        file, pos, gtids = self.status()
        retrieved = None
        if kept.relay:
            file = self.server.relay_log_names()[-1]
            pos = len(self.server.read_file(file))
            status = repl.replica_status(self.server)
            retrieved = str(status.get("Retrieved_Gtid_Set", "")).replace("\n", "")
        clock = execute(self.observer, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) AS CHAR)")[0][0]
        return mf.MarkPoint(
            name=step.name,
            file=file,
            pos=pos,
            gtid_executed=gtids,
            unix_time=step.time // 1_000_000,
            commit_clock=int(str(clock).replace(".", "")),
            prepared=self.prepared(),
            tables=read_tables(self.observer, databases),
            gtid_retrieved=retrieved,
        )

    def binlogs(self) -> list[str]:
        """SHOW BINARY LOGS' names."""
        return [str(line[0]) for line in execute(self.observer, "SHOW BINARY LOGS")]

    def rotate(self, kept: Kept, moment: int) -> None:
        """Close the last of the logs that are kept by a ROTATE of the server's own."""
        execute(self.observer, f"SET timestamp = {seconds(moment)}")
        execute(self.observer, f"FLUSH {'RELAY' if kept.relay else 'BINARY'} LOGS")

    def show_events(self, kept: Kept, logs: Sequence[str]) -> tuple[mf.EventLine, ...]:
        """SHOW BINLOG EVENTS, or SHOW RELAYLOG EVENTS, of these logs."""
        found = []
        for log in logs:
            show = f"SHOW {'RELAYLOG' if kept.relay else 'BINLOG'} EVENTS IN '{log}'"
            for file, pos, kind, server_id, end, info in execute(self.observer, show):
                found.append(
                    mf.EventLine(file, int(pos), kind, int(server_id), int(end), plain(info))
                )
        return tuple(found)

    def settings(self) -> Mapping[str, str]:
        """The variables of SETTINGS that this version has."""
        names = ", ".join(f"'{name}'" for name in SETTINGS)
        lines = execute(self.observer, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
        return {str(name): str(value) for name, value in sorted(lines)}


def _close(session: Session) -> None:
    if session.open:
        session.close()


def execute(session: Session, sql: str) -> Sequence[tuple[Any, ...]]:
    """The rows of one statement."""
    with session.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def seconds(microseconds: int) -> str:
    """As ``SET timestamp`` takes it."""
    return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}"


def plain(text: Any) -> str:
    """Text of the server, whatever type the client made of it."""
    return text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else str(text)


def _bytes(data: Any) -> bytes:
    return data if isinstance(data, bytes) else str(data).encode("utf-8")


def _xid(format_id: int, gtrid_length: int, bqual_length: int, data: Any) -> str:
    """``X'gtrid',X'bqual',formatID`` from XA RECOVER CONVERT XID's ``0x…``."""
    digits = plain(data).removeprefix("0x")
    gtrid, bqual = digits[: 2 * gtrid_length], digits[2 * gtrid_length :][: 2 * bqual_length]
    return f"X'{gtrid}',X'{bqual}',{format_id}"
