"""Makes _data/5.6.24-relay: relay logs that a 5.6 replica closed inside a transaction.

``python tests/rows/make_relay.py``: a source and a replica with ``max_relay_log_size=4096``; kept
are the files from the first transaction's to the one in which the INSERT of 100 rows ends.
"""

from __future__ import annotations

from pathlib import Path

from binlogkit_fixtures.servers import ServerSpec, start
from binlogkit_fixtures.servers.replication import follow

HERE = Path(__file__).parent / "_data" / "5.6.24-relay"
COMMON = {
    "binlog-format": "ROW", "gtid-mode": "ON", "enforce-gtid-consistency": "ON",
    "log-slave-updates": "ON", "binlog-row-event-max-size": "512",
}  # fmt: skip
REPLICA = {
    "server-id": "22", "relay-log": "relay", "relay-log-purge": "OFF",
    "max-relay-log-size": "4096",
}  # fmt: skip


def main() -> None:
    spec = ServerSpec("5.6", COMMON)
    with start(spec) as source, start(ServerSpec("5.6", COMMON | REPLICA)) as replica:
        follow(replica, source, at=(source.binlog_names()[0], 4))
        source.query("CREATE DATABASE truth")
        source.query("CREATE TABLE truth.t (id INT PRIMARY KEY, s VARCHAR(200))")
        for k in range(2):
            rows = ", ".join(f"({k * 100 + i}, REPEAT('x', 150))" for i in range(100))
            source.query(f"INSERT INTO truth.t VALUES {rows}")
        file, pos, *_ = source.query("SHOW MASTER STATUS")[0]
        replica.query(f"SELECT MASTER_POS_WAIT('{file}', {pos}, 30)")
        replica.query("STOP SLAVE")
        HERE.mkdir(parents=True, exist_ok=True)
        for name in replica.relay_log_names()[1:6]:
            replica.copy_binlog(name, HERE).chmod(0o644)


if __name__ == "__main__":
    main()
