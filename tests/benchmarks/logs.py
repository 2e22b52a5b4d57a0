"""The benchmark's logs, made by a real 8.0 server.

``oltp``: 1.7 M changes of 4 columns as sysbench's table has them; ``wide``: 540,000 changes of 26
columns of every type; ``wide-plain``: the same without its GEOMETRY column, behind which
mysqlbinlog skips the rest of an event; ``smalltx``: 90,000 transactions of one row;
``compressed``, ``compressed-plain`` and ``smalltx-compressed``: those with
``binlog_transaction_compression``. The data is arithmetic on row numbers, so every run makes the
same rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from binlogkit_fixtures.servers import ServerSpec, start

NAMES = (
    "oltp", "smalltx", "wide", "wide-plain", "compressed", "compressed-plain", "smalltx-compressed",
)  # fmt: skip
_OPTIONS = {
    "binlog-format": "ROW",
    "gtid-mode": "ON",
    "enforce-gtid-consistency": "ON",
    "binlog-row-metadata": "FULL",
    "max-binlog-size": "1G",
    "binlog-cache-size": "64M",
    "sync-binlog": "0",
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-buffer-pool-size": "1G",
    "innodb-doublewrite": "0",
    "cte-max-recursion-depth": "10000000",
}
_BATCH = 20_000

_OLTP = (
    "CREATE TABLE sbtest (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, "
    "pad CHAR(60) NOT NULL)"
)
_HASH = "CONV(LEFT(MD5({0}), 12), 16, 10)"
_DIGITS = "LEFT(CONCAT_WS('-', {0}), {1})"


def _digits(seed: str, groups: int, length: int) -> str:
    parts = ", ".join(
        f"LPAD({_HASH.format(f'CONCAT({seed}, {g})')} % 100000000000, 11, '0')"
        for g in range(groups)
    )
    return _DIGITS.format(parts, length)


def _numbers(first: int, last: int) -> str:
    return (
        f"(WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}) "
        "SELECT i FROM n) AS n"
    )


def _slices(count: int) -> Iterator[tuple[int, int]]:
    for first in range(1, count + 1, _BATCH):
        yield first, min(count, first + _BATCH - 1)


def _oltp(share: float) -> Iterator[str]:
    yield _OLTP
    count = int(1_000_000 * share)
    for first, last in _slices(count):
        yield (
            f"INSERT INTO sbtest SELECT i, {_HASH.format('i')} % 1000000, {_digits('i', 10, 119)}, "
            f"{_digits('-i', 5, 59)} FROM {_numbers(first, last)}"
        )
    for first, last in _slices(count):
        between = f"id BETWEEN {first} AND {last}"
        yield f"UPDATE sbtest SET k = k + 1 WHERE {between} AND id % 20 < 7"
        yield f"DELETE FROM sbtest WHERE {between} AND id % 20 > 12"


_WIDE = """CREATE TABLE wide (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY, t TINYINT, s SMALLINT UNSIGNED, m MEDIUMINT, i INT,
  f FLOAT, d DOUBLE, n DECIMAL(18,4), y YEAR, da DATE, ti TIME(3), dt DATETIME(6),
  ts TIMESTAMP(3) NULL, b BIT(17), c CHAR(20), v VARCHAR(60),
  l VARCHAR(40) CHARACTER SET latin1, bi BINARY(8),
  vb VARBINARY(24), tx TEXT, bl BLOB, en ENUM('red','green','blue'), st SET('a','b','c','d'),
  js JSON, ge GEOMETRY, nu INT NULL)"""
_WIDE_ROW = """i, i % 256 - 128, i % 65536, i % 8388608 - 4194304, i * 7919 % 2147483647, i / 3,
  i / 7e3, i * 1234567 % 10000000000 / 10000, 1901 + i % 250,
  DATE '1970-01-01' + INTERVAL i % 40000 DAY, SEC_TO_TIME(i % 3000000 / 1000),
  TIMESTAMP '2000-01-01 00:00:00' + INTERVAL i * 1000003 MICROSECOND,
  TIMESTAMP '2020-01-01 00:00:00' + INTERVAL i SECOND, i % 131072, LEFT(MD5(i), 12),
  CONCAT('Grüße ', MD5(i)), CONCAT('été ', i), UNHEX(LEFT(MD5(i), 16)), UNHEX(MD5(i)),
  REPEAT(CONCAT('text ', i, ' '), 3), UNHEX(REPEAT(MD5(i), 2)), 1 + i % 3, i % 16,
  JSON_OBJECT('id', i, 'name', CONCAT('item ', i), 'price', i / 100,
              'tags', JSON_ARRAY('x', i % 7, i % 2 = 0)),
  POINT(i % 360, i % 180), IF(i % 3, i, NULL)"""


def _wide(share: float, table: str = _WIDE, row: str = _WIDE_ROW) -> Iterator[str]:
    yield table
    count = int(300_000 * share)
    for first, last in _slices(count):
        yield f"INSERT INTO wide SELECT {row} FROM {_numbers(first, last)}"
    for first, last in _slices(count):
        between = f"id BETWEEN {first} AND {last}"
        yield f"UPDATE wide SET nu = id, v = REVERSE(v) WHERE {between} AND id % 5 < 2"
        yield f"DELETE FROM wide WHERE {between} AND id % 5 > 2"


def _wide_plain(share: float) -> Iterator[str]:
    row = _WIDE_ROW.replace("POINT(i % 360, i % 180), ", "")
    return _wide(share, _WIDE.replace("ge GEOMETRY, ", ""), row)


_LOOP = """CREATE PROCEDURE fill(IN last INT) BEGIN DECLARE i INT DEFAULT 0;
  WHILE i < last DO SET i = i + 1;
  INSERT INTO small VALUES (i, i * 31 % 1000, CONCAT('row ', i)); END WHILE; END"""


def _smalltx(share: float) -> Iterator[str]:
    yield "CREATE TABLE small (id INT PRIMARY KEY, k INT, v VARCHAR(40))"
    yield _LOOP
    yield f"CALL fill({int(90_000 * share)})"


_STATEMENTS = {
    "oltp": _oltp,
    "wide": _wide,
    "wide-plain": _wide_plain,
    "smalltx": _smalltx,
    "compressed": _wide,
    "compressed-plain": _wide_plain,
    "smalltx-compressed": _smalltx,
}


def files(log: Path) -> list[Path]:
    """The files of what ``make`` made, in their order."""
    return sorted(log.iterdir()) if log.is_dir() else [log]


def make(name: str, folder: Path, share: float = 1.0) -> Path:
    """The log ``name`` below ``folder``, made unless it is there; ``share`` of its full size.

    A folder of files where it has more than the server writes into one (1 GB).
    """
    path = folder / f"{name}-{share:g}.binlog"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    options = dict(_OPTIONS)
    if "compressed" in name:
        options["binlog-transaction-compression"] = "ON"
    with start(ServerSpec("8.0", options)) as server:
        server.query("CREATE DATABASE bench")
        server.query("FLUSH BINARY LOGS")
        before = len(server.binlog_names())
        with server.connect(database="bench") as session, session.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00', timestamp = 1700000000")
            for statement in _STATEMENTS[name](share):
                cursor.execute(statement)
        server.query("FLUSH BINARY LOGS")
        made = [server.copy_binlog(log, folder) for log in server.binlog_names()[before - 1 : -1]]
    if len(made) == 1:
        return made[0].rename(path)
    path.mkdir()
    for file in made:
        file.rename(path / file.name)
    return path


def main() -> None:
    """Make the logs named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(NAMES))
    parser.add_argument("--out", type=Path, default=Path("out/bench/logs"))
    parser.add_argument("--share", type=float, default=1.0)
    wanted = parser.parse_args()
    for name in wanted.names or NAMES:
        path = make(name, wanted.out, wanted.share)
        print(f"{path}: {sum(f.stat().st_size for f in files(path)):,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
