"""Queries over schemas, and transactions, made at random: live answers against the server's own.

The campaign: ``BINLOGKIT_RUNNER=local python -m tests.livestate.generated --seed 1 --queries 100
--transactions 10000``.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from binlogkit.errors import UndeterminedError, UsageError
from binlogkit.livestate.live import Live, live
from binlogkit.livestate.query import KeptQuery
from binlogkit.livestate.views.view import ViewChange
from binlogkit_fixtures.servers import Server
from tests.livestate.shop import reached
from tests.sources.server.conftest_server import settings_of, start_series

TABLES = ("a", "b", "c")
_TOTAL = "t0.id LIMIT 3"  # ends an order that tells all rows apart
_UNITED = re.compile("COALESCE|IFNULL|CASE|IF")
#: Types of columns, and constants that their values come from; what is compared is in WORDS.
TYPES: Mapping[str, tuple[str, ...]] = {
    "INT": ("0", "1", "2", "-3", "2147483647", "NULL"),
    "TINYINT UNSIGNED": ("0", "1", "200", "NULL"),
    "BIGINT UNSIGNED": ("0", "1", "18446744073709551615", "NULL"),
    "DECIMAL(9,2)": ("0", "1.5", "-2.25", "1234567.89", "NULL"),
    "DECIMAL(20,6)": ("0.000001", "-1.5", "12345678901234.5", "NULL"),
    "DOUBLE": ("0", "1.5", "-1e100", "NULL"),
    "VARCHAR(9) CHARSET utf8mb4": ("''", "'x'", "'red'", "'blue sky'", "'a_b'", "NULL"),
    "VARCHAR(9) CHARSET utf8mb4 COLLATE utf8mb4_bin": ("''", "'Red'", "'red'", "'~'", "NULL"),
    "VARBINARY(5)": ("''", "x'00'", "'red'", "x'ff00'", "NULL"),
    "DATE": ("'2024-02-29'", "'1999-12-31'", "NULL"),
    "DATETIME(3)": ("'2024-02-29 01:02:03.004'", "'2024-02-29'", "NULL"),
    "ENUM('z','a','m')": ("'z'", "'a'", "'m'", "NULL"),
}


@dataclass(slots=True)
class Schema:
    """Tables with a key ``id``, a reference ``r``, and columns of random types."""

    chance: random.Random
    columns: dict[str, dict[str, str]] = field(default_factory=dict)

    def make(self) -> Iterator[str]:
        """The statements that make them; the last table has no key."""
        yield "CREATE DATABASE g CHARSET utf8mb4"
        for table in TABLES:
            kinds = self.chance.sample(sorted(TYPES), 5)
            self.columns[table] = {f"{table}{i}": kind for i, kind in enumerate(kinds)}
            told = ", ".join(f"{name} {kind}" for name, kind in self.columns[table].items())
            key = "" if table == TABLES[-1] else ", PRIMARY KEY (id)"
            yield f"CREATE TABLE g.{table} (id INT NOT NULL, r INT, {told}{key})"

    def value(self, kind: str) -> str:
        return self.chance.choice(TYPES[kind])

    def dml(self) -> str:
        """A statement that changes rows."""
        table = self.chance.choice(TABLES)
        columns = self.columns[table]
        where = f"id = {self.chance.randrange(12)}"
        if self.chance.random() < 0.15:
            where = f"r = {self.chance.randrange(6)}"
        match self.chance.randrange(6):
            case 0 | 1 | 2:
                rows = []
                for _ in range(self.chance.randrange(1, 4)):
                    own = [self.value(kind) for kind in columns.values()]
                    own = [str(self.chance.randrange(12)), self._reference(), *own]
                    rows.append(f"({', '.join(own)})")
                word = "INSERT" if table == TABLES[-1] else "REPLACE"
                into = ", ".join(["id", "r", *columns])
                return f"{word} INTO g.{table} ({into}) VALUES {', '.join(rows)}"
            case 3 | 4:
                name = self.chance.choice(sorted(columns))
                value = f"{name} = {self.value(columns[name])}"
                if self.chance.random() < 0.3:
                    value += f", r = {self._reference()}"
                return f"UPDATE g.{table} SET {value} WHERE {where}"
            case _:
                return f"DELETE FROM g.{table} WHERE {where}"

    def _reference(self) -> str:
        return self.chance.choice(["NULL", *map(str, range(6))])

    def transaction(self, number: int) -> list[str]:
        """Statements that make one transaction."""
        body = [self.dml() for _ in range(self.chance.randrange(1, 4))]
        roll = self.chance.random()
        if roll < 0.03:
            return self._ddl(number)
        if roll < 0.08:
            end = self.chance.choice(["XA COMMIT", "XA ROLLBACK"])
            xa = f"'x{number}'"
            return [f"XA START {xa}", *body, f"XA END {xa}", f"XA PREPARE {xa}", f"{end} {xa}"]
        if roll < 0.15:
            return ["BEGIN", *body, "ROLLBACK"]
        if roll < 0.2:
            return ["BEGIN", body[0], "SAVEPOINT s", *body, "ROLLBACK TO s", self.dml(), "COMMIT"]
        return ["BEGIN", *body, "COMMIT"]

    def _ddl(self, number: int) -> list[str]:
        table = self.chance.choice(TABLES)
        return self.chance.choice([
            [f"ALTER TABLE g.{table} ADD extra{number} INT DEFAULT 3"],
            [f"TRUNCATE TABLE g.{table}"],
            [f"CREATE TABLE g.n LIKE g.{table}", f"INSERT INTO g.n SELECT * FROM g.{table} "
             "WHERE id < 6", f"RENAME TABLE g.{table} TO g.o, g.n TO g.{table}", "DROP TABLE g.o"],
            ["FLUSH BINARY LOGS"],
        ])  # fmt: skip

    # ---- queries ------------------------------------------------------------------------------

    def _column(self, aliases: Mapping[str, str]) -> tuple[str, str]:
        alias = self.chance.choice(sorted(aliases))
        table = aliases[alias]
        name, kind = self.chance.choice([("id", "INT"), ("r", "INT"), *self.columns[table].items()])
        return f"{alias}.{name}", kind

    def _expression(self, aliases: Mapping[str, str], depth: int = 0) -> str:
        """A column, or what is made of some."""
        column, kind = self._column(aliases)
        if depth > 1 or self.chance.random() < 0.4:
            return column
        other = self._expression(aliases, depth + 1)
        value, more = self.value(kind), self._column(aliases)[0]
        made = [
            f"COALESCE({column}, {value})", f"IFNULL({other}, 0)", f"NULLIF({column}, {value})",
            f"CASE WHEN {self._condition(aliases)} THEN {column} ELSE {value} END",
            f"CASE {column} WHEN {value} THEN {other} END", f"IF({column} IS NULL, 1, {more})",
            f"IF({column} > {value}, 'big', 'small')",
        ]  # fmt: skip
        if kind.startswith(("INT", "DECIMAL")):
            made += [
                f"ABS({other})", f"-{column}", f"{column} / {more}", f"{column} / 3",
                f"ROUND({column} / {more}, 2)", f"{column} + {other}", f"{column} DIV {more}",
                f"{column} % {more}", f"ROUND({column}, 1)", f"FLOOR({column})", f"CEIL({column})",
                f"SIGN({column})", f"GREATEST({column}, {more})", f"LEAST({column}, {other})",
            ]  # fmt: skip
        if kind.startswith("VAR"):
            texts = [
                f"LENGTH({column})", f"CHAR_LENGTH({column})", f"UPPER({column})",
                f"LOWER({column})", f"CONCAT({column}, '-', {column})", f"LEFT({column}, 2)",
                f"RIGHT({column}, 3)", f"SUBSTRING({column}, 2, 2)", f"{column} LIKE '%E_'",
                f"{column} NOT LIKE 'r%'",
            ]  # fmt: skip
            made += texts * 2
        if kind.startswith("DATE"):
            fields = ("YEAR", "MONTH", "DAY", "DATE", "HOUR", "SECOND", "QUARTER")
            made += [f"{name}({column})" for name in fields] * 2
            made.append(f"DATEDIFF({column}, {column})")
        return self.chance.choice(made)

    def _over_group(self, aliases: Mapping[str, str]) -> str:
        """What is made of aggregates."""
        first, second = (self._expression(aliases, 1) for _ in range(2))
        return self.chance.choice([
            f"SUM({first}) + COUNT(*)", f"SUM({first}) / COUNT({second})",
            f"ROUND(AVG({first}), 2)", f"COUNT(*) * 2 - COUNT({second})",
            f"COALESCE(SUM({first}), 0)", f"SUM({first}) * 100 / SUM({second})",
            f"MAX({first}) - MIN({first})",
        ])  # fmt: skip

    def _having(self, aliases: Mapping[str, str]) -> str:
        """A condition of groups."""
        made = self._expression(aliases, 1)
        return self.chance.choice([
            "COUNT(*) > 1", f"SUM({made}) > 0 OR COUNT({made}) = 1", f"AVG({made}) >= 1.5",
            f"MIN({made}) IS NOT NULL AND NOT MAX({made}) <> 2", "COUNT(*) BETWEEN 1 AND 2",
            f"COUNT(*) IN (1, 3) OR SUM({made}) / COUNT(*) < 2",
        ])  # fmt: skip

    def _condition(self, aliases: Mapping[str, str]) -> str:
        column, kind = self._column(aliases)
        value = self.value(kind)
        match self.chance.randrange(7):
            case 0:
                return f"{column} IS {self.chance.choice(['', 'NOT '])}NULL"
            case 1:
                return f"{column} IN ({value}, {self.value(kind)})"
            case 2:
                return f"NOT ({column} = {value})"
            case 3:
                return f"{column} BETWEEN {value} AND {self.value(kind)}"
            case 4:
                return f"({self._condition(aliases)} OR {column} <=> {value})"
            case 5:
                return f"{self._condition(aliases)} AND {column} <> {value}"
            case _:
                return f"{column} {self.chance.choice(['=', '<', '>=', '<>'])} {value}"

    def whole_query(self) -> str:
        """A query that is calculated anew, if at all."""
        chance = self.chance
        one, other = {"t0": chance.choice(TABLES)}, {"t1": chance.choice(TABLES)}
        first, second = f"g.{one['t0']} t0", f"g.{other['t1']} t1"
        mine, theirs = chance.choice(["id", "r"]), chance.choice(["id", "r"])
        columns = ", ".join(self._expression(one) for _ in range(2))
        match chance.randrange(7):
            case 0:
                word = chance.choice(["IN", "NOT IN"])
                inner = f"SELECT t1.{theirs} FROM {second} WHERE {self._condition(other)}"
                return f"SELECT {columns} FROM {first} WHERE t0.{mine} {word} ({inner})"
            case 1:
                inner = f"SELECT * FROM {second} WHERE {self._condition(other)}"
                exists = f"{chance.choice(['', 'NOT '])}EXISTS ({inner})"
                return f"SELECT {columns} FROM {first} WHERE {exists} AND {self._condition(one)}"
            case 2:
                inner = f"SELECT {chance.choice(['MAX', 'MIN', 'AVG', 'SUM'])}(t1.{theirs})"
                inner = f"{inner} FROM {second} WHERE {self._condition(other)}"
                where = f"t0.{mine} {chance.choice(['<', '>=', '='])} ({inner})"
                return f"SELECT t0.id, ({inner}), {columns} FROM {first} WHERE {where}"
            case 3:
                made = self._expression(other)
                inner = f"SELECT t1.{theirs} k, COUNT(*) n, SUM(t1.{mine}) s, MAX({made}) m"
                inner = f"({inner} FROM {second} GROUP BY t1.{theirs} HAVING {self._having(other)})"
                join = chance.choice(["JOIN", "LEFT JOIN"])
                on = f"d.{chance.choice('kns')} = t0.{mine}"
                return f"SELECT {columns}, d.k, d.n + 1, d.m FROM {first} {join} {inner} d ON {on}"
            case 4:
                on = f"t0.{mine} {chance.choice(['<', '<>', '>='])} t1.{theirs}"
                join = chance.choice([f"JOIN {second} ON {on}", f"LEFT JOIN {second} ON {on}",
                                      f"CROSS JOIN {second}", f", {second}"])  # fmt: skip
                made = self._expression({**one, **other}, 1)
                return f"SELECT t0.id, COUNT(*), MAX({made}) FROM {first} {join} GROUP BY t0.id"
            case 5:
                order = f"ORDER BY {chance.choice(['1', '1 DESC', '2, 1', '1, 2, 3 DESC'])}"
                limit = chance.choice(["1", "3", "2, 2", "100"])
                return f"SELECT t0.r, t0.id, {columns} FROM {first} {order} LIMIT {limit}"
            case _:
                made = ", ".join(f"{self._expression(one)} c{i}" for i in range(2))
                inner = f"SELECT t0.id, t0.r, {made} FROM {first} WHERE {self._condition(one)}"
                more = self.chance.choice(["", " WHERE d.r > 1", " WHERE c0 IS NULL OR c1 = 1"])
                by = self.chance.choice(["r", "c0", "c1"])
                made = "COUNT(*), SUM(d.id), MAX(c1), COUNT(DISTINCT c0)"
                return f"SELECT {by}, {made} FROM ({inner}) d{more} GROUP BY {by}"

    def query(self) -> str:
        """A query; some cannot be kept."""
        if self.chance.random() < 0.25:
            return self.whole_query()
        count = self.chance.choice([1, 1, 2, 2, 3])
        aliases = {f"t{i}": self.chance.choice(TABLES) for i in range(count)}
        tables = f"g.{aliases['t0']} t0"
        for i in range(1, count):
            word = self.chance.choice(["JOIN", "LEFT JOIN"])
            mine = self.chance.choice(["id", "r"])
            on = f"t{i}.{mine} = t{self.chance.randrange(i)}.{self.chance.choice(['id', 'r'])}"
            if self.chance.random() < 0.2:
                on += f" AND {self._condition({f't{i}': aliases[f't{i}']})}"
            tables += f" {word} g.{aliases[f't{i}']} t{i} ON {on}"
        where = f" WHERE {self._condition(aliases)}" if self.chance.random() < 0.6 else ""
        columns = [self._expression(aliases) for _ in range(self.chance.randrange(1, 4))]
        match self.chance.randrange(5):
            case 0:
                made = [
                    f"{self.chance.choice(['COUNT', 'SUM', 'MIN', 'MAX', 'AVG'])}"
                    f"({self._expression(aliases, 1)})" for _ in range(3)
                ]  # fmt: skip
                made += [self._over_group(aliases) for _ in range(self.chance.randrange(2))]
                return f"SELECT COUNT(*), {', '.join(made)} FROM {tables}{where}"
            case 1 | 2:
                made = [
                    f"{self.chance.choice(['COUNT', 'SUM', 'MIN', 'MAX', 'AVG', 'COUNT(DISTINCT'])}"
                    f"({self._expression(aliases, 1)})" for _ in range(2)
                ]  # fmt: skip
                made = [m + ")" if m.startswith("COUNT(DISTINCT(") else m for m in made]
                made += [self._over_group(aliases) for _ in range(self.chance.randrange(2))]
                by = ", ".join(columns[:2])
                having = f" HAVING {self._having(aliases)}" if self.chance.random() < 0.4 else ""
                return f"SELECT {by}, {', '.join(made)} FROM {tables}{where} GROUP BY {by}{having}"
            case 3:
                columns = [self._column(aliases)[0], *columns[:1]]
                return f"SELECT DISTINCT {', '.join(columns)} FROM {tables}{where}"
            case _:
                order = ""
                if count == 1 and aliases["t0"] != TABLES[-1] and self.chance.random() < 0.5:
                    columns.append("t0.id")
                    order = f" ORDER BY {columns[0]} DESC, {_TOTAL}"
                return f"SELECT {', '.join(columns)} FROM {tables}{where}{order}"


@dataclass(slots=True)
class Outcome:
    """What a run found: ``wrong``: answers that differ, which there must be none of."""

    registered: int = 0
    anew: int = 0  # of these
    refused: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    stopped: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def _answers(rows: Iterable[Any], sql: str) -> list[str]:
    """A constant among decimals has its own digits, or those of a temporary table's column."""
    if _UNITED.search(sql):
        rows = [tuple(v.normalize() if isinstance(v, Decimal) else v for v in row) for row in rows]
    found = [repr(tuple(row)) for row in rows]
    return found if sql.endswith(_TOTAL) else sorted(found)


