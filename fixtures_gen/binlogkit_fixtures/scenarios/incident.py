"""The scenario ``incident``: a shop, twenty-odd minutes of a working day, and one bad UPDATE.

Traffic is made by arithmetic from a step's number, so that it repeats. At 14:03:07 somebody in the
support team means to refund the orders of one customer; the condition on the customer has slipped
into a comment, and every order since noon is refunded. Nobody notices; traffic goes on, also on
orders that were hit, until 14:12.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from binlogkit_fixtures.scenarios.model import Mark, Scenario, Sql, Step

__all__ = ["BAD_STATEMENT", "scenario"]

_SECOND = 1_000_000
_DAY = 1_715_644_800 * _SECOND  # 2024-05-14T00:00:00Z
_CUSTOMERS = 40
_ORDERS = 160
_BAD_TIME = (14 * 3600 + 3 * 60 + 7) * _SECOND
_STATUS = ("open", "paid", "packed", "shipped", "delivered")
_CITIES = ("Lyon", "Köln", "Łódź", "Αθήνα", "東京", "O'Fallon", "Québec")
_FIRST = ("Ada", "Björn", "Chloé", "Дарья", "Emre", "Fátima", "Giorgos", "花子")
_LAST = ("Moreau", "Nyström", "O'Neil", "Petrov", "Quintana", "Rossi", "Schäfer")

BAD_STATEMENT = (
    "UPDATE shop.orders SET status = 'refunded', total = 0.00, comment = 'goodwill, ticket 4711' "
    "WHERE placed_at >= '2024-05-14 12:00:00' -- AND customer_id = 17"
)

_STORY = " ".join((__doc__ or "").split("\n\n")[1].split())

_TABLES = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "CREATE TABLE shop.customers (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, "
    "name VARCHAR(60) NOT NULL, email VARCHAR(80) NOT NULL, city VARCHAR(40), "
    "vip TINYINT(1) NOT NULL DEFAULT 0, since DATE, UNIQUE KEY email (email))",
    "CREATE TABLE shop.orders (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, "
    "customer_id INT UNSIGNED NOT NULL, "
    "status ENUM('open','paid','packed','shipped','delivered','cancelled','refunded') NOT NULL "
    "DEFAULT 'open', total DECIMAL(10,2) NOT NULL, placed_at DATETIME NOT NULL, "
    "updated_at TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), "
    "comment VARCHAR(120), KEY (customer_id), KEY (placed_at))",
    "CREATE TABLE shop.order_items (order_id BIGINT UNSIGNED NOT NULL, line SMALLINT NOT NULL, "
    "sku CHAR(8) NOT NULL, quantity INT NOT NULL, price DECIMAL(8,2) NOT NULL, "
    "PRIMARY KEY (order_id, line))",
    "CREATE TABLE shop.heartbeat (source VARCHAR(20) PRIMARY KEY, seen TIMESTAMP(6) NULL)",
)


def _time(microseconds: int) -> str:
    """A time of the shop's day as a DATETIME literal, whole seconds."""
    seconds = microseconds // _SECOND
    return f"'2024-05-14 {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}'"


def _money(number: int) -> str:
    return f"{number * 7919 % 50000 // 100 + 5}.{number * 31 % 100:02}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass
class _Day:
    """The steps so far, the clock in microseconds of the day, and the next order's number."""

    clock: int = (13 * 3600 + 49 * 60) * _SECOND
    steps: list[Step] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    orders: int = _ORDERS

    def run(self, session: str, *statements: str) -> None:
        """Statements in one session, some milliseconds apart."""
        if session not in self.sessions:
            self.sessions.add(session)
            self._add(session, "SET SESSION binlog_rows_query_log_events = ON")
        for statement in statements:
            self._add(session, statement)
            self.clock += 40_000

    def _add(self, session: str, statement: str) -> None:
        self.steps.append(Sql(statement, session, _DAY + self.clock))

    def mark(self, name: str) -> None:
        self.steps.append(Mark(name, _DAY + self.clock))

    def at(self, microseconds: int) -> None:
        """Set the clock, which never goes back."""
        self.clock = max(self.clock, microseconds)


def _customers() -> str:
    rows = []
    for n in range(1, _CUSTOMERS + 1):
        name = f"{_FIRST[n % len(_FIRST)]} {_LAST[n * 3 % len(_LAST)]}"
        city = "NULL" if n % 9 == 0 else _quoted(_CITIES[n % len(_CITIES)])
        since = f"'20{10 + n % 14}-{1 + n % 12:02}-{1 + n % 28:02}'"
        rows.append(
            f"({n}, {_quoted(name)}, 'c{n}@example.org', {city}, {int(n % 11 == 0)}, {since})"
        )
    return "INSERT INTO shop.customers VALUES\n" + ",\n".join(rows)


