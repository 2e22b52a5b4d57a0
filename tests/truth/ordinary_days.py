"""Ordinary days of a service with many tenants, on a real server, told by a clock of their own.

A pool of connections serves users: orders, payments, sessions, a queue, counters. Beside it run
the jobs that crowd real logs: purges, imports, archives, statistics and month ends that write whole
tables, partitions that rotate, a deployment, RDS's heartbeat as text, and online schema changes
(:mod:`.online_ddl`). Chance decides which jobs a service has, when, and how they are written.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pymysql
from pymysql.constants import CLIENT

from binlogkit_fixtures.servers import Server
from tests.truth.online_ddl import online_ddl

BEGIN = 1_717_200_000  # 2024-06-01 00:00 UTC
DAY, HOUR, MINUTE = 86_400, 3_600, 60
POOL = 8
TENANTS = 40
_STAMP = "updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"
TABLES = {
    "users": "id INT AUTO_INCREMENT PRIMARY KEY, tenant_id INT NOT NULL, email VARCHAR(80), name"
    " VARCHAR(80), phone VARCHAR(20), role VARCHAR(10) NOT NULL DEFAULT 'user', active TINYINT NOT"
    f" NULL DEFAULT 1, points INT NOT NULL DEFAULT 0, deleted_at DATETIME, {_STAMP}, KEY"
    " (tenant_id)",
    "products": "id INT AUTO_INCREMENT PRIMARY KEY, tenant_id INT NOT NULL, sku VARCHAR(20), name"
    " VARCHAR(60), category INT, price DECIMAL(10,2), stock INT, KEY (tenant_id)",
    "orders": "id INT AUTO_INCREMENT PRIMARY KEY, tenant_id INT NOT NULL, user_id INT NOT NULL,"
    " status VARCHAR(12) NOT NULL, total DECIMAL(10,2), placed_at DATETIME, deleted_at DATETIME,"
    f" {_STAMP}, KEY (tenant_id), KEY (user_id)",
    "items": "order_id INT, line INT, product_id INT, qty INT, price DECIMAL(10,2), PRIMARY KEY"
    " (order_id, line)",
    "sessions": "token CHAR(32) PRIMARY KEY, user_id INT, data VARCHAR(200), expires_at DATETIME,"
    " KEY (expires_at)",
    "queue": "id BIGINT AUTO_INCREMENT PRIMARY KEY, kind VARCHAR(20), payload VARCHAR(200),"
    " attempts INT NOT NULL DEFAULT 0, reserved_at DATETIME",
    "events": "id BIGINT AUTO_INCREMENT PRIMARY KEY, user_id INT, path VARCHAR(60), at DATETIME,"
    " KEY (at)",
    "mails": "id INT AUTO_INCREMENT PRIMARY KEY, user_id INT, subject VARCHAR(60), sent_at"
    " DATETIME",
    "mails_archive": "id INT PRIMARY KEY, user_id INT, subject VARCHAR(60), sent_at DATETIME",
    "counters": "name VARCHAR(20) PRIMARY KEY, value BIGINT NOT NULL",
    "accounts": "id INT PRIMARY KEY, tenant_id INT, balance DECIMAL(12,2), interest DECIMAL(12,4)"
    " NOT NULL DEFAULT 0, month CHAR(7)",
    "payments": "id INT AUTO_INCREMENT PRIMARY KEY, account_id INT, amount DECIMAL(10,2), ref"
    " VARCHAR(20), booked_on DATE",
    "user_stats": "user_id INT PRIMARY KEY, orders INT, spent DECIMAL(12,2), computed_at DATETIME",
    "feed": "sku VARCHAR(20) PRIMARY KEY, name VARCHAR(60), price DECIMAL(10,2)",
    "coupons": "id INT PRIMARY KEY, code VARCHAR(12), percent INT, used INT NOT NULL DEFAULT 0",
    "coupon_uses": "id INT AUTO_INCREMENT PRIMARY KEY, coupon_id INT, order_id INT, FOREIGN KEY"
    " (coupon_id) REFERENCES coupons (id)",
    "metrics": "day INT, host INT, value INT, PRIMARY KEY (day, host)",
}
_TENANT = f"1 + FLOOR(POW(i * 7919 % 1000 / 1000, 2) * {TENANTS})"
_NAMES = "'Zoë Martin', 'Łukasz Nowak', 'Anna Berg', 'José Peña', 'Mary Hill', 'Jörg Weiß', 'Li Na'"
_STATES = "'sent', 'sent', 'sent', 'sent', 'paid', 'new', 'returned'"
Action = Callable[[], None]


class Days:
    """The days: actions by time, run in their order.

    ``chance``: what happens; ``days``, ``hourly``: how many, and how many transactions of users in
    a busy hour; ``size``: how many orders there are at first. ``hurt``: since something happened
    the service may meet errors; ``tools``: what made the online schema changes.
    """

    hurt = False

    def __init__(
        self, server: Server, chance: random.Random, *, days: int, hourly: int, size: int
    ) -> None:
        self.server, self.chance, self.days = server, chance, days
        self.size, self._hourly, self.now = size, hourly, BEGIN
        self.users, self.products, self.accounts = size // 2, size // 10, size // 2
        self._orders, self.tools = size, list[str]()
        self._tokens, self._alive = count(1), list[str]()
        self._pool = [self.session() for _ in range(POOL)]
        self._heart = self.session()
        self.run(self._heart, "SET binlog_format = STATEMENT")
        self._agenda: list[tuple[float, int, Action]] = []
        self._until = BEGIN
        self._jobs: dict[Action, float] = {}

    def session(self) -> Any:
        """A new connection."""
        flags = CLIENT.MULTI_STATEMENTS
        return self.server.connect(client_flag=flags, init_command="SET time_zone = '+00:00'")

    def run(self, session: Any, *statements: str) -> int:
        """Statements at the present time of the days; how many rows the last one changed."""
        with session.cursor() as cursor:
            cursor.execute(f"SET timestamp = {self.now}; " + "; ".join(statements))
            while cursor.nextset():
                pass
            return int(cursor.rowcount)

    def transaction(self, session: Any, *statements: str) -> None:
        """Statements in one transaction."""
        self.run(session, "BEGIN", *statements, "COMMIT")

    def alone(self, *statements: str, settings: str = "") -> None:
        """Statements of a connection of their own, each in the transaction that it is."""
        session = self.session()
        self.run(session, "USE shop", *([settings] if settings else []))
        for statement in statements:
            self.run(session, statement)
            self.tick()
        session.close()

    def in_pieces(self, statement: str, limit: int) -> None:
        """A statement with LIMIT, by a connection of its own, until nothing is left."""
        session = self.session()
        self.run(session, "USE shop")
        while self.run(session, f"{statement} LIMIT {limit}") >= limit:
            self.tick()
        session.close()

    def tick(self) -> None:
        """A second is over, if nothing else happens before."""
        self.now = max(self.now, min(self.now + 1, self._until))

    def at(self, time: float, action: Action) -> None:
        """Plan an action, in seconds from the beginning."""
        self._agenda.append((time, len(self._agenda), action))

    # ---- the beginning --------------------------------------------------------------------------

    def make(self) -> None:
        """The tables with their rows, of days before."""
        first, size = self._pool[0], self.size
        numbers = ", ".join(f"({i})" for i in range(1, 2 * size + 1))
        self.run(first, "CREATE DATABASE shop CHARACTER SET utf8mb4", "CREATE DATABASE crm")
        for session in self._pool:
            self.run(session, "USE shop")
        self.run(first, *(f"CREATE TABLE {name} ({text})" for name, text in TABLES.items()))
        self.run(
            first, *(f"CREATE TABLE crm.{name} (id INT PRIMARY KEY, note VARCHAR(80))"
                     for name in ("contacts", "notes")),
            "CREATE TABLE IF NOT EXISTS mysql.rds_heartbeat2 (id INT PRIMARY KEY, value BIGINT)",
            "ALTER TABLE metrics PARTITION BY RANGE (day) (" + ", ".join(
                f"PARTITION p{d} VALUES LESS THAN ({d + 1})" for d in range(20 + self.days)) + ")",
            "SET sql_log_bin = 0", "CREATE TEMPORARY TABLE n (i INT PRIMARY KEY)",
            f"INSERT INTO n VALUES {numbers}",
        )  # fmt: skip
        self.run(first, "SET sql_log_bin = 1")
        for statement in self._rows():
            self.run(first, statement)
        self.run(first, "SET sql_log_bin = 0", "DROP TEMPORARY TABLE n", "SET sql_log_bin = 1")

    def _rows(self) -> Iterator[str]:
        size = self.size
        for table, many, columns in [
            (
                "users",
                self.users,
                f"i, {_TENANT}, CONCAT('user', i, '@example.org'), CONCAT(ELT(1 +"
                f" i % 7, {_NAMES}), ' ', i), CONCAT('+49 30 ', 100000 + i), IF(i % 300, 'user',"
                " 'admin'), i % 17 > 0, i % 90, NULL, NOW() - INTERVAL i % 300 HOUR",
            ),
            (
                "products",
                self.products,
                f"i, {_TENANT}, CONCAT('SKU', i), CONCAT('Product ', i),"
                " i % 12, i * 37 % 900 + 0.95, 400 + i % 100",
            ),
            (
                "orders",
                size,
                f"i, {_TENANT}, 1 + i * 13 % {self.users}, ELT(1 + i % 7, {_STATES}),"
                f" i * 31 % 500 + 4.5, NOW() - INTERVAL ({size} - i) MINUTE, NULL, NOW() - INTERVAL"
                f" ({size} - i) MINUTE",
            ),
            ("items", size, f"i, 1, 1 + i % {self.products}, 1 + i % 3, i * 31 % 500 + 4.5"),
            ("items", size // 2, f"2 * i, 2, 1 + i % {self.products}, 1, 9.5"),
            (
                "events",
                2 * size,
                f"i, i % {self.users}, CONCAT('/p/', i % 50), NOW() - INTERVAL"
                f" FLOOR(({2 * size} - i) * {10 * DAY / (2 * size)}) SECOND",
            ),
            (
                "mails",
                size // 2,
                f"i, i % {self.users}, 'Your order', NOW() - INTERVAL"
                f" FLOOR(({size // 2} - i) * {30 * DAY / (size // 2)}) SECOND",
            ),
            ("accounts", self.accounts, f"i, {_TENANT}, i * 97 % 10000 + 0.5, 0, '2024-04'"),
            (
                "payments",
                size // 4,
                f"i, 1 + i % {self.accounts}, i % 700, CONCAT('REF', i), '2024-05-30'",
            ),
            ("user_stats", self.users, "i, i % 9, i * 7 % 800, NOW() - INTERVAL 1 DAY"),
            ("feed", self.products, "CONCAT('SKU', i), CONCAT('Product ', i), i * 37 % 900 + 0.95"),
            ("coupons", size // 20, "i, CONCAT('C', i * 7919 % 99991), i % 50, 0"),
            ("coupon_uses", size // 10, f"i, 1 + i * 7 % {size // 20}, i"),
            ("metrics", size // 4, "i % 20, i DIV 20, i % 100"),
            ("crm.contacts", size // 20, "i, CONCAT('contact ', i)"),
            ("crm.notes", size // 40, "i, CONCAT('note ', i)"),
        ]:
            yield f"INSERT INTO {table} SELECT {columns} FROM n WHERE i <= {many}"
        yield "INSERT INTO counters VALUES ('orders', 0), ('logins', 0), ('mails', 0)"

    # ---- the plan -------------------------------------------------------------------------------

    def plan(self) -> None:
        """What happens on ordinary days."""
        for hour in range(24 * self.days):
            busy = self._hourly * (0.15 if hour % 24 < 6 else 0.6 if hour % 24 > 18 else 1.0)
            for _ in range(int(busy * self.chance.uniform(0.8, 1.2))):
                kind = self.chance.choice(self._kinds())
                self.at((hour + self.chance.random()) * HOUR, kind)
        for beat in range(12 * 24 * self.days):
            self.at(beat * 300 + 7, self._heartbeat)
            self.at(beat * 300 + 31, self._collect)
        for quarter in range(4 * 24 * self.days):
            self.at(quarter * 900 + self.chance.random() * 2, self._expire)
        for hour in range(24 * self.days):
            self.at(hour * HOUR + 5 * MINUTE, self._import)
            self.at((hour + self.chance.random()) * HOUR, self._merchant)
        nightly: list[tuple[float, Action]] = [
            (0.7, self._feed), (0.9, self.chance.choice([self._purge_pieces, self._purge_ranges,
                                                         self._purge])),
            (0.7, self.chance.choice([self._rebuild, self._replace_stats, self._update_stats])),
            (0.6, self._archive), (0.6, self.loyalty), (0.7, self.bank), (0.4, self._rotate),
        ]  # fmt: skip
        for likely, job in nightly:
            if self.chance.random() < likely:
                self.cron(job, self.chance.randrange(1, 7))
        once: list[tuple[float, Action]] = [
            (0.5, self.month_end), (0.5, self._newsletter), (0.6, self._deploy),
            (0.6 if self._full() else 0, self._gh_ost), (0.5, self._pt_osc),
        ]  # fmt: skip
        for likely, job in once:
            if self.chance.random() < likely:
                if job == self.month_end:
                    self.cron(job, self.chance.randrange(0, 6), self.chance.randrange(self.days))
                else:
                    self.at(self.working_time(), job)

    def _full(self) -> bool:
        """Whether images are FULL: gh-ost takes no others."""
        return ("FULL",) in self.server.query("SELECT @@GLOBAL.binlog_row_image")

    def cron(self, job: Action, hour: int, day: int | None = None) -> float:
        """Plan a job of every day, or of one, as cron begins it; when it first runs."""
        if job in self._jobs:
            return self._jobs[job]
        minute = self.chance.choice([0, 5, 10, 15, 17, 25, 30, 40, 45])
        when = hour * HOUR + minute * MINUTE + self.chance.random() * 2
        for each in range(self.days) if day is None else [day]:
            self.at(each * DAY + when, job)
        self._jobs[job] = (day or 0) * DAY + when
        return self._jobs[job]

    def working_time(self) -> float:
        """A moment at which people work, on one of the days."""
        return (self.chance.randrange(self.days) * 24 + self.chance.uniform(8, 18)) * HOUR

    def live(self) -> None:
        """Run everything that was planned."""
        agenda = sorted(self._agenda, key=lambda item: item[:2])
        ends = [time for time, *_ in agenda[1:]] + [self.days * DAY]
        for (time, _, action), until in zip(agenda, ends, strict=True):
            self.now, self._until = BEGIN + int(time), BEGIN + int(until)
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

    # ---- users ----------------------------------------------------------------------------------

    def _kinds(self) -> list[Action]:
        return [
            *[self._order] * 3, *[self._status] * 3, *[self._login] * 3, *[self._touch] * 4,
            self._logout, *[self._work] * 4, self._profile, self._stock, self._credit, self._coupon,
            self._cancel,
        ]  # fmt: skip

    def one(self) -> Any:
        """A connection of the pool."""
        return self.chance.choice(self._pool)

    def _user(self) -> int:
        return self.chance.randint(1, self.users)

    def _recent(self) -> int:
        return max(1, self._orders - self.chance.randint(0, 400))

    def _order(self) -> None:
        chosen = self.chance.sample(range(1, self.products + 1), self.chance.randint(1, 5))
        lines = ", ".join(f"(@o, {n}, {p}, 1, 9.99)" for n, p in enumerate(chosen, 1))
        self._orders += 1
        self.transaction(
            self.one(),
            "INSERT INTO orders (tenant_id, user_id, status, total, placed_at) VALUES"
            f" ({self.chance.randint(1, TENANTS)}, {self._user()}, 'new',"
            f" {self.chance.randint(5, 900)}, NOW())",
            "SET @o = LAST_INSERT_ID()",
            f"INSERT INTO items (order_id, line, product_id, qty, price) VALUES {lines}",
            f"UPDATE products SET stock = stock - 1 WHERE id IN ({', '.join(map(str, chosen))})",
            "UPDATE counters SET value = value + 1 WHERE name = 'orders'",
            "INSERT INTO queue (kind, payload) VALUES ('mail', CONCAT('order ', @o))",
        )  # fmt: skip

    def _status(self) -> None:
        state = self.chance.choice(["paid", "sent", "sent", "returned"])
        self.run(self.one(), f"UPDATE orders SET status = '{state}' WHERE id = {self._recent()}")

    def _login(self) -> None:
        token = f"{next(self._tokens):032x}"
        self._alive.append(token)
        self.transaction(
            self.one(), f"INSERT INTO sessions VALUES ('{token}', {self._user()}, '', NOW() +"
            " INTERVAL 2 HOUR)", "UPDATE counters SET value = value + 1 WHERE name = 'logins'"
        )  # fmt: skip

    def _token(self) -> str:
        return self.chance.choice(self._alive[-300:]) if self._alive else ""

    def _touch(self) -> None:
        self.run(
            self.one(), f"UPDATE sessions SET data = 'cart={self.chance.randint(1, 9)}',"
            f" expires_at = NOW() + INTERVAL 2 HOUR WHERE token = '{self._token()}'"
        )  # fmt: skip

    def _logout(self) -> None:
        self.run(self.one(), f"DELETE FROM sessions WHERE token = '{self._token()}'")

    def _work(self) -> None:
        worker, many = self.one(), self.chance.randint(1, 4)
        self.run(
            worker, f"UPDATE queue SET reserved_at = NOW(), attempts = attempts + 1 ORDER BY id"
            f" LIMIT {many}",
            f"INSERT INTO mails (user_id, subject, sent_at) VALUES ({self._user()}, 'Your order',"
            " NOW())",
            f"DELETE FROM queue WHERE reserved_at IS NOT NULL ORDER BY id LIMIT {many}",
        )  # fmt: skip

    def _profile(self) -> None:
        self.run(self.one(), f"UPDATE users SET phone = '+49 40 {self.chance.randint(1, 99999)}',"
                 f" points = points + 1 WHERE id = {self._user()}")  # fmt: skip

    def _stock(self) -> None:
        first = self.chance.randint(1, self.products)
        self.run(self.one(), f"UPDATE products SET stock = stock + 50, price = price + 0.1 WHERE id"
                 f" BETWEEN {first} AND {first + self.chance.randint(0, 6)}")  # fmt: skip

    def _credit(self) -> None:
        one, other = self.chance.sample(range(1, self.accounts + 1), 2)
        amount = self.chance.randint(1, 90)
        self.transaction(
            self.one(), f"UPDATE accounts SET balance = balance - {amount} WHERE id = {one}",
            f"UPDATE accounts SET balance = balance + {amount} WHERE id = {other}",
        )  # fmt: skip

    def _coupon(self) -> None:
        coupon = self.chance.randint(1, self.size // 20)
        self.transaction(
            self.one(), f"UPDATE coupons SET used = used + 1 WHERE id = {coupon}",
            f"INSERT INTO coupon_uses (coupon_id, order_id) VALUES ({coupon}, {self._orders})",
        )  # fmt: skip

    def _cancel(self) -> None:
        order = self._recent()
        self.transaction(
            self.one(), f"UPDATE orders SET deleted_at = NOW() WHERE id = {order}",
            f"DELETE FROM items WHERE order_id = {order}",
        )  # fmt: skip

    def _merchant(self) -> None:
        """A merchant uploads a list of prices."""
        if self.chance.random() < 0.15:
            first, many = self.chance.randint(1, self.products), self.chance.randint(20, 150)
            rows = ", ".join(
                f"({i}, {TENANTS}, 'SKU{i}', 'Product {i}', 1, {self.chance.randint(1, 900)}, 9)"
                for i in range(first, min(first + many, self.products))
            )
            if rows:
                self.run(
                    self.one(),
                    "INSERT INTO products (id, tenant_id, sku, name, category, price, stock) VALUES"
                    f" {rows} ON DUPLICATE KEY UPDATE price = VALUES(price)",
                )

    # ---- jobs -----------------------------------------------------------------------------------

    def _heartbeat(self) -> None:
        self.run(
            self._heart,
            f"INSERT INTO mysql.rds_heartbeat2 (id, value) VALUES (1, {self.now}000) ON DUPLICATE"
            f" KEY UPDATE value = {self.now}000",
        )

    def _collect(self) -> None:
        rows = ", ".join(f"({self._user()}, '/p/{n}', NOW())"
                         for n in range(self.chance.randint(5, 60)))  # fmt: skip
        self.run(self.one(), f"INSERT INTO events (user_id, path, at) VALUES {rows}")

    def _expire(self) -> None:
        self.run(self.one(), "DELETE FROM sessions WHERE expires_at < NOW() LIMIT 1000")

    def _import(self) -> None:
        many = self.size // 20 + self.chance.randint(0, 99)
        self.alone("INSERT INTO events (user_id, path, at) SELECT id, '/app', NOW() FROM users"
                   f" LIMIT {many}")  # fmt: skip

    def _feed(self) -> None:
        chance = self.chance
        prices = [i * 37 % 900 + 0.95 + chance.choice([0, 0, 0, 1]) for i in range(self.products)]
        rows = [f"('SKU{i}', 'Product {i}', {price})" for i, price in enumerate(prices)]
        self.alone("TRUNCATE TABLE feed", *(
            f"INSERT INTO feed VALUES {', '.join(rows[n:n + 500])}"
            for n in range(0, len(rows), 500)
        ), "UPDATE products JOIN feed USING (sku) SET products.name = feed.name")  # fmt: skip

    def _purge(self) -> None:
        self.alone("DELETE FROM events WHERE at < NOW() - INTERVAL 8 DAY")

    def _purge_pieces(self) -> None:
        self.in_pieces("DELETE FROM events WHERE at < NOW() - INTERVAL 8 DAY ORDER BY id", 500)

    def _purge_ranges(self) -> None:
        low, high = self.server.query(
            f"SELECT MIN(id), MAX(id) FROM shop.events WHERE at < FROM_UNIXTIME({self.now}) -"
            " INTERVAL 8 DAY"
        )[0]
        if low is not None:
            self.alone(*(
                f"DELETE FROM events WHERE id BETWEEN {start} AND {min(start + 999, high)}"
                for start in range(low, high + 1, 1000)
            ))  # fmt: skip

    def _archive(self) -> None:
        old = "sent_at < NOW() - INTERVAL 29 DAY"
        session = self.session()
        self.run(session, "USE shop")
        self.transaction(
            session, "INSERT IGNORE INTO mails_archive SELECT id, user_id, subject, sent_at FROM"
            f" mails WHERE {old}",
            f"DELETE FROM mails WHERE {old}",
        )  # fmt: skip
        session.close()

    _STATS = (
        "SELECT user_id, COUNT(*), SUM(total), NOW() FROM orders WHERE deleted_at IS NULL GROUP BY"
        " user_id"
    )

    def _rebuild(self) -> None:
        self.alone("DELETE FROM user_stats", f"INSERT INTO user_stats {self._STATS}")

    def _replace_stats(self) -> None:
        self.alone(f"REPLACE INTO user_stats {self._STATS}")

    def _update_stats(self) -> None:
        found = self._STATS.replace("COUNT(*)", "COUNT(*) AS n")
        self.alone(
            f"UPDATE user_stats JOIN ({found}) AS s USING (user_id) SET user_stats.orders = n,"
            " computed_at = NOW()"
        )

    def loyalty(self) -> None:
        """Points for those who bought."""
        self.alone("UPDATE users SET points = points + 10 WHERE id % 11 = 3 AND active = 1")

    def bank(self) -> None:
        """The bank's file of the day."""
        day = (self.now - BEGIN) // DAY
        many = self.size // 20 + day * 37
        rows = [f"({1 + i * 17 % self.accounts}, {(i * 31 + day) % 900}, 'B{day}-{i}',"
                f" '2024-06-{day + 1:02}')" for i in range(many)]  # fmt: skip
        self.alone(*(
            "INSERT INTO payments (account_id, amount, ref, booked_on) VALUES"
            f" {', '.join(rows[n:n + 400])}" for n in range(0, many, 400)
        ))  # fmt: skip

    def month_end(self) -> None:
        """Interest for all accounts."""
        interest = (
            "UPDATE accounts SET interest = ROUND(balance * 0.0125 / 12, 4), balance = balance +"
            " ROUND(balance * 0.0125 / 12, 2), month = '2024-05'"
        )
        if self.chance.random() < 0.5:
            self.alone(interest)
        else:
            self.alone(*(f"{interest} WHERE id BETWEEN {low} AND {low + 999}"
                         for low in range(1, self.accounts, 1000)))  # fmt: skip

    def _rotate(self) -> None:
        day = (self.now - BEGIN) // DAY
        self.alone(
            f"ALTER TABLE metrics ADD PARTITION (PARTITION p{20 + self.days + day} VALUES LESS THAN"
            f" ({21 + self.days + day}))",
            f"ALTER TABLE metrics DROP PARTITION p{day}",
        )

    def _newsletter(self) -> None:
        self.alone(
            "INSERT INTO mails (user_id, subject, sent_at) SELECT id, 'News', NOW() FROM users"
            " WHERE id % 5 = 2",
            "UPDATE counters SET value = value + 2000 WHERE name = 'mails'",
        )

    def _deploy(self) -> None:
        self.alone(
            "CREATE TABLE IF NOT EXISTS wishes (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT,"
            " product_id INT)",
            "ALTER TABLE products ADD COLUMN weight INT",
            "ALTER TABLE coupons MODIFY code VARCHAR(24)",
            "CREATE INDEX by_category ON products (category)",
        )
        if self.chance.random() < 0.6:
            self.alone("ALTER TABLE users ADD COLUMN locale CHAR(2)", *(
                f"UPDATE users SET locale = 'en' WHERE id BETWEEN {low} AND {low + 499}"
                for low in range(1, self.users, 500)
            ))  # fmt: skip

    def _gh_ost(self) -> None:
        self.tools.append(online_ddl(self, "gh-ost", "items", "ADD COLUMN note VARCHAR(20)"))

    def _pt_osc(self) -> None:
        self.tools.append(online_ddl(self, "pt-online-schema-change", "mails", "ADD COLUMN lang"
                                     " CHAR(2)"))  # fmt: skip
