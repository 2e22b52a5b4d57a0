"""Ordinary days of a shop on a real server, told by a clock of their own, in which an incident can
be planted.

Sessions of a pool serve customers; beside them run what crowds real logs: jobs by the hour, a
nightly import into a staging table, a nightly purge of old rows, in one statement or in pieces,
RDS's heartbeat as text, and copies of tables as gh-ost and pt-online-schema-change make them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
from pymysql.constants import CLIENT

from binlogkit_fixtures.servers import Server

BEGIN = 1_717_200_000  # 2024-06-01 00:00 UTC
DAY, HOUR = 86_400, 3_600
POOL = 6
TABLES = {
    "customers": "id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(60), city VARCHAR(20),"
    " points INT NOT NULL DEFAULT 0, KEY (city)",
    "products": "id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(8,2), stock INT, active"
    " TINYINT NOT NULL DEFAULT 1",
    "orders": "id INT AUTO_INCREMENT PRIMARY KEY, customer INT, status VARCHAR(10), total"
    " DECIMAL(10,2), placed DATETIME, changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON"
    " UPDATE CURRENT_TIMESTAMP, KEY (status), KEY (customer)",
    "items": "order_id INT, line INT, product INT, qty INT, price DECIMAL(8,2), PRIMARY KEY"
    " (order_id, line)",
    "carts": "id INT AUTO_INCREMENT PRIMARY KEY, customer INT, product INT, at DATETIME, KEY"
    " (customer)",
    "visits": "id INT AUTO_INCREMENT PRIMARY KEY, customer INT, path VARCHAR(60), at DATETIME, KEY"
    " (at)",
    "coupons": "code CHAR(8) PRIMARY KEY, percent INT, used INT NOT NULL DEFAULT 0",
    "feed": "id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(8,2)",
}
Action = Callable[[], None]


class Days:
    """The days: actions by time, run in their order.

    ``chance``: what happens; ``days``, ``hourly``: how many, and how much of an hour; ``size``: how
    many orders there are at first. ``hurt``: since something happened the shop may meet errors.
    """

    hurt = False

    def __init__(
        self, server: Server, chance: random.Random, *, days: int, hourly: int, size: int
    ) -> None:
        self._server, self.chance, self.days = server, chance, days
        self.size, self._hourly, self.now = size, hourly, BEGIN
        self._pool = [self.session() for _ in range(POOL)]
        self._heart = self.session()
        self.run(self._heart, "SET binlog_format = STATEMENT")
        self._agenda: list[tuple[float, int, Action]] = []
        self._customers, self._products = size // 2, 200

    def session(self) -> Any:
        """A new connection."""
        flags = CLIENT.MULTI_STATEMENTS
        return self._server.connect(client_flag=flags, init_command="SET time_zone = '+00:00'")

    def run(self, session: Any, *statements: str) -> None:
        """Statements at the present time of the days."""
        with session.cursor() as cursor:
            cursor.execute(f"SET timestamp = {self.now}; " + "; ".join(statements))
            while cursor.nextset():
                pass

    def transaction(self, session: Any, *statements: str) -> None:
        """Statements in one transaction."""
        self.run(session, "BEGIN", *statements, "COMMIT")

    def at(self, time: float, action: Action) -> None:
        """Plan an action, in seconds from the beginning."""
        self._agenda.append((time, len(self._agenda), action))

    def make(self) -> None:
        """The tables with their rows, of days before."""
        first = self._pool[0]
        self.run(first, "CREATE DATABASE shop", "CREATE DATABASE legacy", "USE shop")
        self.run(first, *(f"CREATE TABLE {name} ({text})" for name, text in TABLES.items()))
        self.run(first, "CREATE TABLE legacy.notes (id INT PRIMARY KEY, t TEXT)",
                 "CREATE TABLE IF NOT EXISTS mysql.rds_heartbeat2 (id INT PRIMARY KEY, value"
                 " BIGINT)")  # fmt: skip
        for session in self._pool[1:]:
            self.run(session, "USE shop")
        size = self.size
        numbers = (
            "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"
            " SELECT i FROM n) AS n"
        )
        self.run(
            first,
            f"SET cte_max_recursion_depth = {10 * size}",
            "INSERT INTO customers SELECT i, CONCAT('c', i, '@example.org'), ELT(1 + i % 7, 'Köln',"
            " 'Lyon', 'Oslo', 'Bari', 'Łódź', 'Cork', 'Graz'), i % 90 FROM"
            f" {numbers.format(size // 2)}",
            "INSERT INTO products SELECT i, CONCAT('p', i), i * 7 % 300 + 0.99, 500, 1 FROM"
            f" {numbers.format(200)}",
            f"INSERT INTO orders SELECT i, 1 + i * 13 % {size // 2}, ELT(1 + i % 4, 'sent', 'sent',"
            f" 'paid', 'new'), i * 31 % 500 + 0.5, FROM_UNIXTIME({BEGIN} - ({size} - i) * 60),"
            f" NOW() FROM {numbers.format(size)}",
            f"INSERT INTO items SELECT i, 1, 1 + i % 200, 1 + i % 3, i * 7 % 300 + 0.99 FROM"
            f" {numbers.format(size)}",
            f"INSERT INTO visits SELECT i, i % 100, '/', FROM_UNIXTIME({BEGIN} - {10 * DAY} + i *"
            f" {10 * DAY // (3 * size)}) FROM {numbers.format(3 * size)}",
            f"INSERT INTO carts SELECT i, 1 + i % {size // 2}, 1 + i % 200, NOW() FROM"
            f" {numbers.format(size // 4)}",
            f"INSERT INTO coupons SELECT LPAD(HEX(i * 7919), 8, '0'), i % 50, 0 FROM"
            f" {numbers.format(60)}",
            f"INSERT INTO feed SELECT i, CONCAT('f', i), i % 100 FROM {numbers.format(size // 5)}",
            "INSERT INTO legacy.notes VALUES (1, 'a'), (2, 'b')",
        )  # fmt: skip

    def plan(self) -> None:
        """What happens on ordinary days."""
        chance = self.chance
        for hour in range(24 * self.days):
            busy = self._hourly * (0.2 if hour % 24 < 6 else 1.0)
            for _ in range(int(busy)):
                kind = chance.choice([self._order, self._order, self._pay, self._cart, self._visit,
                                      self._visit, self._leave, self._coupon])  # fmt: skip
                self.at((hour + chance.random()) * HOUR, kind)
            self.at((hour + 0.9) * HOUR, self._ship)
        for beat in range(12 * 24 * self.days):
            self.at(beat * 300, self._heartbeat)
        pieces, points = chance.random() < 0.5, chance.random() < 0.5
        for day in range(self.days):
            self.at(day * DAY + 2 * HOUR, self._import)
            self.at(day * DAY + 3 * HOUR, self._purge_pieces if pieces else self._purge)
            if points:
                self.at(day * DAY + 4 * HOUR, self._points)
        copies = [self._gh_ost, self._pt_osc]
        for copy in chance.sample(copies, chance.randint(0, 2)):
            self.at(chance.uniform(0.1, 0.8) * self.days * DAY, copy)

    def live(self) -> None:
        """Run everything that was planned."""
        for time, _, action in sorted(self._agenda, key=lambda item: item[:2]):
            self.now = BEGIN + int(time)
            try:
                action()
            except pymysql.Error:
                if not self.hurt:
                    raise
                for session in self._pool:  # an application rolls back what met an error
                    session.rollback()

    def close(self) -> None:
        """Close the pool's connections."""
        for session in (*self._pool, self._heart):
            session.close()

    # ---- customers ------------------------------------------------------------------------------

    def _one(self) -> Any:
        return self.chance.choice(self._pool)

    def _customer(self) -> int:
        return self.chance.randint(1, self._customers)

    def _order(self) -> None:
        lines = self.chance.randint(1, 5)
        products = self.chance.sample(range(1, self._products + 1), lines)
        items = ", ".join(f"(@o, {n}, {p}, 1, 9.99)" for n, p in enumerate(products, 1))
        self.transaction(
            self._one(),
            "INSERT INTO orders (customer, status, total, placed) VALUES"
            f" ({self._customer()}, 'new', {self.chance.randint(5, 900)}, NOW())",
            "SET @o = LAST_INSERT_ID()",
            f"INSERT INTO items VALUES {items}",
            f"UPDATE products SET stock = stock - 1 WHERE id IN ({', '.join(map(str, products))})",
        )

    def _pay(self) -> None:
        self.transaction(
            self._one(),
            "UPDATE orders SET status = 'paid' WHERE status = 'new' ORDER BY id DESC LIMIT"
            f" {self.chance.randint(1, 3)}",
        )

    def _cart(self) -> None:
        self.run(self._one(), "INSERT INTO carts (customer, product, at) VALUES"
                 f" ({self._customer()}, {self.chance.randint(1, 200)}, NOW())")  # fmt: skip

    def _visit(self) -> None:
        rows = ", ".join(f"({self._customer()}, '/p', NOW())" for _ in range(3))
        self.run(self._one(), f"INSERT INTO visits (customer, path, at) VALUES {rows}")

    def _leave(self) -> None:
        many = self.chance.randint(1, 4)
        self.run(
            self._one(), f"DELETE FROM carts ORDER BY id DESC LIMIT {many}",
            f"UPDATE customers SET points = points + 1 WHERE id = {self._customer()}",
        )  # fmt: skip

    def _coupon(self) -> None:
        self.run(
            self._one(), f"UPDATE coupons SET used = used + 1 ORDER BY code DESC LIMIT"
            f" {self.chance.randint(1, 2)}"
        )  # fmt: skip

    # ---- jobs -----------------------------------------------------------------------------------

    def alone(self, *statements: str, settings: str = "") -> None:
        """Statements of a connection of their own."""
        session = self.session()
        self.run(session, "USE shop", *([settings] if settings else []), *statements)
        session.close()

    def _ship(self) -> None:
        many = self.chance.randint(10, 40)
        self.alone(f"UPDATE orders SET status = 'sent' WHERE status = 'paid' LIMIT {many}")

    def _heartbeat(self) -> None:
        self.run(
            self._heart,
            f"INSERT INTO mysql.rds_heartbeat2 (id, value) VALUES (1, {self.now}000) ON DUPLICATE"
            f" KEY UPDATE value = {self.now}000",
        )

    def _import(self) -> None:
        many = self.size // 5 + self.chance.randint(0, 50)
        rows = ", ".join(f"({i}, 'feed {i}', {i * 7 % 100})" for i in range(1, many))
        self.alone("TRUNCATE TABLE feed", f"INSERT INTO feed VALUES {rows}")

    def _purge(self) -> None:
        self.alone(f"DELETE FROM visits WHERE at < FROM_UNIXTIME({self.now - 8 * DAY})")

    def _purge_pieces(self) -> None:
        session = self.session()
        self.run(session, "USE shop")
        with session.cursor() as cursor:
            done = 200
            while done == 200:
                done = cursor.execute(
                    f"DELETE FROM visits WHERE at < FROM_UNIXTIME({self.now - 8 * DAY}) ORDER BY id"
                    " LIMIT 200"
                )
        session.close()

    def _points(self) -> None:
        city = self.chance.choice(["Köln", "Lyon", "Oslo"])
        self.alone(f"UPDATE customers SET points = points + 10 WHERE city = '{city}'")

    def _copied(self, table: str, copy: str) -> Iterator[str]:
        for low in range(1, self.size * 2, 1000):
            yield (
                f"INSERT LOW_PRIORITY IGNORE INTO {copy} SELECT *, NULL FROM {table} FORCE INDEX"
                f" (PRIMARY) WHERE id BETWEEN {low} AND {low + 999} LOCK IN SHARE MODE"
            )

    def _gh_ost(self) -> None:
        other = self.session()
        self.run(other, "USE shop",
                 "CREATE /* gh-ost */ TABLE _carts_ghc (id BIGINT AUTO_INCREMENT PRIMARY KEY,"
                 " hint VARCHAR(64) UNIQUE, value VARCHAR(255))",
                 "CREATE /* gh-ost */ TABLE _carts_gho LIKE carts",
                 "ALTER /* gh-ost */ TABLE _carts_gho ADD COLUMN note VARCHAR(20)")  # fmt: skip
        for number, chunk in enumerate(self._copied("carts", "_carts_gho")):
            beat = f"'beat', {number}"
            self.run(other, f"INSERT INTO _carts_ghc (hint, value) VALUES ({beat}) ON DUPLICATE KEY"
                     f" UPDATE value = {number}", chunk)  # fmt: skip
        self.run(other, "RENAME /* gh-ost */ TABLE carts TO _carts_del, _carts_gho TO carts")
        self.run(other, "DROP /* gh-ost */ TABLE IF EXISTS _carts_ghc",
                 "DROP /* gh-ost */ TABLE IF EXISTS _carts_del")  # fmt: skip
        other.close()

    def _pt_osc(self) -> None:
        triggers = ("del", "upd", "ins")
        bodies = {
            "del": "AFTER DELETE ON customers FOR EACH ROW DELETE IGNORE FROM _customers_new WHERE"
            " id = OLD.id",
            "upd": "AFTER UPDATE ON customers FOR EACH ROW REPLACE INTO _customers_new (id, email,"
            " city, points) VALUES (NEW.id, NEW.email, NEW.city, NEW.points)",
            "ins": "AFTER INSERT ON customers FOR EACH ROW REPLACE INTO _customers_new (id, email,"
            " city, points) VALUES (NEW.id, NEW.email, NEW.city, NEW.points)",
        }
        self.alone(
            "CREATE TABLE _customers_new LIKE customers",
            "ALTER TABLE _customers_new ADD COLUMN vip TINYINT",
            *(f"CREATE TRIGGER pt_osc_shop_customers_{t} {bodies[t]}" for t in triggers),
            *self._copied("customers", "_customers_new"),
            "RENAME TABLE customers TO _customers_old, _customers_new TO customers",
            "DROP TABLE IF EXISTS _customers_old",
            *(f"DROP TRIGGER IF EXISTS pt_osc_shop_customers_{t}" for t in triggers),
        )
