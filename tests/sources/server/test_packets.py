"""The commands' packets: byte by byte as documented, and as real servers read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pymysql
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit.errors import MalformedEventError, UsageError
from binlogkit_fixtures.servers import Server
from tests.sources.server.commands import (
    BinlogDump,
    BinlogDumpGtid,
    DumpFlag,
    RegisterSlave,
    ReplicationCommand,
    TableDump,
    read_command,
)

#: Fields in the document's order, one row each.
LAYOUTS: list[tuple[ReplicationCommand, str]] = [
    (
        BinlogDump("mysql-bin.000007", 0x01020304, 0x0A0B0C0D, DumpFlag.BINLOG_DUMP_NON_BLOCK),
        "12 04030201 0100 0d0c0b0a 6d7973716c2d62696e2e303030303037",
    ),
    (BinlogDump("", 4, 7), "12 04000000 0000 07000000"),
    (
        BinlogDumpGtid(b"\x09" * 3, 7, "b.1", 0x0102030405060708, 5),
        "1e 0500 07000000 03000000 622e31 0807060504030201 03000000 090909",
    ),
    # No set is the set of nothing: n_sids of 8 bytes (the document has 4).
    (BinlogDumpGtid(b"", 7), "1e 0000 07000000 00000000 0400000000000000 08000000 " + "00" * 8),
    (TableDump("db", "tbl"), "13 02 6462 03 74626c"),
    (
        RegisterSlave(7, "host", "me", "pw", 3307, 1, 2),
        "15 07000000 04 686f7374 02 6d65 02 7077 eb0c 01000000 02000000",
    ),
    (RegisterSlave(7), "15 07000000 00 00 00 0000 00000000 00000000"),
]


@pytest.mark.parametrize(("command", "layout"), LAYOUTS, ids=lambda v: type(v).__name__)
def test_a_packet_is_laid_out_as_documented(command: ReplicationCommand, layout: str) -> None:
    assert command.pack() == bytes.fromhex(layout.replace(" ", ""))


NAMES = st.text(st.characters(codec="utf-8"), max_size=40)
UINT32 = st.integers(0, (1 << 32) - 1)
COMMANDS = st.one_of(
    st.builds(BinlogDump, NAMES, UINT32, UINT32, st.integers(0, 65535)),
    st.builds(
        BinlogDumpGtid, st.binary(min_size=8, max_size=60), UINT32, NAMES,
        st.integers(0, (1 << 64) - 1), st.integers(0, 65535),
    ),
    st.builds(TableDump, NAMES, NAMES),
    st.builds(RegisterSlave, UINT32, NAMES, NAMES, NAMES, st.integers(0, 65535), UINT32, UINT32),
)  # fmt: skip


@given(COMMANDS)
def test_what_is_written_is_read_again(command: ReplicationCommand) -> None:
    assert read_command(command.pack()) == command


@pytest.mark.parametrize(("command", "layout"), LAYOUTS, ids=lambda v: type(v).__name__)
def test_a_cut_packet_is_told(command: ReplicationCommand, layout: str) -> None:
    packet = command.pack()
    whole = 11 if isinstance(command, BinlogDump) else len(packet)  # its name has no length
    for end in range(whole):
        with pytest.raises(MalformedEventError):
            read_command(packet[:end])
    if not isinstance(command, BinlogDump):
        with pytest.raises(MalformedEventError, match="1 bytes follow"):
            read_command(packet + b"x")


def test_other_commands_are_refused() -> None:
    with pytest.raises(MalformedEventError, match="0x03 is no command of the replication"):
        read_command(b"\x03SELECT 1")
    with pytest.raises(UsageError, match="over 255 bytes"):
        TableDump("d" * 256, "t").pack()


@pytest.mark.server
@pytest.mark.parametrize("series", ["5.6", "5.7", "8.0", "9"])
@pytest.mark.gate(2)
def test_a_server_reads_them(servers: Callable[[str], Server], series: str) -> None:
    """It lists who registered; 0x14, the document's code, and COM_TABLE_DUMP it does not know."""
    server = servers(series)
    with server.connect() as connected:
        session: Any = connected  # with what no stub has
        session.query("SET @master_binlog_checksum = 'CRC32'")
        packet = RegisterSlave(4_000_000_001, "über.example", "rep", "", 3399).pack()
        session._execute_command(packet[0], packet[1:])
        session._read_ok_packet()
        command = "SHOW REPLICAS" if series in ("8.0", "9") else "SHOW SLAVE HOSTS"
        listed = [row[:3] for row in server.query(command) if row[0] == 4_000_000_001]
        assert listed == [(4_000_000_001, "über.example", 3399)]
        for code in (0x14, TableDump("mysql", "user").pack()[0]):
            session._execute_command(code, b"\x05mysql\x04user")
            with pytest.raises(pymysql.Error, match="1047"):  # ER_UNKNOWN_COM_ERROR
                session._read_ok_packet()
        # Who leaves without a dump stays listed, and 5.7.22 crashes when it is asked once more.
        dump = BinlogDump("", 4, 4_000_000_001, DumpFlag.BINLOG_DUMP_NON_BLOCK).pack()
        session._execute_command(dump[0], dump[1:])
        while session._read_packet().get_all_data()[0] != 0xFE:
            pass
