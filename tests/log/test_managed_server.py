"""Logs as managed services write them, played by hand: their own tables change among the user's.

What each service writes is what its documentation and users of its logs report
(docs/managed-servers.md has the sources). No log of a service itself is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story, carried_out
from tests.servers import GTIDS, each_server
from tests.sources.server.conftest_server import settings_of

pytestmark = [pytest.mark.server, pytest.mark.gate(1)]

server = each_server(options={"log-bin": "mysql-bin-changelog", **GTIDS})

_PAIRS = "(name VARCHAR(50) PRIMARY KEY, value VARCHAR(50))"
_HEARTBEAT = "rds_heartbeat2(id, value) values (1,{0}) ON DUPLICATE KEY UPDATE value = {0}"


@dataclass(frozen=True)
class Service:
    """``tables``: of its own in ``mysql``; ``session``: the settings that its users have;
    ``writes``: what it writes itself, statements of one transaction each."""

    tables: tuple[str, ...]
    session: str
    writes: tuple[tuple[str, ...], ...]


SERVICES = {
    "Amazon RDS": Service(
        (
            "rds_heartbeat2 (id INT PRIMARY KEY, value BIGINT)",
            f"rds_sysinfo {_PAIRS}",
            f"rds_monitor {_PAIRS}",
        ),
        "SET binlog_format = ROW",
        (
            ("SET binlog_format = STATEMENT", "USE mysql", f"INSERT INTO mysql.{_HEARTBEAT}"),
            ("SET binlog_format = STATEMENT", "USE mysql", f"INSERT INTO {_HEARTBEAT}"),
            (
                "SET binlog_format = STATEMENT",
                "BEGIN",
                "DELETE FROM mysql.rds_sysinfo where name = 'innodb_txn_key'",
                "INSERT INTO mysql.rds_sysinfo(name, value) values ('innodb_txn_key','Thu Nov 15')",
                "COMMIT",
                "DELETE FROM mysql.rds_monitor",
                "FLUSH BINARY LOGS",
            ),
        ),
    ),
    "Azure": Service(
        ("__az_replica_information__ (id INT PRIMARY KEY, seen DATETIME(6), behind BIGINT)",),
        "SET binlog_format = ROW, binlog_row_image = MINIMAL",
        (("REPLACE INTO mysql.__az_replica_information__ VALUES (1, NOW(6), {0})",),),
    ),
    "Cloud SQL": Service(
        ("heartbeat (id INT PRIMARY KEY, master_time DATETIME(6))",),
        "SET binlog_format = ROW",
        (("REPLACE INTO mysql.heartbeat(id, master_time) VALUE(1, UTC_TIMESTAMP(6))",),),
    ),
    "ApsaraDB": Service(
        ("ha_health_check (id BIGINT, type CHAR(1) PRIMARY KEY)",),
        "SET binlog_format = ROW, time_zone = '+08:00'",
        (("REPLACE INTO mysql.ha_health_check VALUES ({0}, '1')",),),
    ),
}


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_writes_costs_no_state(server: Server, name: str, tmp_path: Path) -> None:
    """States are certain and right, and an undo takes back what it should."""
    service, story = SERVICES[name], Story(server, tmp_path, "shop")
    own = [f"mysql.{table.partition(' ')[0]}" for table in service.tables]
    try:
        for table in service.tables:
            server.query(f"CREATE TABLE mysql.{table}")
        story.run(service.session, "CREATE TABLE orders (id INT PRIMARY KEY, total DECIMAL(9,2), "
                  "placed TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP)")  # fmt: skip
        for i in range(1, 4):
            _write(server, service, 1_700_000_000_000 + i)
            story.run(f"INSERT INTO orders (id, total) VALUES ({i}, {i}.50)")
        rows = story.run("SELECT * FROM orders ORDER BY id")
        _write(server, service, 1_700_000_000_009)
        story.run("DELETE FROM orders WHERE id > 1")
        _write(server, service, 1_700_000_000_010)
        bk.capture(settings_of(server), str(tmp_path / "logs"), start_log=story.name)
        log = bk.open(str(tmp_path / "logs"))
        state = log.state("shop.orders")
        assert (state.determined, state.rows.num_rows) == (True, 1)
        mine = log.transactions(table="shop.orders")
        assert len(mine) == 4
        verdict = carried_out(story, log.undo(gtid=mine["gtid"].iloc[-1]))
        assert verdict[-1] == "committed"
        assert story.run("SELECT * FROM orders ORDER BY id") == rows
    finally:
        for table in own:
            server.query(f"DROP TABLE IF EXISTS {table}")


def _write(server: Server, service: Service, number: int) -> None:
    for statements in service.writes:
        with server.connect(autocommit=True) as session, session.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement.format(number))