def run(server: Server, seed: int, queries: int, transactions: int, every: int) -> Outcome:
    """One schema with its queries; answers are compared after every so many transactions, and
    again with the same query registered anew."""
    chance, outcome = random.Random(seed), Outcome()
    schema = Schema(chance)
    server.query("DROP DATABASE IF EXISTS g")
    for statement in schema.make():
        server.query(statement)
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00'")
        for _ in range(20):
            cursor.execute(schema.dml())
        with live(settings_of(server), [f"g.{table}" for table in TABLES]) as kept:
            registered: list[KeptQuery] = []
            watched: dict[str, Counter[Any]] = {}
            while outcome.registered < queries:
                sql = schema.query()
                try:
                    name, told = f"{len(registered)} {seed}", chance.random() < 0.5
                    rows = Counter[Any]()
                    note = _noting(rows) if told else None
                    query = kept.register(sql, name=name, on_change=note, recompute=True)
                    registered.append(query)
                    if told:
                        watched[name] = rows
                    outcome.anew += "calculated anew" in kept.explain(sql)[0]
                    outcome.registered += 1
                except (UndeterminedError, UsageError) as error:
                    outcome.refused[str(error).rpartition(": ")[2]] += 1
            for number in range(transactions):
                for statement in schema.transaction(number):
                    cursor.execute(statement)
                if number % every == 0 or number == transactions - 1:
                    _compare(server, cursor, kept, registered, watched, outcome, number)
                    if outcome.wrong:
                        return outcome
    return outcome


