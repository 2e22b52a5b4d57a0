"""The servers that tests share: whoever gets one finds it as new."""

from __future__ import annotations

import pytest

from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import GIVEN_UP, GTIDS, SERIES, STARTED, shared_server

pytestmark = pytest.mark.server

STATEMENTS = {"binlog-format": "STATEMENT", "max-allowed-packet": "2M"}
LEFT = (
    "CREATE DATABASE left_over",
    "CREATE TABLE left_over.t (id INT PRIMARY KEY)",
    "CREATE USER left_over IDENTIFIED BY 'x'",
    "SET GLOBAL max_connections = 33, GLOBAL binlog_checksum = NONE, GLOBAL read_only = ON",
    "FLUSH BINARY LOGS",
)
#: In a session that nobody ends.
HELD = (
    "CREATE TEMPORARY TABLE left_over.own (id INT)",
    "XA START 'left'", "INSERT INTO left_over.t VALUES (1)", "XA END 'left'", "XA PREPARE 'left'",
)  # fmt: skip
VARIABLES = (
    "binlog_checksum", "binlog_format", "gtid_executed", "gtid_mode", "max_allowed_packet",
    "max_connections", "read_only",
)  # fmt: skip


def seen(server: Server) -> dict[str, object]:
    """What whoever gets a server finds there."""
    return {
        "databases": server.query("SHOW DATABASES"),
        "accounts": sorted(server.query("SELECT user, host FROM mysql.user")),
        "prepared": server.query("XA RECOVER"),
        "logs": server.binlog_names(),
        "variables": server.query(f"SELECT @@GLOBAL.{', @@GLOBAL.'.join(VARIABLES)}"),
    }


@pytest.mark.parametrize("series", SERIES)
def test_it_is_as_new(series: str) -> None:
    """Data, accounts, sessions, what is prepared, variables and logs of the one before are gone."""
    with shared_server(ServerSpec(series)) as server:
        new, port = seen(server), server.port
    with shared_server(ServerSpec(series, {**GTIDS, **STATEMENTS})) as server:
        names = "gtid_mode, @@GLOBAL.binlog_format, @@GLOBAL.max_allowed_packet"
        assert server.query(f"SELECT @@GLOBAL.{names}") == [("ON", "STATEMENT", 2 << 20)]
        for statement in LEFT:
            server.query(statement)
        with server.connect().cursor() as cursor:
            for statement in HELD:
                cursor.execute(statement)
            cursor.execute("SELECT CONNECTION_ID()")
            ((held,),) = cursor.fetchall()
        assert server.query("SELECT @@GLOBAL.gtid_executed") != [("",)]
    with shared_server(ServerSpec(series)) as server:
        assert (seen(server), server.port) == (new, port)
        assert held not in [number for number, *_ in server.query("SHOW PROCESSLIST")]


def test_two_at_a_time_are_two() -> None:
    with shared_server(ServerSpec("5.7")) as one, shared_server(ServerSpec("5.7")) as two:
        assert one.port != two.port
    started = len(STARTED)
    with shared_server(ServerSpec("5.7")), shared_server(ServerSpec("5.7", GTIDS)):
        assert len(STARTED) == started


def test_what_must_be_said_at_the_start_makes_another_server() -> None:
    with shared_server(ServerSpec("5.7")) as server:
        port = server.port
    with shared_server(ServerSpec("5.7", {"log-bin-use-v1-row-events": "ON"})) as server:
        assert server.port != port
        assert server.query("SELECT @@GLOBAL.log_bin_use_v1_row_events") == [(1,)]


@pytest.mark.parametrize("end", ["kill", "DROP USER root@localhost"])
def test_one_that_cannot_be_as_new_is_given_up(end: str) -> None:
    with shared_server(ServerSpec("5.7")) as server:
        port = server.port
        if end == "kill":
            server.kill()
        else:
            server.query(end)
    with shared_server(ServerSpec("5.7")) as server:
        assert server.port != port
        assert server.query("SELECT COUNT(*) FROM mysql.user WHERE user = 'root'") == [(2,)]
    assert GIVEN_UP
