"""Replication between fixture servers: one follows another, and is waited for."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any

from binlogkit.errors import ServerError, printable
from binlogkit.sources.log_format import version_tuple
from binlogkit_fixtures.servers.base import Server

__all__ = [
    "await_gtids", "await_position", "executed_gtids", "follow", "follow_again", "replica_status",
    "stop_following",
]  # fmt: skip

_PLUGIN_GONE = (8, 4)  # mysql_native_password is not loaded any more
_SOURCE = (8, 0, 23)  # CHANGE REPLICATION SOURCE, START REPLICA
_SOURCE_POS_WAIT = (8, 0, 26)


def _version(server: Server) -> tuple[int, int, int]:
    return version_tuple(server.version)


def executed_gtids(server: Server) -> str:
    """``gtid_executed`` on one line."""
    return str(server.query("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "")


def follow(replica: Server, source: Server, *, at: tuple[str, int] | None = None) -> None:
    """Let ``replica`` replicate from ``source``: by GTIDs, or from a log's name and position.

    Both were started by the same runner, as only then they reach each other. A user for it is made
    on the source, in no log. ServerError: a server refused.
    """
    user, password = f"replica_{secrets.token_hex(4)}", secrets.token_hex(16)
    native = "" if _version(source) >= _PLUGIN_GONE else " WITH mysql_native_password"
    source.query("SET SESSION sql_log_bin = 0")
    source.query(f"CREATE USER '{user}'@'%' IDENTIFIED{native} BY '{password}'")
    source.query(f"GRANT REPLICATION SLAVE ON *.* TO '{user}'@'%'")
    source.query("SET SESSION sql_log_bin = 1")
    host, port = source.peer_address
    new = _version(replica) >= _SOURCE
    word = "SOURCE" if new else "MASTER"
    place = f"{word}_AUTO_POSITION = 1"
    if at is not None:
        place = f"{word}_LOG_FILE = '{at[0]}', {word}_LOG_POS = {at[1]}"
    replica.query(
        f"CHANGE {'REPLICATION SOURCE' if new else 'MASTER'} TO {word}_HOST = '{host}', "
        f"{word}_PORT = {port}, {word}_USER = '{user}', {word}_PASSWORD = '{password}', "
        f"{word}_CONNECT_RETRY = 1, {place}" + (", GET_SOURCE_PUBLIC_KEY = 1" if new else "")
    )
    follow_again(replica)


def follow_again(replica: Server) -> None:
    """START REPLICA: resume where it stopped."""
    replica.query("START REPLICA" if _version(replica) >= _SOURCE else "START SLAVE")


def stop_following(replica: Server) -> None:
    """STOP REPLICA."""
    replica.query("STOP REPLICA" if _version(replica) >= _SOURCE else "STOP SLAVE")


def await_gtids(server: Server, gtids: str, seconds: float = 60) -> None:
    """Wait until ``server`` has executed ``gtids``; ServerError, after ``seconds``: why not."""
    until = time.monotonic() + seconds
    while not server.query(f"SELECT GTID_SUBSET('{gtids}', @@GLOBAL.gtid_executed)")[0][0]:
        if time.monotonic() > until:
            raise ServerError(f"{server!r} has not {gtids}: {_last_error(server)}")
        time.sleep(0.05)


def await_position(replica: Server, file: str, pos: int, seconds: int = 60) -> None:
    """Wait until ``replica`` has applied its source's log up to there; ServerError: why not."""
    word = "SOURCE" if _version(replica) >= _SOURCE_POS_WAIT else "MASTER"
    waited = replica.query(f"SELECT {word}_POS_WAIT('{file}', {pos}, {seconds})")[0][0]
    if waited is None or waited < 0:
        raise ServerError(f"{replica!r} is not at {file}:{pos}: {_last_error(replica)}")


def replica_status(replica: Server) -> Mapping[str, Any]:
    """SHOW REPLICA STATUS of a replica with one source; empty where it has none."""
    show = "SHOW REPLICA STATUS" if _version(replica) >= _SOURCE else "SHOW SLAVE STATUS"
    with replica.connect() as session, session.cursor() as cursor:
        cursor.execute(show)
        names = [column[0] for column in cursor.description]
        row = cursor.fetchone()
    return dict(zip(names, row, strict=True)) if row else {}


def _last_error(replica: Server) -> str:
    """What the replica's status says of its errors."""
    status = replica_status(replica)
    errors = [str(status[name]) for name in ("Last_IO_Error", "Last_SQL_Error") if status.get(name)]
    return printable(" / ".join(errors)) or "its status shows no error"
