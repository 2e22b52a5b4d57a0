"""A replica's session with a server: its identity, its logs, and the dump commands.

Session variables that servers look for (``rpl_binlog_sender.cc``): ``binlog_checksum`` (what the
client can read), ``heartbeat_period`` (nanoseconds), both under ``master_`` and, from 8.0.26 on,
``source_``; ``slave_uuid`` and ``replica_uuid``, by which a server ends the dump that a dead client
left behind. Semi-synchronous replication is not used (``rpl_semi_sync_…`` is not set): a server
never waits for this client.

Commands (internals manual, "Replication Protocol", where servers of 5.6, 5.7, 8.0 and 9.7 read
them so; docs/document-errors.md says where not), the command's code first, little-endian:

- COM_REGISTER_SLAVE: ``15 server_id:4 hostname_length:1 hostname user_length:1 user
  password_length:1 password port:2 replication_rank:4 source_id:4``;
- COM_BINLOG_DUMP: ``12 position:4 flags:2 server_id:4 file``, which is empty for the first log;
- COM_BINLOG_DUMP_GTID (5.6.5+): ``1e flags:2 server_id:4 name_length:4 name position:8
  data_length:4 data``; without a name the server looks for the log to begin with.

Privileges: REPLICATION SLAVE for dumps; REPLICATION CLIENT for the list of logs (optional).
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from binlogkit.errors import ServerError, UsageError
from binlogkit.sources.connection import ServerSettings, ask, connect, translated
from binlogkit.sources.server.stream import FIRST_POSITION, EventStream, Item

_ENCRYPTION_HEADER = 512
_REGISTER_SLAVE, _BINLOG_DUMP, _BINLOG_DUMP_GTID = 0x15, 0x12, 0x1E
_NON_BLOCK, _HEARTBEAT_EVENT_V2 = 0x01, 0x02  # flags: end at the log's end; 8.0.26: 64 bits
_DENIED = (1227, 1142, 1045)
#: Seconds without a byte, heartbeats included, after which a server is taken for lost.
SILENCE = 120.0
_SLOW_READER = 3600  # seconds that a server waits for us to read on


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """Who the client says it is: ids of its own, so that it ends no other replica's dump."""

    server_id: int = field(default_factory=lambda: secrets.randbelow(1 << 31) | 1 << 31)
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(frozen=True, slots=True)
class ServerLogSize:
    """A log that a server has: ``size`` in bytes as a dump counts, without an encryption header."""

    name: str
    size: int
    encrypted: bool


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Who a server is.

    ``logs``: oldest first; None where the account may not ask; ``started``: the second in which it
    was, by its own clock.
    """

    uuid: str | None
    version: str
    logs: tuple[ServerLogSize, ...] | None
    started: int | None = None


class ReplicationClient:
    """One connection; one dump ends it. Errors: those of ``connect``, ServerError."""

    def __init__(
        self,
        settings: ServerSettings,
        identity: ClientIdentity,
        *,
        heartbeat: float = 10.0,
        silence: float = SILENCE,
    ) -> None:
        if not 0 < heartbeat < silence:
            raise UsageError("a server's heartbeats come more often than it may be silent")
        self.server = settings.name
        self._identity = identity
        self._connection = connect(
            settings, read_timeout=silence, write_timeout=silence, use_unicode=False
        )
        try:
            self.facts = self._ask()
            self._introduce(heartbeat)
        except BaseException:
            self.close()
            raise

    def _ask(self) -> ServerFacts:
        version = str(self._connection.server_version)
        if "mariadb" in version.lower():
            raise ServerError(f"MariaDB's logs ({version}) are not read", server=self.server)
        found = self._query("SHOW GLOBAL VARIABLES LIKE 'server_uuid'")
        uuid = str(found[0][1]) if found else None
        return ServerFacts(uuid, version, self._logs(), self._started())

    def _started(self) -> int | None:
        uptime = self._query("SHOW GLOBAL STATUS LIKE 'Uptime'")
        now = self._query("SELECT UNIX_TIMESTAMP()")
        return int(now[0][0]) - int(uptime[0][1]) if uptime and now else None

    def _logs(self) -> tuple[ServerLogSize, ...] | None:
        try:
            rows = self._query("SHOW BINARY LOGS")
        except ServerError as error:
            if error.code in _DENIED:
                return None
            raise
        return tuple(_log_size(row) for row in rows)

    def _introduce(self, heartbeat: float) -> None:
        period = int(heartbeat * 1_000_000_000)
        values = {"heartbeat_period": str(period), "binlog_checksum": "'CRC32'"}
        settings = [f"@{who}_{name} = {v}" for who in ("master", "source")
                    for name, v in values.items()]  # fmt: skip
        settings += [f"@{who}_uuid = '{self._identity.uuid}'" for who in ("slave", "replica")]
        self._query(f"SET {', '.join(settings)}, SESSION net_write_timeout = {_SLOW_READER}")

    def _query(self, sql: str) -> list[tuple[Any, ...]]:
        return ask(self._connection, self.server, sql)

    def _begin(self, dump: bytes) -> None:
        """Register, and ask for the events in the same breath.

        A server forgets who registered only when a dump ends. 5.7.22 crashes in SHOW SLAVE HOSTS
        over one who left without.
        """
        register = struct.pack("<BI3xHII", _REGISTER_SLAVE, self._identity.server_id, 0, 0, 0)
        connection = self._connection
        try:
            with translated(self.server):
                connection._write_bytes(_packet(register) + _packet(dump))
                connection._next_seq_id = 1
                connection._read_ok_packet()
                connection._next_seq_id = 1
        except ServerError as error:
            if error.code not in _DENIED:
                raise
            raise ServerError(
                "the account lacks REPLICATION SLAVE",
                server=self.server,
                code=error.code,
            ) from error

    def dump(self, file: str, position: int, *, wait: bool) -> Iterator[Item]:
        """The logs from ``position`` (under 4 GiB) of ``file`` on; of the first log for ``""``.

        ``wait``: for what will be written, else the end of the last log ends it.
        """
        head = struct.pack("<BIHI", _BINLOG_DUMP, position, _flags(wait), self._identity.server_id)
        self._begin(head + file.encode("utf-8", "surrogateescape"))
        return iter(EventStream(self._connection, self.server, asked=(file, position)))

    def dump_gtid(self, gtid_set: bytes, *, wait: bool) -> Iterator[Item]:
        """The transactions that are not in ``gtid_set`` (wire form)."""
        data = gtid_set or bytes(8)  # no UUID
        head = struct.pack(
            "<BHIIQI", _BINLOG_DUMP_GTID, _flags(wait), self._identity.server_id, 0,
            FIRST_POSITION, len(data),
        )  # fmt: skip
        self._begin(head + data)
        return iter(EventStream(self._connection, self.server, skips=True))

    def interrupt(self) -> None:
        """Wake a reader that waits, from a signal handler or another thread: its dump breaks."""
        line = self._connection._sock
        if line is not None:
            with suppress(OSError), socket.socket(fileno=os.dup(line.fileno())) as twin:
                twin.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the session at once; a server notices when it writes next."""
        self._connection._force_close()


def _log_size(row: tuple[Any, ...]) -> ServerLogSize:
    encrypted = len(row) > 2 and str(row[2]).lower() == "yes"
    return ServerLogSize(str(row[0]), int(row[1]) - _ENCRYPTION_HEADER * encrypted, encrypted)


def _packet(payload: bytes) -> bytes:
    """A command's packet: ``length:3 number:1``, the number being 0."""
    return len(payload).to_bytes(4, "little") + payload


def _flags(wait: bool) -> int:
    return _HEARTBEAT_EVENT_V2 if wait else _HEARTBEAT_EVENT_V2 | _NON_BLOCK
