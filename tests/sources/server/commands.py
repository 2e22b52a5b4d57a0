"""The commands of the replication protocol, all of them: what a client may write, a server reads.

Layouts: internals manual, "Replication Protocol", where servers of 5.6, 5.7, 8.0 and 9.7 read
them so (docs/document-errors.md says where not). Integers are little-endian.
A packet here is a command's payload, the command's code first, without the 4-byte packet header.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TypeAlias

from binlogkit._kernel.cursor import Cursor
from binlogkit.errors import UsageError

__all__ = [
    "BinlogDump",
    "BinlogDumpGtid",
    "Command",
    "DumpFlag",
    "RegisterSlave",
    "ReplicationCommand",
    "TableDump",
    "read_command",
]

NO_GTIDS = bytes(8)


class Command(IntEnum):
    """Codes of the replication commands (``enum_server_command``)."""

    COM_BINLOG_DUMP = 0x12
    COM_TABLE_DUMP = 0x13
    COM_REGISTER_SLAVE = 0x15
    COM_BINLOG_DUMP_GTID = 0x1E


class DumpFlag(IntFlag):
    """Bits of a dump command's flags.

    Bit 1 and 2 were BINLOG_THROUGH_POSITION and BINLOG_THROUGH_GTID in the development versions
    that the document describes; no release reads them so.
    """

    BINLOG_DUMP_NON_BLOCK = 0x01  # end at the end of the log instead of waiting
    USE_HEARTBEAT_EVENT_V2 = 0x02  # 8.0.26: heartbeats with 64-bit positions
    BINLOG_DUMP_SKIP_TAGGED_GTIDS = 0x04  # 8.3.0: a replica that knows no tags


@dataclass(frozen=True, slots=True)
class RegisterSlave:
    """COM_REGISTER_SLAVE (0x15, 4.0+): a replica says who it is before it asks for a log.

    ``server_id:4 hostname_length:1 hostname user_length:1 user password_length:1 password port:2
    replication_rank:4 source_id:4``. What is given appears in SHOW REPLICAS; ``password`` is that
    of ``report_password``, to be left empty. The document prints the code as 0x14, which is
    COM_CONNECT_OUT: servers read 0x15.
    """

    server_id: int
    hostname: str = ""
    user: str = ""
    password: str = ""
    port: int = 0
    replication_rank: int = 0
    source_id: int = 0

    def pack(self) -> bytes:
        """The command's payload."""
        return b"".join(
            (
                struct.pack("<BI", Command.COM_REGISTER_SLAVE, self.server_id),
                _short(self.hostname),
                _short(self.user),
                _short(self.password),
                struct.pack("<HII", self.port, self.replication_rank, self.source_id),
            )
        )

    @classmethod
    def read(cls, cursor: Cursor) -> RegisterSlave:
        """What follows the command's code."""
        return cls(
            cursor.uint(4, "server_id"),
            cursor.text(cursor.uint(1, "hostname_length"), "hostname"),
            cursor.text(cursor.uint(1, "user_length"), "user"),
            cursor.text(cursor.uint(1, "password_length"), "password"),
            cursor.uint(2, "port"),
            cursor.uint(4, "replication_rank"),
            cursor.uint(4, "source_id"),
        )


@dataclass(frozen=True, slots=True)
class BinlogDump:
    """COM_BINLOG_DUMP (0x12): the log from a file and a position.

    ``position:4 flags:2 server_id:4 file`` (up to the packet's end). An empty ``file`` is the first
    log that the server has. A position has 32 bits here: behind 4 GiB a log is read from an earlier
    one. A server id of 0 means NON_BLOCK as well.
    """

    file: str
    position: int
    server_id: int
    flags: int = 0

    def pack(self) -> bytes:
        """The command's payload."""
        head = struct.pack(
            "<BIHI", Command.COM_BINLOG_DUMP, self.position, self.flags, self.server_id
        )
        return head + _name(self.file)

    @classmethod
    def read(cls, cursor: Cursor) -> BinlogDump:
        """What follows the command's code."""
        position = cursor.uint(4, "position")
        flags, server_id = cursor.uint(2, "flags"), cursor.uint(4, "server_id")
        file = cursor.text(cursor.left, "file", "utf-8")
        return cls(file, position, server_id, flags)


