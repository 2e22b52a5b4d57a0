"""A shop's ordinary load on a real server, sessions beside each other, and what its log then says.

``python tools/ordinary_load.py --series 8.0 --megabytes 1000 --seed 1 --keep out/load``

Nothing happens outside the log, so that ``verify --images`` must find nothing, each table's state
must be determined, and be what the server's SELECT shows.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pymysql

import binlogkit as bk
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec

TABLES = {
    "customers": "id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(80) NOT NULL UNIQUE,"
    " name VARCHAR(60) CHARACTER SET utf8mb4, balance DECIMAL(12,2) NOT NULL DEFAULT 0,"
    " seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP",
    "orders": "id BIGINT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, status"
    " ENUM('new','paid','sent','back') NOT NULL DEFAULT 'new', total DECIMAL(10,2), doc JSON,"
    " note TEXT, made DATETIME(3) NOT NULL, KEY (customer), KEY (status),"
    " FOREIGN KEY (customer) REFERENCES customers (id)",
    "items": "order_id BIGINT, line SMALLINT UNSIGNED, product CHAR(8) NOT NULL, qty INT NOT NULL,"
    " price DECIMAL(8,2), PRIMARY KEY (order_id, line), FOREIGN KEY (order_id)"
    " REFERENCES orders (id)",
    "stock": "product CHAR(8) PRIMARY KEY, on_hand INT NOT NULL, reserved INT NOT NULL DEFAULT 0",
    "sessions": "id BINARY(16) PRIMARY KEY, data BLOB, expires INT UNSIGNED NOT NULL",
    "journal": "what VARCHAR(30), amount DOUBLE, at DATETIME(6)",
}
#: What is compared with SELECT: columns whose texts are the same on both sides.
COMPARED = {
    "customers": "id, email, balance", "orders": "id, customer, status, total, note",
    "items": "order_id, line, product, qty, price", "stock": "product, on_hand, reserved",
    "sessions": "expires", "journal": "what",
}  # fmt: skip
PRODUCTS, SESSIONS = 200, 6
_RETRIED = (1205, 1213)  # a lock was waited for too long, a deadlock


class Shop:
    """The load of one session."""

    def __init__(self, server: Server, seed: int, notes: Counter[str]) -> None:
        self._random, self._notes = Random(seed), notes
        self._connection = server.connect(database="shop", autocommit=False)
        self._cursor = self._connection.cursor()

    def go(self, enough: Callable[[], bool]) -> None:
        """Transactions until there are enough."""
        kinds = [self.order, self.order, self.pay, self.pay, self.session, self.many, self.clean]
        while not enough():
            kind = self._random.choice(kinds)
            try:
                kind()
                if self._random.random() < 0.03:
                    self._connection.rollback()
                    self._notes["rolled back"] += 1
                else:
                    self._connection.commit()
                    self._notes[kind.__name__] += 1
            except pymysql.err.OperationalError as exc:
                if exc.args[0] not in _RETRIED:
                    raise
                self._connection.rollback()
                self._notes["deadlocks"] += 1
        self._connection.close()

    def _do(self, statement: str, *values: object) -> int:
        return int(self._cursor.execute(statement, values))

    def _product(self) -> str:
        return f"P{int(self._random.paretovariate(0.6)) % PRODUCTS:07}"

    def order(self) -> None:
        """A customer orders; now and then less than at first."""
        pick = self._random.randrange(1_000_000)
        self._do(
            "INSERT INTO customers (email, name) VALUES (%s, %s)"
            " ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), balance = balance + 1",
            f"{pick % 20_000}@example.org", "Zoë 🙂"[: pick % 7],
        )  # fmt: skip
        customer = self._cursor.lastrowid
        self._do(
            "INSERT INTO orders (customer, doc, note, made) VALUES (%s, %s, %s, NOW(3))",
            customer, json.dumps({"ip": f"10.0.0.{pick % 256}", "tags": ["x" * (pick % 90)]}),
            None if pick % 3 else "note " * (pick % 300),
        )  # fmt: skip
        order, lines = self._cursor.lastrowid, self._random.randint(1, 12)
        self._do("SAVEPOINT ordered")
        for line in range(lines):
            product = self._product()
            self._do(
                "INSERT INTO items VALUES (%s, %s, %s, 1, %s)",
                order,
                line,
                product,
                pick % 9999 / 100,
            )
            self._do("UPDATE stock SET on_hand = on_hand - 1 WHERE product = %s", product)
            if line == lines // 2 and pick % 20 == 0:
                self._do("ROLLBACK TO SAVEPOINT ordered")
        self._do("UPDATE orders SET total = %s WHERE id = %s", pick % 99999 / 100, order)
        self._do("INSERT INTO journal VALUES ('order', %s, NOW(6))", pick / 7)

    def pay(self) -> None:
        """Some orders are paid or come back."""
        then, now = self._random.choice([("new", "paid"), ("paid", "sent"), ("sent", "back")])
        self._do(
            "UPDATE orders SET status = %s, doc = JSON_SET(doc, '$.status', %s) WHERE status = %s"
            " ORDER BY id LIMIT %s", now, now, then, self._random.randint(1, 40),
        )  # fmt: skip
        self._do("INSERT INTO journal VALUES (%s, 0, NULL)", now)

    def session(self) -> None:
        """Web sessions are written over and over."""
        for _ in range(self._random.randint(1, 20)):
            self._do(
                "REPLACE INTO sessions VALUES (UNHEX(LPAD(HEX(%s), 32, '0')), REPEAT(%s, %s), %s)",
                self._random.randrange(3000), "ab\0c", self._random.randint(0, 700),
                self._random.randrange(1 << 32),
            )  # fmt: skip

    def many(self) -> None:
        """A job changes many rows."""
        low = self._random.randrange(20_000)
        self._do(
            "UPDATE customers SET balance = balance * 1.01 WHERE id BETWEEN %s AND %s",
            low,
            low + 800,
        )
        self._do(
            "UPDATE items SET qty = qty + 1, price = price / 2 WHERE order_id BETWEEN %s AND %s",
            low * 3, low * 3 + 400,
        )  # fmt: skip

    def clean(self) -> None:
        """What is old goes."""
        self._do("DELETE FROM sessions ORDER BY expires LIMIT %s", self._random.randint(0, 40))
        self._do("DELETE FROM journal LIMIT %s", self._random.randint(0, 15))
        if self._random.random() < 0.2:
            self._do("DELETE items FROM items JOIN orders ON id = order_id WHERE status = 'back'")
            self._do(
                "UPDATE orders SET note = NULL WHERE status = 'back' AND note IS NOT NULL LIMIT 500"
            )


def load(server: Server, megabytes: int, seed: int) -> Counter[str]:
    """Let sessions work until the logs are that large; what they did."""
    server.query("CREATE DATABASE shop")
    with (
        server.connect(database="shop", autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        for name, columns in TABLES.items():
            cursor.execute(f"CREATE TABLE {name} ({columns})")
        cursor.execute(
            "CREATE TRIGGER moved AFTER UPDATE ON stock FOR EACH ROW IF NEW.on_hand % 10 = 0 THEN"
            " INSERT INTO journal VALUES (NEW.product, NEW.on_hand, NOW(6)); END IF"
        )
        rows = ", ".join(f"('P{n:07}', 100000, 0)" for n in range(PRODUCTS))
        cursor.execute(f"INSERT INTO stock VALUES {rows}")
    notes, faults = Counter[str](), list[Exception]()
    full = threading.Event()

    def work(number: int) -> None:
        try:
            Shop(server, seed * 100 + number, notes).go(full.is_set)
        except Exception as exc:  # noqa: BLE001 - raised again by the caller
            faults.append(exc)
            full.set()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(SESSIONS)]
    for thread in threads:
        thread.start()
    size, changed = 0, False
    while not full.wait(1.0):
        size = sum(int(row[1]) for row in server.query("SHOW BINARY LOGS"))
        if size > megabytes << 20:
            full.set()
        elif size > megabytes << 19 and not changed:
            changed = True
            server.query(
                "ALTER TABLE shop.orders ADD COLUMN weight INT NOT NULL DEFAULT 7, ALGORITHM=COPY"
            )
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    notes["bytes"] = size
    return notes


def complaints(log: bk.Log, server: Server) -> list[str]:
    """Where the log differs from what happened."""
    verified = log.verify(images=True)
    found = [f"{f.code} {f.place}: {f.found}" for f in verified.findings if f.grade != "note"]
    for table in verified.images:
        print("  ", table.record(), flush=True)
    for name, columns in COMPARED.items():
        began, state = time.process_time(), log.state(f"shop.{name}")
        frame: Any = state.frame()
        have = Counter(map(_text, frame[columns.split(", ")].itertuples(index=False)))
        held = Counter(map(_text, server.query(f"SELECT {columns} FROM shop.{name}")))
        took = time.process_time() - began
        print(
            f"   {name}: {len(frame)} rows, determined {state.determined}, {took:.1f} s", flush=True
        )
        if not state.determined:
            found.append(f"{name} is not determined: {state.findings.to_pylist()[:3]}")
        if have != held:
            found.append(
                f"{name}: {list((have - held).items())[:2]} for {list((held - have).items())[:2]}"
            )
    return found


def _text(row: Sequence[Any]) -> tuple[str | None, ...]:
    return tuple(None if pd.isna(value) else str(value) for value in row)


def main(arguments: Sequence[str] | None = None) -> int:
    """Load a server and check its log; how many complaints there are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--series", default="8.0")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--image", default="FULL")
    parser.add_argument("--keep", default="out/load")
    args = parser.parse_args(arguments)
    out = Path(args.keep) / f"{args.series}-{args.image}-{args.seed}"
    out.mkdir(parents=True, exist_ok=True)
    options: dict[str, str | None] = {
        "binlog-format": "ROW", "binlog-row-image": args.image, "max-binlog-size": "128M",
        "gtid-mode": "ON", "enforce-gtid-consistency": "ON", "innodb-buffer-pool-size": "512M",
        "sync-binlog": "0", "innodb-flush-log-at-trx-commit": "0", "innodb-lock-wait-timeout": "3",
    }  # fmt: skip
    began = time.monotonic()
    with start_server(ServerSpec(args.series, options), "auto", "real")[0] as server:
        notes = load(server, args.megabytes, args.seed)
        files = [str(server.copy_binlog(name, out)) for name in server.binlog_names()]
        made = time.monotonic()
        found = complaints(bk.open(files), server)
    spent = time.monotonic() - made
    print(f"{args.series} {args.image}: {dict(notes)}; {made - began:.0f} + {spent:.0f} s")
    print(*found, f"{len(found)} complaints", sep="\n")
    return len(found)


if __name__ == "__main__":
    sys.exit(main() > 0)