def _orders() -> str:
    """Orders from 09:00 on, two minutes apart: those from the 91st on are of the afternoon."""
    rows = []
    for n in range(1, _ORDERS + 1):
        placed = _time((9 * 3600 + (n - 1) * 105) * _SECOND)
        status = _STATUS[min(4, (_ORDERS - n) // 25)]
        comment = "NULL" if n % 4 else _quoted(f"gift wrap, please; note {n}")
        customer = 17 if n % 23 == 0 else 1 + n * 7 % _CUSTOMERS
        rows.append(f"({n}, {customer}, '{status}', {_money(n)}, {placed}, {placed}, {comment})")
    return "INSERT INTO shop.orders VALUES\n" + ",\n".join(rows)


def _items(first: int, last: int) -> str:
    rows = [
        f"({n}, {line}, 'SKU-{n * line % 97:04}', {1 + n % 3}, {_money(n + line)})"
        for n in range(first, last + 1)
        for line in range(1, 2 + n % 2)
    ]
    return "INSERT INTO shop.order_items VALUES " + ", ".join(rows)


def _purchase(day: _Day, number: int, session: str) -> None:
    day.orders += 1
    order = day.orders
    day.run(
        session,
        "BEGIN",
        "INSERT INTO shop.orders (customer_id, total, placed_at) VALUES "
        f"({1 + number * 11 % _CUSTOMERS}, {_money(number)}, NOW())",
        _items(order, order),
        "COMMIT",
    )


def _progress(day: _Day, number: int, session: str) -> None:
    order = _ORDERS - number * 13 % 60
    status = _STATUS[1 + number % 4]
    day.run(session, f"UPDATE shop.orders SET status = '{status}' WHERE id = {order}")


def _warehouse(day: _Day, number: int) -> None:
    first = 100 + number * 5 % 50
    day.run(
        "warehouse",
        "BEGIN",
        f"UPDATE shop.orders SET status = 'packed' WHERE id BETWEEN {first} AND {first + 3} "
        "AND status IN ('open', 'paid')",
        "UPDATE shop.order_items SET quantity = quantity + 1 "
        f"WHERE order_id = {first} AND line = 1",
        "COMMIT",
    )


def _customer(day: _Day, number: int) -> None:
    who = 1 + number * 17 % _CUSTOMERS
    city = _quoted(_CITIES[number % len(_CITIES)])
    day.run("web-2", f"UPDATE shop.customers SET city = {city} WHERE id = {who}")


def _cancel(day: _Day, number: int) -> None:
    order = 60 + number
    day.run(
        "support",
        "BEGIN",
        f"DELETE FROM shop.order_items WHERE order_id = {order}",
        f"UPDATE shop.orders SET status = 'cancelled', comment = 'by phone' WHERE id = {order}",
        "ROLLBACK" if number % 3 == 0 else "COMMIT",
    )


def _traffic(day: _Day, numbers: Iterator[int], until: int, pause: int) -> None:
    """What happens on an ordinary day, ``pause`` microseconds apart, until then."""
    while day.clock + pause < until:
        number = next(numbers)
        if number % 3 == 0:
            _purchase(day, number, "web-1" if number % 2 else "web-2")
        elif number % 7 == 0:
            _warehouse(day, number)
        elif number % 10 == 0:
            _customer(day, number)
        elif number % 13 == 0:
            _cancel(day, number)
        else:
            _progress(day, number, "web-2" if number % 2 else "web-1")
        if number % 8 == 0:
            day.run("monitor", "REPLACE INTO shop.heartbeat VALUES ('monitor', NOW(6))")
        day.clock += pause + number * 7_777_777 % 5_000_000


def _counting() -> Iterator[int]:
    number = 1
    while True:
        yield number
        number += 1


def scenario() -> Scenario:
    """Load, ordinary traffic, the statement, traffic that continues."""
    day, numbers = _Day(), _counting()
    day.run("loader", *_TABLES, _customers(), _orders(), _items(1, _ORDERS))
    day.mark("loaded")
    day.at((13 * 3600 + 50 * 60) * _SECOND)
    _traffic(day, numbers, _BAD_TIME - 2 * _SECOND, 11 * _SECOND)
    day.mark("before")
    day.at(_BAD_TIME)
    day.run("support", BAD_STATEMENT)
    day.mark("after")
    _traffic(day, numbers, (14 * 3600 + 12 * 60) * _SECOND, 13 * _SECOND)
    day.mark("end")
    return Scenario("incident", _STORY, ("shop",), tuple(day.steps))
