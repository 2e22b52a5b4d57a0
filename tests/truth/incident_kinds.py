"""What goes wrong with databases, as public reports, postmortems and questions describe it.

Each kind is written from what happened to people, not from what an analysis looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.truth.ordinary_days import DAY, HOUR, MINUTE, TENANTS, Days

Plant = Callable[[Callable[[], Any]], None]


@dataclass(frozen=True)
class Incident:
    """A kind of incident; ``plan``: plan it, each part given to the function that plants it;
    ``shown``: a table whose later images alone show it."""

    plan: Callable[[Days, Plant], None]
    shown: str = ""


def _when(days: Days) -> float:
    """Somebody works, and part of the days is over."""
    while (time := days.working_time()) < 0.3 * days.days * DAY:
        pass
    return time


def _by_hand(
    make: Callable[[Days], str | Iterable[str]], settings: str = "", shown: str = ""
) -> Incident:
    """Somebody types statements into a client."""

    def done(days: Days) -> None:
        made = make(days)
        days.alone(*([made] if isinstance(made, str) else made), settings=settings)

    return Incident(lambda days, plant: days.at(_when(days), lambda: plant(lambda: done(days))),
                    shown)  # fmt: skip


def _by_the_application(make: Callable[[Days], str]) -> Incident:
    """The application does it, by a connection that also serves others."""
    return Incident(lambda days, plant: days.at(
        _when(days), lambda: plant(lambda: days.run(days.one(), make(days)))
    ))  # fmt: skip


def _tenant(days: Days) -> int:
    return days.chance.randint(1, TENANTS // 4)


def _some(days: Days, most: int) -> str:
    low = days.chance.randint(1, most // 2)
    return f"id BETWEEN {low} AND {low + days.chance.randint(most // 20, most // 3)}"


def _twice(job: Callable[[Days], Callable[[], None]], wait: tuple[int, int]) -> Incident:
    """A job of cron that runs once more, some time after."""

    def plan(days: Days, plant: Plant) -> None:
        when = days.cron(job(days), days.chance.randrange(1, 7))
        later = days.chance.randrange(days.days) * DAY + days.chance.randint(*wait)
        days.at(when + later, lambda: plant(job(days)))

    return Incident(plan)


def _row_by_row(days: Days, plant: Plant) -> None:
    """A script with a wrong list deletes orders one by one, while others work."""
    begin, low = _when(days), days.chance.randint(1, days.size // 2)
    session = days.session()

    def some(first: int) -> None:
        days.run(session, "USE shop", *(
            f"DELETE FROM items WHERE order_id = {n}" for n in range(first, first + 20)
        ))  # fmt: skip

    for part in range(40):
        days.at(begin + 9 * part, partial(plant, partial(some, low + 20 * part)))


def _newest_first(days: Days, plant: Plant) -> None:
    """Somebody cleans up with the wrong order."""

    def done() -> None:
        many = days.chance.randint(3, 9)
        days.alone(*["DELETE FROM events ORDER BY id DESC LIMIT 1000"] * many)

    days.at(_when(days), lambda: plant(done))


def _dump(days: Days, table: str, columns: str) -> list[str]:
    """The rows of a table, as a dump has them."""
    rows = days.server.query(f"SELECT {columns} FROM shop.{table}")
    literal = days.one().literal
    texts = [literal(row) for row in rows]
    return [", ".join(texts[n : n + 500]) for n in range(0, len(texts), 500)]


def _old_dump(days: Days, plant: Plant, *, replace: bool) -> None:
    """A dump of the first day is loaded over a table."""
    columns = "id, tenant_id, balance, interest, month"
    kept: list[str] = []
    days.at(0.1 * days.days * DAY, lambda: kept.extend(_dump(days, "accounts", columns)))

    def load() -> None:
        if replace:
            days.alone(*(f"REPLACE INTO accounts ({columns}) VALUES {rows}" for rows in kept))
            return
        made = days.server.query("SHOW CREATE TABLE shop.accounts")[0][1]
        days.alone(
            "DROP TABLE IF EXISTS accounts", str(made),
            *(f"INSERT INTO accounts ({columns}) VALUES {rows}" for rows in kept),
            settings="SET foreign_key_checks = 0, unique_checks = 0",
        )  # fmt: skip

    days.at(_when(days), lambda: plant(load))


def _twice_a_month(days: Days, plant: Plant) -> None:
    """The interest of a month is paid twice."""
    when = days.cron(days.month_end, days.chance.randrange(0, 6), days.chance.randrange(days.days))
    days.at(when + days.chance.randint(4 * MINUTE, 9 * HOUR), lambda: plant(days.month_end))


_MOJIBAKE = "name = CONVERT(CAST(CONVERT(name USING utf8mb4) AS BINARY) USING latin1)"
_TEST_ROWS = (
    "(1, 1, 'test1@example.test', 'Test One', NULL), (2, 1, 'test2@example.test', 'Test Two', NULL)"
)

#: What can happen, by name.
INCIDENTS: dict[str, Incident] = {
    # UPDATE and DELETE whose WHERE was forgotten, or not selected in the client.
    "update_without_where": _by_hand(lambda _: "UPDATE users SET role = 'admin'"),
    "delete_without_where": _by_hand(lambda _: "DELETE FROM payments"),
    # A string column compared with 0: every text is equal to it.
    "compared_with_zero": _by_hand(
        lambda _: "UPDATE IGNORE users SET active = 0, phone = NULL WHERE email = 0",
        settings="SET sql_mode = ''",
    ),
    # AND before OR.
    "and_or": _by_hand(
        lambda days: "UPDATE orders SET status = 'refunded', total = 0 WHERE tenant_id ="
        f" {_tenant(days)} AND status = 'new' OR status = 'returned'"
    ),
    "wrong_tenant_delete": _by_the_application(
        lambda days: f"DELETE FROM products WHERE tenant_id = {_tenant(days)}"
    ),
    "wrong_tenant_update": _by_hand(
        lambda days: "UPDATE orders SET status = 'void', deleted_at = NOW() WHERE tenant_id ="
        f" {_tenant(days)}"
    ),
    # Joined by the tenant instead of the user.
    "wrong_join": _by_hand(
        lambda _: "UPDATE orders JOIN users ON users.tenant_id = orders.tenant_id SET"
        " orders.user_id = users.id WHERE orders.status <> 'sent'"
    ),
    "loyalty_twice": _twice(lambda days: days.loyalty, (3 * MINUTE, 50 * MINUTE)),
    "interest_twice": Incident(_twice_a_month),
    "file_loaded_twice": _twice(lambda days: days.bank, (20 * MINUTE, 5 * HOUR)),
    # A migration that an ORM generated.
    "column_dropped": _by_hand(
        lambda _: ["ALTER TABLE users ADD COLUMN phone_number VARCHAR(32)",
                   "ALTER TABLE users DROP COLUMN phone"]
    ),
    "column_narrowed": _by_hand(
        lambda days: days.chance.choice([
            "ALTER TABLE payments MODIFY ref VARCHAR(3)", "ALTER TABLE users MODIFY name"
            " VARCHAR(10)", "ALTER TABLE products MODIFY price DECIMAL(8,0)",
        ]), settings="SET sql_mode = ''",
    ),
    # Scripts for a test environment.
    "fixtures_loaded": _by_hand(
        lambda _: ["SET foreign_key_checks = 0", "TRUNCATE TABLE users", "TRUNCATE TABLE orders",
                   "TRUNCATE TABLE items", "INSERT INTO users (id, tenant_id, email, name, phone)"
                   f" VALUES {_TEST_ROWS}", "INSERT INTO orders (id, tenant_id, user_id, status)"
                   " VALUES (1, 1, 1, 'new'), (2, 1, 2, 'paid')"]
    ),
    "anonymised": _by_hand(
        lambda _: "UPDATE users SET email = CONCAT('user', id, '@example.test'), name ="
        " CONCAT('Name ', id), phone = NULL"
    ),
    "encoding_twice": _by_hand(
        lambda days: f"UPDATE users SET {_MOJIBAKE} WHERE {_some(days, days.users)}"
    ),
    "soft_deleted": _by_hand(
        lambda _: "UPDATE orders SET deleted_at = NOW() WHERE deleted_at IS NULL"
    ),
    "logged_out": _by_the_application(lambda _: "DELETE FROM sessions"),
    "price_factor": _by_hand(
        lambda days: f"UPDATE products SET price = price * {days.chance.choice(['10', '0.11'])}"
        f" WHERE category IN ({days.chance.randint(0, 5)}, {days.chance.randint(6, 11)})"
    ),
    "purged_newest": Incident(_newest_first),
    "purged_before_instead_of_after": _by_hand(
        lambda days: "DELETE FROM mails WHERE sent_at > NOW() - INTERVAL"
        f" {days.chance.randint(3, 12)} DAY"
    ),
    "row_by_row": Incident(_row_by_row),
    "old_rows_over_new": Incident(partial(_old_dump, replace=True)),
    "old_dump_over_new": Incident(partial(_old_dump, replace=False)),
    "granted": _by_hand(
        lambda _: ["CREATE USER backup@'%' IDENTIFIED BY 'Pas5-word'", "GRANT ALL PRIVILEGES ON"
                   " *.* TO backup@'%' WITH GRANT OPTION", "DROP USER backup@'%'"]
    ),
    "keys_not_checked": _by_hand(
        lambda days: f"DELETE FROM coupons WHERE id <= {days.chance.randint(20, 90)}",
        settings="SET foreign_key_checks = 0",
    ),
    "not_logged": _by_hand(
        lambda days: "UPDATE accounts SET balance = balance - 5 WHERE"
        f" {_some(days, days.accounts)}", settings="SET sql_log_bin = 0", shown="accounts",
    ),
    "as_text": _by_hand(
        lambda days: f"UPDATE accounts SET balance = 0 WHERE {_some(days, days.accounts)}",
        settings="SET binlog_format = STATEMENT",
    ),
    "database_dropped": _by_hand(lambda _: "DROP DATABASE crm"),
    # Servers with weak passwords were emptied for a ransom.
    "ransom": _by_hand(
        lambda _: ["DROP TABLE accounts", "DROP TABLE payments", "DROP TABLE mails",
                   "CREATE DATABASE PLEASE_READ_ME", "CREATE TABLE PLEASE_READ_ME.WARNING (warning"
                   " TEXT)", "INSERT INTO PLEASE_READ_ME.WARNING VALUES ('Your databases are"
                   " backed up')"]
    ),
    "wrong_table_dropped": _by_hand(lambda _: "DROP TABLE mails_archive"),
    "wrong_table_truncated": _by_hand(lambda _: "TRUNCATE TABLE payments"),
    "partition_dropped": _by_hand(
        lambda days: "ALTER TABLE metrics DROP PARTITION"
        f" {', '.join(f'p{day}' for day in range(10, 14 + days.chance.randint(0, 4)))}"
    ),
}  # fmt: skip
