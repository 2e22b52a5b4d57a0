"""What ALTER TABLE … MODIFY makes of values that are there, each compared with the server's SELECT.

`python tests/truth/type_changes.py [--series 8.0] [--modes loose,strict] [TYPE …]` creates a table
of each type with values at its edges and in the middle, changes it to every other type, and
compares `log.state` with the rows that the server has then. It prints what differs, and how many
tables are exact, how many have unknown cells or no known row, and which changes those are. Status 1
where a cell that the state tells is another one on the server.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

sys.path.insert(0, str(Path(__file__).parents[2]))

import binlogkit as bk
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec
from binlogkit_fixtures.truth import read_tables
from tests.truth.truth_checks import judge_state

MODES = {"loose": "", "strict": "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE"}
_TEXTS = ("''", "'a'", "'B '", "'12'", "'-7.55'", "'2024-02-29 12:34:56.789'", "'Größe'")
_NUMBERS = ("0", "1", "-1", "12", "127", "-128")
_MOMENTS = ("'2024-02-29 12:34:56.789999'", "'1999-12-31 23:59:59.499999'", "'2000-01-01'")

#: Types to change from and to, and values of each.
TYPES: Mapping[str, Sequence[str]] = {
    "TINYINT": _NUMBERS,
    "TINYINT UNSIGNED": ("0", "1", "200", "255"),
    "SMALLINT": (*_NUMBERS, "32767", "-32768"),
    "MEDIUMINT UNSIGNED": ("0", "1", "16777215"),
    "INT": (*_NUMBERS, "2147483647", "-2147483648", "20240229", "2024"),
    "INT UNSIGNED": ("0", "7", "4294967295"),
    "BIGINT": (*_NUMBERS, "9223372036854775807", "20240229123456"),
    "BIGINT UNSIGNED": ("0", "18446744073709551615"),
    "DECIMAL(10,2)": ("0", "1.5", "-12345678.99", "99999999.99", "2.45"),
    "DECIMAL(12,4)": ("0", "1.5", "-12345678.9999", "0.0050", "0.0049"),
    "DECIMAL(5,0)": ("0", "12", "-99999"),
    "FLOAT": ("0", "1.5", "-0.1", "3.4e38", "16777216"),
    "DOUBLE": ("0", "1.5", "-0.1", "1e300", "123456789.125"),
    "BIT(1)": ("b'0'", "b'1'"),
    "BIT(17)": ("b'0'", "b'1'", "b'11111111111111111'"),
    "YEAR": ("0", "1999", "2155"),
    "DATE": ("'2024-02-29'", "'1000-01-01'", "'9999-12-31'"),
    "TIME": ("'12:34:56'", "'-838:59:59'", "'838:59:59'", "'00:00:00'"),
    "TIME(3)": ("'12:34:56.789'", "'-00:00:00.001'", "'23:59:59.999'"),
    "DATETIME": _MOMENTS,
    "DATETIME(3)": _MOMENTS,
    "DATETIME(6)": _MOMENTS,
    "TIMESTAMP NULL": _MOMENTS,
    "TIMESTAMP(6) NULL": _MOMENTS,
    "CHAR(10)": _TEXTS[:5],
    "CHAR(30)": _TEXTS,
    "VARCHAR(30)": _TEXTS,
    "VARCHAR(60)": _TEXTS,
    "VARCHAR(30) CHARACTER SET latin1": _TEXTS,
    "VARCHAR(30) CHARACTER SET utf8": _TEXTS,
    "VARCHAR(30) CHARACTER SET utf16": _TEXTS,
    "VARCHAR(300)": (*_TEXTS, "REPEAT('é', 255)"),
    "TEXT": _TEXTS,
    "TINYTEXT": _TEXTS,
    "LONGTEXT CHARACTER SET latin1": _TEXTS,
    "BINARY(8)": ("''", "'a'", "0x00FF", "'12'"),
    "BINARY(12)": ("''", "'a'", "0x00FF", "'12'"),
    "VARBINARY(30)": ("''", "'a '", "0x00FF", "'12'", "0xC3A9"),
    "BLOB": ("''", "'a '", "0x00FF", "'12'", "0xC3A9"),
    "LONGBLOB": ("''", "'a '", "0x00FF"),
    "ENUM('a','b','12')": ("'a'", "'b'", "'12'"),
    "ENUM('b','a','12','c')": ("'a'", "'c'", "'12'"),
    "ENUM('A','B')": ("'A'", "'B'"),
    "SET('a','b','12')": ("''", "'a'", "'b,12'", "'a,b,12'"),
    "SET('12','b','a','d')": ("''", "'a'", "'12,a'", "'b,d'"),
    "JSON": ("'1'", "'\"a\"'", "'{\"k\": [1, 2.50]}'", "'null'"),
}


@dataclass(frozen=True)
class Change:
    """A table whose column of a type became one of another."""

    db: str
    table: str
    old: str
    new: str
    mode: str
    nullable: bool


def _played(session: Any, db: str, old: str, modes: Sequence[str]) -> Iterator[Change]:
    """Every change of a type that the server takes; each table has one."""
    number = 0
    values = list(TYPES[old])
    for mode in modes:
        for new in TYPES:
            for nullable in (True, False):
                number += 1
                table = f"t{number}"
                name = f"{db}.{table}"
                session.execute("SET sql_mode = ''")
                session.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, v {old})")
                rows = [*values, "NULL"] if nullable or mode == "loose" else values
                for i, value in enumerate(rows):
                    session.execute(f"INSERT INTO {name} VALUES ({i}, {value})")
                session.execute(f"SET sql_mode = '{MODES[mode]}'")
                null = "" if nullable else "NOT NULL"
                wanted = new.removesuffix(" NULL") if null else new
                try:
                    session.execute(f"ALTER TABLE {name} MODIFY v {wanted} {null}")
                except pymysql.MySQLError:
                    session.execute(f"DROP TABLE {name}")
                    continue
                yield Change(db, table, old, new, mode, nullable)


def compare(
    server: Server, types: Sequence[str], modes: Sequence[str], folder: Path
) -> tuple[list[str], Counter[str]]:
    """What differs, and how many changes are exact, unknown or undetermined."""
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    with server.connect(database=None) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        for number, old in enumerate(types):
            db = f"d{number}"
            cursor.execute(f"CREATE DATABASE {db}")
            changes = list(_played(cursor, db, old, modes))
            cursor.execute("SET sql_mode = ''")
            tables = read_tables(connection, [db])
            names = server.binlog_names()
            cursor.execute("FLUSH BINARY LOGS")
            log = bk.open(str(server.copy_binlog(names[-1], folder)))
            states = log.states([f"{change.db}.{change.table}" for change in changes])
            for change, state in zip(changes, states, strict=True):
                told, verdict = _judged(state, change, tables)
                wrong += told
                for text in told:
                    print(text, flush=True)
                counts[verdict] += 1
                if verdict != "exact":
                    counts[f"{verdict}: {change.old} -> {change.new}"] += 1
    return wrong, counts


def _judged(
    state: bk.TableState, change: Change, tables: Mapping[str, Any]
) -> tuple[list[str], str]:
    notes: Counter[str] = Counter()
    table = tables[f"{change.db}.{change.table}"]
    found = list(judge_state(state, table, f"{change.db}.{change.table}", notes))
    null = "" if change.nullable else " NOT NULL"
    told = [f"{change.old} -> {change.new}{null}, {change.mode}: {text}" for text in found]
    if told:
        return told, "wrong"
    if notes["rows determined"] < notes["rows"]:
        return [], "undetermined"
    return [], "unknown" if notes["unknown cells"] else "exact"


def main() -> int:
    """Compare what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("types", nargs="*", help="to change from; all by default")
    parser.add_argument("--series", default="8.0")
    parser.add_argument("--modes", default="loose,strict")
    wanted = parser.parse_args()
    types = wanted.types or list(TYPES)
    options = {"log-bin": "binlog", "binlog-format": "ROW", "sync-binlog": "0"}
    options |= {"innodb-flush-log-at-trx-commit": "0"}
    server = start_server(ServerSpec(wanted.series, options), "auto", "real")[0]
    with server, tempfile.TemporaryDirectory() as out:
        wrong, counts = compare(server, types, wanted.modes.split(","), Path(out))
    for verdict, count in sorted(counts.items()):
        print(f"{count:6} {verdict}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
