"""Logs of servers that were killed, purged and replicated from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server, ServerSpec, start
from binlogkit_fixtures.servers.local import LocalServer
from binlogkit_fixtures.servers.replication import follow
from tests.servers import shared_server
from tests.waiting import joined, set_in_time

pytestmark = pytest.mark.server

GTIDS = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON", "log-slave-updates": "ON"}
LOGGED = {"log-bin": "binlog", "binlog-format": "ROW", **GTIDS}
Codes = Callable[[Any], list[str]]


def copies(server: Server, names: list[str], folder: Path) -> list[str]:
    folder.mkdir(exist_ok=True)
    return [str(server.copy_binlog(name, folder / name)) for name in names]


def write_until_killed(server: Server, begun: threading.Event) -> None:
    """Transactions of a megabyte each, until the server is gone."""
    session = server.connect()
    with suppress(pymysql.MySQLError, OSError), session.cursor() as cursor:
        for n in range(10_000):
            rows = ", ".join(f"({n}, {i}, REPEAT('x', 1000))" for i in range(1000))
            cursor.execute(f"INSERT INTO t.big VALUES {rows}")
            session.commit()
            if n == 3:
                begun.set()


@pytest.mark.parametrize("version", ["5.7", "8.0"])
@pytest.mark.gate(1)
def test_a_killed_server_and_its_recovery(version: str, tmp_path: Path, codes: Codes) -> None:
    """The crashed log is in use; the recovered series is whole, and its rows are the table's."""
    with start(ServerSpec(version, LOGGED)) as server:
        server.query("CREATE DATABASE t")
        server.query("CREATE TABLE t.big (n INT, i INT, s TEXT, PRIMARY KEY (n, i))")
        server.query("FLUSH BINARY LOGS")
        begun = threading.Event()
        writer = threading.Thread(target=write_until_killed, args=(server, begun))
        writer.start()
        set_in_time(begun, "somebody writes")
        server.kill()
        joined(writer)
        crashed = bk.verify(copies(server, server.binlog_names(), tmp_path / "crashed"))
        assert {"in_use"} <= {f.code for f in crashed.findings}
        # A torn write may end the log; nothing else is wrong with it.
        torn = {"cut_event", "zeros_at_end", "missing_events", "unfinished_transaction"}
        assert set(codes(crashed)) <= torn
        if not isinstance(server, LocalServer):
            return
        restart(server)
        server.query("INSERT INTO t.big VALUES (-1, -1, 'after')")
        held = server.query("SELECT COUNT(*) FROM t.big")[0][0]
        server.stop()
        paths = copies(server, server.binlog_names(), tmp_path / "recovered")
    recovered = bk.verify(paths)
    assert codes(recovered) == []
    assert "not_closed" in {f.code for f in recovered.findings}
    assert {joint.status for joint in recovered.joints} == {"continuous"}
    rows = bk.open(paths).changes("t.big")
    assert rows.num_rows == held


def restart(server: LocalServer) -> None:
    """Start the server again on the same data."""
    accounts = server.data_folder.parent / "run" / "init.sql"
    accounts.write_text("")
    accounts.chmod(0o644)
    server._start()


def test_a_purged_log_in_the_middle(tmp_path: Path, codes: Codes) -> None:
    with shared_server(ServerSpec("8.0", LOGGED)) as server:
        server.query("CREATE DATABASE t")
        for n in range(4):
            server.query(f"CREATE TABLE t.t{n} (id INT PRIMARY KEY)")
            server.query(f"INSERT INTO t.t{n} VALUES (1)")
            server.query("FLUSH BINARY LOGS")
        names = server.binlog_names()
        paths = copies(server, names, tmp_path / "logs")
        uuid = server.query("SELECT @@server_uuid")[0][0]
    assert codes(bk.verify(paths)) == []
    gone = paths.pop(len(paths) // 2)
    lost = {t["gtid"] for t in bk.open(gone).transaction_records()}
    found = bk.verify(paths)
    assert codes(found) == ["file_missing", "gtid_gap"]
    told = next(f.found for f in found.findings if f.code == "gtid_gap")
    assert bk.GtidSet.of(sorted(lost)) == bk.GtidSet.parse(told.rsplit(": ", 1)[1])
    assert uuid in told and Path(gone).name in found.findings[-2].found


@pytest.mark.parametrize("version", ["5.7", "8.0"])
def test_the_logs_of_a_replica(version: str, tmp_path: Path, codes: Codes) -> None:
    """Relay logs over rotations of the source and restarts of the receiver, and its own log."""
    replica_options = {**LOGGED, "server-id": "22", "relay-log": "relay", "relay-log-purge": "OFF"}
    with (
        start(ServerSpec(version, {**LOGGED, "server-id": "11"}), "local") as source,
        start(ServerSpec(version, replica_options), "local") as replica,
    ):
        source.query("CREATE DATABASE truth")
        replica.query("RESET MASTER")
        follow(replica, source)
        for n in range(3):
            replica.query("START SLAVE")
            source.query(f"CREATE TABLE truth.t{n} (id INT PRIMARY KEY)")
            source.query(f"INSERT INTO truth.t{n} VALUES (1), (2), (3)")
            source.query("FLUSH BINARY LOGS")
            source.query(f"DELETE FROM truth.t{n} WHERE id = 2")
            done = source.query("SELECT @@GLOBAL.gtid_executed")[0][0]
            waited = replica.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{done}', 60)")[0][0]
            assert waited == 0, replica.query("SHOW SLAVE STATUS")
            replica.query("STOP SLAVE")
        relay = replica.relay_log_names()
        paths = copies(source, source.binlog_names(), tmp_path / "source")
        paths += copies(replica, replica.binlog_names(), tmp_path / "replica")
        paths += copies(replica, relay, tmp_path / "relay")
    found = bk.verify(paths)
    assert codes(found) == []
    kinds = [facts.relay for facts in found.files]
    assert sum(kinds) == len(relay) and not any(kinds[: -len(relay)])
    statuses = {(joint.before.relay, joint.status) for joint in found.joints}
    assert statuses <= {(False, "continuous"), (True, "continuous"), (True, "unknown")}