def _noting(rows: Counter[Any]) -> Callable[[ViewChange], None]:
    """Takes a query's changes."""

    def note(change: ViewChange) -> None:
        for row, weight in change.rows:
            rows[row] += weight

    return note


def _compare(
    server: Server,
    cursor: Any,
    kept: Live,
    registered: list[KeptQuery],
    watched: Mapping[str, Counter[Any]],
    outcome: Outcome,
    number: int,
) -> None:
    reached(server, kept)
    for query in registered:
        cursor.execute(query.sql)
        theirs = _answers(cursor.fetchall(), query.sql)
        try:
            ours = _answers(query.rows(), query.sql)
        except UndeterminedError as error:
            outcome.stopped[str(error)] += 1
            continue
        outcome.compared += 1
        again = kept.register(query.sql, name=f"again {query.name} {number}", recompute=True)
        fresh = _answers(again.rows(), query.sql)
        again.drop()
        told = watched.get(query.name)
        if told is not None and sorted(_answers(told.elements(), query.sql)) != sorted(ours):
            outcome.wrong.append(f"after {number}: {query.sql}\n  here {ours}\n  told {told}")
        if ours != theirs or fresh != theirs:
            outcome.wrong.append(
                f"after {number}: {query.sql}\n  here {ours}\n  anew {fresh}\n  server {theirs}"
            )


def main() -> None:
    """The campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("seed", 1), ("queries", 100), ("transactions", 10_000), ("every", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--series", default="8.0")
    given = parser.parse_args()
    with start_series(given.series, {"binlog-row-image": "MINIMAL"}) as server:
        found = run(server, given.seed, given.queries, given.transactions, given.every)
    print(f"{found.registered} queries, {found.anew} of them calculated anew, "
          f"{sum(found.refused.values())} refused, "
          f"{found.compared} answers compared, {len(found.wrong)} wrong")  # fmt: skip
    for text, count in [*found.refused.most_common(12), *found.stopped.most_common(5)]:
        print(f"{count:6} {text}")
    for text in found.wrong[:10]:
        print(text)


if __name__ == "__main__":
    main()
