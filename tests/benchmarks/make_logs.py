"""Logs to measure with, written by a real 8.0 server into a folder outside the project.

    python tests/benchmarks/make_logs.py FOLDER [oltp|wide|smalltx|compressed …] [--scale N]

``oltp``: inserts, updates and deletes of 4 columns in large transactions; ``wide``: inserts and
updates of 26 columns of every type; ``smalltx``: one row a transaction; ``compressed``: ``wide``
with binlog_transaction_compression. At scale 1: about 120, 75, 35 and 75 MB of events.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from binlogkit_fixtures.servers import Server, ServerSpec, start

OPTIONS = {
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "gtid-mode": "ON",
    "enforce-gtid-consistency": "ON",
    "max-binlog-size": "1G",
    "innodb-flush-log-at-trx-commit": "0",
    "sync-binlog": "0",
    "innodb-buffer-pool-size": "512M",
}
WIDE = """
CREATE TABLE bench.wide (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED, s SMALLINT,
  m MEDIUMINT, i INT, b BIGINT, f FLOAT, d DOUBLE, n DECIMAL(12,2), big DECIMAL(40,10),
  bits BIT(10), y YEAR, dt DATE, tm TIME(3), dtm DATETIME(6), ts TIMESTAMP(2) NULL,
  c CHAR(20), vc VARCHAR(100), l1 VARCHAR(50) CHARACTER SET latin1, bin BINARY(16),
  vb VARBINARY(40), tx TEXT, e ENUM('red','green','blue'), st SET('a','b','c','d'), js JSON)
"""
WIDE_ROW = """
INSERT INTO bench.wide SELECT n, n % 120, n % 250, n % 30000, n % 8000000, n * 7, n * 100003,
  n / 3, n / 7, n / 100, n * 1234567.0123456789, n % 1024, 1970 + n % 150,
  DATE_ADD('1990-01-01', INTERVAL n % 15000 DAY), SEC_TO_TIME(n % 800000 + 0.125),
  DATE_ADD('2000-01-01', INTERVAL n * 7777777 MICROSECOND),
  IF(n % 5, FROM_UNIXTIME(1000000000 + n + 0.25), NULL), CONCAT('name ', n),
  CONCAT('some words with ünïcödé ', n), CONCAT('caf\u00e9 ', n), UNHEX(MD5(n)), UNHEX(SHA1(n)),
  REPEAT(CONCAT('text ', n, ' '), 1 + n % 8), 1 + n % 3, n % 16,
  JSON_OBJECT('id', n, 'tags', JSON_ARRAY('x', n % 7, TRUE), 'price', n / 8, 'name',
    CONCAT('item "', n, '"')) FROM bench.numbers WHERE n BETWEEN {0} AND {1}
"""


def numbers(server: Server, count: int) -> None:
    """A table of 1 … count; not in the log."""
    server.query("CREATE DATABASE IF NOT EXISTS bench")
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_log_bin = 0")
        cursor.execute("CREATE TABLE bench.numbers (n INT PRIMARY KEY)")
        cursor.execute("INSERT INTO bench.numbers VALUES (1)")
        have = 1
        while have < count:
            cursor.execute(
                f"INSERT INTO bench.numbers SELECT n + {have} FROM bench.numbers"
                f" WHERE n + {have} <= {count}"
            )
            connection.commit()
            have *= 2


def oltp(server: Server, scale: float) -> None:
    count, step = int(220_000 * scale), 5_000
    numbers(server, count)
    server.query(
        "CREATE TABLE bench.oltp (id INT NOT NULL PRIMARY KEY, k INT NOT NULL,"
        " c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)"
    )
    server.query("FLUSH BINARY LOGS")
    for first in range(1, count, step):
        last = first + step - 1
        server.query(
            "INSERT INTO bench.oltp SELECT n, n % 9973, RPAD(MD5(n), 119, SHA1(n)),"
            f" RPAD(SHA1(n), 59, MD5(n)) FROM bench.numbers WHERE n BETWEEN {first} AND {last}"
        )
        server.query(f"UPDATE bench.oltp SET k = k + 1 WHERE id BETWEEN {first} AND {last - 3000}")
        server.query(f"DELETE FROM bench.oltp WHERE id BETWEEN {first} AND {first + 1500}")


def wide(server: Server, scale: float) -> None:
    count, step = int(110_000 * scale), 5_000
    numbers(server, count)
    server.query(WIDE)
    server.query("FLUSH BINARY LOGS")
    for first in range(1, count, step):
        server.query(WIDE_ROW.format(first, first + step - 1))
        server.query(f"UPDATE bench.wide SET i = i + 1 WHERE id BETWEEN {first} AND {first + 1000}")


def smalltx(server: Server, scale: float) -> None:
    count = int(90_000 * scale)
    server.query("CREATE DATABASE IF NOT EXISTS bench")
    server.query("CREATE TABLE bench.small (id INT NOT NULL PRIMARY KEY, v INT, name VARCHAR(40))")
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("USE bench")
        cursor.execute(
            "CREATE PROCEDURE fill(total INT) BEGIN DECLARE i INT DEFAULT 0;"
            " WHILE i < total DO INSERT INTO small VALUES (i, i % 100, CONCAT('name ', i));"
            " SET i = i + 1; END WHILE; END"
        )
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SET autocommit = 1")
        cursor.execute(f"CALL fill({count})")


KINDS = {"oltp": oltp, "wide": wide, "smalltx": smalltx, "compressed": wide}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--scale", type=float, default=1)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for kind in chosen.kinds:
        began = time.monotonic()
        options = dict(OPTIONS)
        if kind == "compressed":
            options["binlog-transaction-compression"] = "ON"
        with start(ServerSpec("8.0", options)) as server:
            KINDS[kind](server, chosen.scale)
            name = server.binlog_names()[-1]
            server.query("FLUSH BINARY LOGS")
            target = chosen.folder / f"{kind}.binlog"
            server.copy_binlog(name, chosen.folder).rename(target)
        size = target.stat().st_size
        print(f"{kind}: {size:,} bytes in {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