@dataclass(frozen=True, slots=True)
class BinlogDumpGtid:
    """COM_BINLOG_DUMP_GTID (0x1e, 5.6.5+): the transactions that are not in a GTID set.

    ``flags:2 server_id:4 name_length:4 name position:8 data_length:4 data``. ``gtid_set`` is the
    wire form of the set that the client has (``n_sids:8``, per UUID ``sid:16 n_intervals:8``, per
    interval ``start:8 end:8``, the end exclusive; tagged from 8.3.0 on); with an empty ``file`` the
    server looks for the log to begin with. The document makes ``data`` depend on a flag: releases
    always read it.
    """

    gtid_set: bytes
    server_id: int
    file: str = ""
    position: int = 4
    flags: int = 0

    def pack(self) -> bytes:
        """The command's payload."""
        name = _name(self.file)
        data = self.gtid_set or NO_GTIDS
        return b"".join(
            (
                struct.pack("<BHI", Command.COM_BINLOG_DUMP_GTID, self.flags, self.server_id),
                struct.pack("<I", len(name)) + name,
                struct.pack("<QI", self.position, len(data)) + data,
            )
        )

    @classmethod
    def read(cls, cursor: Cursor) -> BinlogDumpGtid:
        """What follows the command's code."""
        flags, server_id = cursor.uint(2, "flags"), cursor.uint(4, "server_id")
        file = cursor.text(cursor.uint(4, "name_length"), "name")
        position = cursor.uint(8, "position")
        gtid_set = cursor.read(cursor.uint(4, "data_length"), "data")
        return cls(gtid_set, server_id, file, position, flags)


@dataclass(frozen=True, slots=True)
class TableDump:
    """COM_TABLE_DUMP (0x13, 3.23 to 5.0): a whole table, for LOAD TABLE FROM MASTER.

    ``database_length:1 database table_length:1 table``. By the document alone: servers from 5.5 on
    answer ER_UNKNOWN_COM_ERROR.
    """

    database: str
    table: str

    def pack(self) -> bytes:
        """The command's payload."""
        return bytes([Command.COM_TABLE_DUMP]) + _short(self.database) + _short(self.table)

    @classmethod
    def read(cls, cursor: Cursor) -> TableDump:
        """What follows the command's code."""
        return cls(
            cursor.text(cursor.uint(1, "database_length"), "database"),
            cursor.text(cursor.uint(1, "table_length"), "table"),
        )


ReplicationCommand: TypeAlias = RegisterSlave | BinlogDump | BinlogDumpGtid | TableDump

_READERS: dict[Command, Callable[[Cursor], ReplicationCommand]] = {
    Command.COM_BINLOG_DUMP: BinlogDump.read,
    Command.COM_TABLE_DUMP: TableDump.read,
    Command.COM_REGISTER_SLAVE: RegisterSlave.read,
    Command.COM_BINLOG_DUMP_GTID: BinlogDumpGtid.read,
}


def read_command(packet: bytes, name: str = "<packet>") -> ReplicationCommand:
    """The replication command in a packet's payload; MalformedEventError when it holds none."""
    cursor = Cursor(packet, name)
    code = cursor.uint(1, "command")
    if code not in _READERS:
        raise cursor.fail("command", f"{code:#04x} is no command of the replication protocol")
    command = _READERS[Command(code)](cursor)
    if cursor.left:
        raise cursor.fail("command", f"{cursor.left} bytes follow it")
    return command


def _name(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _short(text: str) -> bytes:
    data = _name(text)
    if len(data) > 255:
        raise UsageError("a name of over 255 bytes does not fit into the command")
    return bytes([len(data)]) + data
