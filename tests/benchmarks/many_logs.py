"""Ten thousand logs of five servers, made from the few that a real one wrote.

    python tests/benchmarks/many_logs.py [--logs 10000] [--out out/bench/many]

A real 8.0 server plays one story over 24 logs of mixed sizes: it makes two tables, fills and
changes them, adds a column half way. Each log is copied with what makes it another server's and
another hour's: UUID and number of each GTID, PREVIOUS_GTIDS, the next log's name, times, server
ids, positions, checksums, the database's name. The story begins by dropping its tables, so that it
ends with the same rows each time it is told.

Servers ``a``, ``b`` and ``c`` have a fifth of the logs each. ``d`` fails after four fifths of its
own; ``e``, its replica until then, has copies of all of them, with ``d``'s GTIDs, and goes on.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import uuid
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from binlogkit.constants import BINLOG_MAGIC, CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit_fixtures.servers import ServerSpec, start

HOUR = 3600
_DATABASE = b"shop_0"
_OPTIONS = {
    "binlog-format": "ROW",
    "gtid-mode": "ON",
    "enforce-gtid-consistency": "ON",
    "sync-binlog": "0",
    "innodb-flush-log-at-trx-commit": "0",
    "default-time-zone": "+00:00",
}
#: Transactions of each log: most logs are small, a few hold most of the bytes.
_SIZES = (
    40,
    3,
    12,
    5,
    400,
    8,
    25,
    3,
    60,
    1500,
    10,
    4,
    30,
    6,
    800,
    15,
    3,
    9,
    120,
    5,
    6000,
    20,
    7,
    50,
)
_TABLES = (
    "CREATE TABLE customers (id INT UNSIGNED PRIMARY KEY, name VARCHAR(60) CHARACTER SET utf8mb4, "
    "since DATE, UNIQUE (name))",
    "CREATE TABLE orders (id BIGINT UNSIGNED PRIMARY KEY, customer INT UNSIGNED, "
    "total DECIMAL(12,2), status ENUM('new','paid','sent','void'), note VARCHAR(200) "
    "CHARACTER SET utf8mb4, placed DATETIME(3))",
)
_ALTER = "ALTER TABLE orders ADD COLUMN weight INT NULL"


@dataclass
class Story:
    """What a server wrote: ``logs``, how many transactions with GTIDs stand before the first of
    them and in each, ``rows`` by table and operation, ``ends``: the tables' rows in the end."""

    logs: list[bytes] = field(default_factory=list)
    before: int = 0
    gtids: list[int] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    ends: dict[str, list[list[str | None]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A server of the many: ``base``: the number of its first GTID, less one."""

    name: str
    server_id: int
    sid: bytes
    database: bytes


def sources() -> dict[str, Source]:
    """The five servers; ``e`` has ``d``'s database."""
    found = {}
    for i, name in enumerate("abcde", 1):
        sid = uuid.UUID(f"{i:08d}-0000-4000-8000-{i:012d}").bytes
        found[name] = Source(name, 100 + i, sid, b"shop_%d" % min(i, 4))
    return found


# ---- the story -----------------------------------------------------------------------------------


def play() -> Story:
    """Let a real server write the story."""
    story, chance = Story(), random.Random(20240514)
    with start(ServerSpec("8.0", _OPTIONS)) as server:
        server.query("CREATE DATABASE shop_0")
        server.query("FLUSH BINARY LOGS")
        first = len(server.binlog_names())
        executed = server.query("SELECT @@global.gtid_executed")[0][0]
        story.before = int(executed.replace("-", ":").rpartition(":")[2])
        orders, next_order = list[int](), 1
        with server.connect(database="shop_0", autocommit=False) as session:
            cursor = session.cursor()

            def change(table: str, op: str, sql: str, values: tuple[object, ...]) -> None:
                story.rows[f"{table} {op}"] += cursor.execute(sql, values)

            for number, transactions in enumerate(_SIZES):
                if number == 0:
                    cursor.execute("DROP TABLE IF EXISTS orders, customers")
                    for statement in _TABLES:
                        cursor.execute(statement)
                    for i in range(200):
                        change(
                            "customers", "insert", "INSERT INTO customers VALUES (%s, %s, %s)",
                            (i, f"Kündin {i}", f"20{i % 25:02}-01-01"),
                        )  # fmt: skip
                    session.commit()
                if number == len(_SIZES) // 2:
                    cursor.execute(_ALTER)
                for _ in range(transactions):
                    for _ in range(chance.randint(1, 4)):
                        how = chance.random()
                        if how < 0.5 or len(orders) < 10:
                            change(
                                "orders", "insert", "INSERT INTO orders (id, customer, total, "
                                "status, note, placed) VALUES (%s, %s, %s, 'new', %s, %s)",
                                (next_order, chance.randrange(200), chance.randrange(10**6) / 100,
                                 "ü" * chance.randrange(80), f"2024-05-14 10:00:{next_order % 60}"),
                            )  # fmt: skip
                            orders.append(next_order)
                            next_order += 1
                        elif how < 0.9:
                            change(
                                "orders", "update",
                                "UPDATE orders SET status = 1 + status %% 4, total = total + %s "
                                "WHERE id = %s", (chance.randint(1, 9), chance.choice(orders)),
                            )  # fmt: skip
                        else:
                            gone = orders.pop(chance.randrange(len(orders)))
                            change("orders", "delete", "DELETE FROM orders WHERE id = %s", (gone,))
                    session.commit()
                session.query("FLUSH BINARY LOGS")
            for table in ("customers", "orders"):
                cursor.execute(f"SELECT * FROM {table} ORDER BY id")
                story.ends[table] = [[*map(_text, row)] for row in cursor.fetchall()]
        names = server.binlog_names()[first - 1 : first - 1 + len(_SIZES)]
        story.logs = [server.read_file(name) for name in names]
    for log in story.logs:
        codes = [data[4] for data in _events(log)]
        story.gtids.append(codes.count(EventType.GTID_LOG_EVENT))
    return story


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _events(log: bytes) -> Iterator[bytes]:
    at = len(BINLOG_MAGIC)
    while at < len(log):
        (size,) = struct.unpack_from("<I", log, at + 9)
        yield log[at : at + size]
        at += size


# ---- its copies ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copy:
    """A log of the story as another one: ``writer``: who has it, ``origin``: whose changes it has,
    whose GTIDs begin after ``gno``; ``previous``: those before it; ``seconds`` later;
    ``following``: the next log's name."""

    writer: Source
    origin: Source
    gno: int
    previous: tuple[tuple[bytes, int], ...]
    seconds: int
    following: str


def copied(log: bytes, copy: Copy, before: int) -> bytes:
    """The log of a copy; ``before``: the last GTID before this log in the story."""
    made = bytearray(BINLOG_MAGIC)
    for event in _events(log):
        made += _copied(event, copy, before, len(made))
    return bytes(made)


def _copied(event: bytes, copy: Copy, before: int, at: int) -> bytes:
    code = event[4]
    made = bytearray(event[:-CHECKSUM_LENGTH])
    own = code in (
        EventType.FORMAT_DESCRIPTION_EVENT, EventType.PREVIOUS_GTIDS_LOG_EVENT,
        EventType.ROTATE_EVENT,
    )  # fmt: skip
    if code == EventType.PREVIOUS_GTIDS_LOG_EVENT:
        made[HEADER_LENGTH:] = struct.pack("<Q", len(copy.previous)) + b"".join(
            sid + struct.pack("<QQQ", 1, 1, last + 1) for sid, last in sorted(copy.previous)
        )
    elif code == EventType.GTID_LOG_EVENT:
        made[HEADER_LENGTH + 1 : HEADER_LENGTH + 17] = copy.origin.sid
        (gno,) = struct.unpack_from("<q", made, HEADER_LENGTH + 17)
        struct.pack_into("<q", made, HEADER_LENGTH + 17, gno - before + copy.gno)
        commit = HEADER_LENGTH + 42  # after lt_type, last_committed, sequence_number
        told = int.from_bytes(made[commit : commit + 7], "little") + copy.seconds * 1_000_000
        made[commit : commit + 7] = told.to_bytes(7, "little")
    elif code == EventType.ROTATE_EVENT:
        made[HEADER_LENGTH + 8 :] = copy.following.encode()
    elif code == EventType.FORMAT_DESCRIPTION_EVENT:
        created = HEADER_LENGTH + 2 + 50
        (when,) = struct.unpack_from("<I", made, created)
        struct.pack_into("<I", made, created, when and when + copy.seconds)
    else:
        made = made.replace(_DATABASE, copy.origin.database)
    (timestamp,) = struct.unpack_from("<I", made)
    size = len(made) + CHECKSUM_LENGTH
    struct.pack_into("<I", made, 0, timestamp + copy.seconds)
    struct.pack_into(
        "<III", made, 5, (copy.writer if own else copy.origin).server_id, size, at + size
    )
    return bytes(made) + struct.pack("<I", zlib.crc32(made))


def copies(count: int, gtids: list[int]) -> Iterator[tuple[str, int, Copy]]:
    """The path, the story's log and the copy of each of ``count`` logs."""
    known = sources()
    each = count // 5
    failed = each * 4 // 5 // len(gtids) * len(gtids)  # a story is not cut in two
    shares = {"a": each, "b": each, "c": each, "d": failed, "e": count - 3 * each - failed}
    for name, share in shares.items():
        done: dict[bytes, int] = {}
        for number in range(share):
            log = number % len(gtids)
            taken_over = name == "e" and number >= failed
            origin = known["d"] if name == "e" and not taken_over else known[name]
            last = done.get(origin.sid, 0)
            following = f"binlog.{number + 2:06}"
            seconds = number // len(gtids) * HOUR
            previous = tuple(done.items())
            yield (
                f"{name}/binlog.{number + 1:06}", log,
                Copy(known[name], origin, last, previous, seconds, following),
            )  # fmt: skip
            done[origin.sid] = last + gtids[log]


def make(count: int, out: Path) -> Path:
    """Make ``count`` logs below a folder, unless they are there; ``told.json`` says what they hold.

    ``rows``: by table and operation in one telling; ``tellings``: by database how many are whole,
    ``ends``: the tables' rows after each.
    """
    told = out / "told.json"
    if told.exists():
        return told
    story = play()
    counts, sizes, tellings = Counter[str](), 0, Counter[str]()
    firsts = [story.before + sum(story.gtids[:i]) for i in range(len(story.gtids))]
    for path, log, copy in copies(count, story.gtids):
        data = copied(story.logs[log], copy, firsts[log])
        place = out / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        counts[path[0]] += 1
        sizes += len(data)
        own = copy.writer.name == "e" and copy.origin.name == "d"
        if log == len(story.logs) - 1 and not own:
            tellings[copy.origin.database.decode()] += 1
    facts = {
        "logs": counts, "bytes": sizes, "rows": story.rows, "tellings": tellings,
        "gtids": sum(story.gtids), "ends": story.ends,
    }  # fmt: skip
    told.write_text(json.dumps(facts, indent=1), "utf-8")
    return told


def main() -> None:
    """Make them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--logs", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("out/bench/many"))
    given = parser.parse_args()
    facts = json.loads(make(given.logs, given.out).read_text("utf-8"))
    print(f"{given.out}: {facts['logs']}, {facts['bytes']:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
