"""A seeded run of random DDL and DML on a real server, with books kept of what must be logged.

The generator never asks our reader anything: a :class:`Unit` says how many rows its statements
touched (the server's affected-rows counts), in which thread, and how it ended; a :class:`Mark` is
what the server's own SELECT said of every table at a position.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pymysql

from binlogkit.errors import ServerError
from binlogkit_fixtures.manifest import Table
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import read_tables
from tests.truth.random_columns import Column, charsets, literal_text, name_for, random_column

__all__ = ["Mark", "Model", "Unit", "Workload", "quoted"]

Place = tuple[str, int]


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(slots=True)
class Model:
    """A table as the generator made it."""

    db: str
    name: str
    columns: list[Column]
    key: list[str] = field(default_factory=list)
    engine: str = "InnoDB"
    plain: bool = True  # affected rows are the rows logged: no trigger
    temporary: bool = False
    parent: str | None = None
    partitioned: bool = False

    @property
    def sql(self) -> str:
        """Its quoted name."""
        return f"{quoted(self.db)}.{quoted(self.name)}"

    @property
    def writable(self) -> list[Column]:
        """The columns that take values."""
        return [c for c in self.columns if c.generated is None]


@dataclass(slots=True)
class Unit:
    """What one transaction (or DDL statement) did between two positions.

    ``counts``: rows by op, None where affected rows do not tell; ``mixed``: affected rows of
    REPLACE and ON DUPLICATE KEY UPDATE, which count 2 for one changed row; ``outcome``: as the log
    must tell it, None for nothing logged or where it depends; not ``sure`` where tables of engines
    that cannot roll back were written too.
    """

    kind: str
    thread: int
    start: Place
    end: Place = ("", 0)
    counts: Counter[str] | None = field(default_factory=Counter)
    mixed: int = 0
    outcome: str | None = None
    sure: bool = True
    xa: str | None = None
    gtid: str | None = None
    statements: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mark:
    """The server's tables at a position; ``moment``: the server's clock, in seconds."""

    place: Place
    gtids: str
    moment: float
    tables: dict[str, Table]
    creates: str


class Workload:
    """Runs random units on a server.

    ``formats``: binlog_format values that sessions choose from; ``wide``: columns that a table may
    have; ``partial``: whether documents may be logged as diffs.
    """

    def __init__(
        self,
        server: Server,
        seed: int,
        *,
        formats: tuple[str, ...] = ("ROW",),
        images: tuple[str, ...] = ("FULL", "MINIMAL", "NOBLOB"),
        ddl: bool = True,
        wide: int = 10,
        flush: bool = True,
        gtids: bool = True,
        partial: bool = True,
    ) -> None:
        self.random = Random(seed)
        self.server = server
        self.series = server.spec.version
        version = server.version.split(".")
        self.version = tuple(int(v) for v in version)
        self.formats, self.images, self.wide, self.flush = formats, images, wide, flush
        self.ddl = ddl
        self.gtids = gtids
        self.partial = partial
        self.units: list[Unit] = []
        self.marks: list[Mark] = []
        self.journal: list[str] = []
        self.errors: Counter[str] = Counter()
        self.models: list[Model] = []
        self.made = 0
        self.dbs = ["truth", "od`d 'db\".誠"] if self.random.random() < 0.5 else ["truth"]
        self.observer = server.connect()
        self.sessions = [server.connect(local_infile=True) for _ in range(3)]
        for db in self.dbs:
            self._observe(f"CREATE DATABASE {quoted(db)} CHARACTER SET utf8mb4")

    # ---- talking to the server ----------------------------------------------------------

    def _observe(self, sql: str) -> list[tuple[Any, ...]]:
        with self.observer.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def show_events(self, file: str) -> list[tuple[Any, ...]]:
        """SHOW BINLOG EVENTS of a file."""
        return self._observe(f"SHOW BINLOG EVENTS IN '{file}'")

    def place(self) -> Place:
        """Where the log ends."""
        newer = self.version >= (8, 2)
        row = self._observe(f"SHOW {'BINARY LOG' if newer else 'MASTER'} STATUS")[0]
        return str(row[0]), int(row[1])

    def pair(self, name: str) -> tuple[str, str]:
        """(db, table) of a name as the marks have it."""
        db = next(db for db in self.dbs if name.startswith(f"{db}."))
        return db, name[len(db) + 1 :]

    def run(self, session: Any, sql: str, unit: Unit | None = None) -> int | None:
        """Affected rows; None when the server refused."""
        self.journal.append(f"/* {session.thread_id()} */ {sql};")
        if unit is not None:
            unit.statements.append(sql)
        try:
            with session.cursor() as cursor:
                return int(cursor.execute(sql))
        except pymysql.Error as exc:
            self.errors[str(exc.args[0])] += 1
            self.journal.append(f"-- refused: {str(exc.args)[:300]!r}")
            if isinstance(exc, pymysql.InterfaceError) or exc.args[0] in (2006, 2013):
                raise
            return None

    @contextlib.contextmanager
    def unit(self, kind: str, session: Any) -> Iterator[Unit]:
        """A unit from here to where the block ends."""
        unit = Unit(kind, session.thread_id(), self.place())
        yield unit
        unit.end = self.place()
        if self.formats != ("ROW",):
            unit.counts = None
        self.units.append(unit)

    def tables(self) -> dict[str, Table]:
        """What the server's own SELECT says of every table."""
        self._observe("SET time_zone = '+00:00', sql_mode = ''")
        return read_tables(self.observer, self.dbs)

    def mark(self) -> None:
        """Keep what the server's tables hold now."""
        place = self.place()
        executed = ""
        if self.gtids:
            executed = str(self._observe("SELECT @@global.gtid_executed")[0][0]).replace("\n", "")
        tables = self.tables()
        moment = float(self._observe("SELECT UNIX_TIMESTAMP(NOW(6))")[0][0])
        creates = "".join(
            f"USE {quoted(self.pair(name)[0])};\n{table.create};\n"
            for name, table in tables.items()
        )
        assert self.place() == place
        self.marks.append(Mark(place, executed, moment, tables, creates))

    # ---- sessions -----------------------------------------------------------------------

    def session(self) -> Any:
        """One of the sessions, its settings thrown anew."""
        session = self.random.choice(self.sessions)
        pick = self.random.choice
        settings = [
            f"binlog_row_image = '{pick(self.images)}'",
            f"binlog_format = '{pick(self.formats)}'",
            f"binlog_rows_query_log_events = {pick(['ON', 'OFF'])}",
            f"sql_mode = '{pick(['', '', 'ANSI_QUOTES', 'NO_BACKSLASH_ESCAPES', ''])}'",
            f"time_zone = '{pick(['+00:00', '-11:30', '+05:45'])}'",
            f"foreign_key_checks = {pick([1, 1, 0])}",
            f"unique_checks = {pick([1, 1, 0])}",
        ]
        if self.version >= (8, 0, 3) and self.partial:
            settings.append(f"binlog_row_value_options = '{pick(['', 'PARTIAL_JSON'])}'")
        if self.version >= (8, 0, 20):
            settings.append(f"binlog_transaction_compression = {pick(['ON', 'OFF', 'OFF'])}")
        for setting in settings:
            self.run(session, f"SET {setting}")
        return session

    # ---- tables -------------------------------------------------------------------------

    def create(self) -> Model | None:
        """A new table, unless the server refused three proposals."""
        for _ in range(3):
            session = self.session()
            model = self._propose()
            with self.unit("ddl", session) as unit:
                done = self.run(session, self._create_sql(model), unit)
            if done is not None:
                self.models.append(model)
                return model
        return None

    def _propose(self) -> Model:
        random = self.random
        self.made += 1
        name = name_for(random, f"t{self.made}")
        count = random.choice([1, 2, 3, 5, random.randint(1, self.wide), self.wide])
        columns = [
            random_column(random, name_for(random, f"c{i}"), self.series) for i in range(count)
        ]
        columns = self._specials(columns)
        key: list[str] = []
        engine = "MyISAM" if random.random() < 0.1 else "InnoDB"
        return Model(random.choice(self.dbs), name, columns, key, engine)

    def _specials(self, columns: list[Column]) -> list[Column]:
        """Generated and invisible columns, where the series has them."""
        random = self.random
        if self.version >= (5, 7) and random.random() < 0.35:
            base = random.choice(columns)
            kind = random.choice(["VIRTUAL", "STORED"])
            column = Column(
                name_for(random, "gen"), "VARCHAR(20) CHARACTER SET utf8mb4", "text", lambda r: "",
                generated=f"GENERATED ALWAYS AS (IF({quoted(base.name)} IS NULL, NULL, "
                f"HEX(LENGTH({quoted(base.name)})))) {kind}",
            )  # fmt: skip
            columns = [*columns]
            columns.insert(random.randint(0, len(columns)), column)
        if self.version >= (8, 0, 23) and len(columns) > 1 and random.random() < 0.2:
            at = random.randrange(len(columns))
            if columns[at].generated is None:
                columns[at] = replace(columns[at], invisible=True, nullable=True)
        return columns

    def _create_sql(self, model: Model) -> str:
        random = self.random
        parts = []
        roll = random.random()
        indexable = [c for c in model.columns if c.kind not in ("blob", "json", "geometry")]
        indexable = [c for c in indexable if c.generated is None and c.kind != "vector"]
        narrow = [c for c in indexable if not c.sql.startswith(("VARCHAR(300", "VARBINARY(1000"))]
        partitions = ""
        if roll < 0.4:
            auto = Column("id", "INT", "integer", lambda r: str(r.randint(-50, 400)), False)
            model.columns.insert(random.choice([0, len(model.columns)]), auto)
            model.key = ["id"]
            auto_sql = f"{quoted('id')} INT NOT NULL{random.choice([' AUTO_INCREMENT', ''])}"
            parts = [auto_sql if c is auto else c.definition() for c in model.columns]
            parts.append("PRIMARY KEY (`id`)")
            if random.random() < 0.2 and model.engine == "InnoDB":
                model.partitioned = True
                partitions = random.choice(
                    [" PARTITION BY HASH (id) PARTITIONS 3", " PARTITION BY KEY (id) PARTITIONS 2",
                     " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), "
                     "PARTITION p1 VALUES LESS THAN (100), PARTITION p2 VALUES LESS THAN MAXVALUE)"]
                )  # fmt: skip
        else:
            chosen = random.sample(narrow, min(len(narrow), random.choice([1, 1, 2, 3])))
            if roll < 0.6 and chosen:
                model.key = [c.name for c in chosen]
                model.columns = [
                    replace(c, nullable=False, invisible=False) if c in chosen else c
                    for c in model.columns
                ]
            parts = [c.definition() for c in model.columns]
            names = ", ".join(quoted(c.name) for c in chosen)
            if roll < 0.6 and chosen:
                parts.append(f"PRIMARY KEY ({names})")
            elif roll < 0.8 and chosen:
                parts.append(f"UNIQUE KEY {quoted('u k')} ({names})")
        if narrow and random.random() < 0.3:
            parts.append(f"KEY ({quoted(random.choice(narrow).name)})")
        if self.version >= (8, 0, 13) and narrow and random.random() < 0.2 and not partitions:
            parts.append(f"KEY ((LENGTH({quoted(random.choice(narrow).name)}) + 1))")
        body = ", ".join(parts)
        options = random.choice(["", " COMMENT 'it''s'", " DEFAULT CHARSET=utf8mb4"])
        row_format = " ROW_FORMAT=DYNAMIC" if model.engine == "InnoDB" else ""
        create = random.choice(["CREATE TABLE", "create  table /* x */", "CREATE TABLE"])
        return (
            f"{create} {model.sql} ({body}) ENGINE={model.engine}{row_format}{options}{partitions}"
        )

    # ---- DML ----------------------------------------------------------------------------

    def _row(self, columns: list[Column]) -> str:
        return "(" + ", ".join(c.value(self.random) for c in columns) + ")"

    def _insert_sql(self, model: Model, verb: str = "INSERT") -> str:
        random = self.random
        columns = model.writable
        if random.random() < 0.3:
            kept = [c for c in columns if c.name in model.key or random.random() < 0.7]
            columns = kept or columns
        names = ", ".join(quoted(c.name) for c in columns)
        rows = ", ".join(self._row(columns) for _ in range(random.choice([1, 1, 2, 5, 20])))
        return f"{verb} INTO {model.sql} ({names}) VALUES {rows}"

    def _where(self, model: Model) -> str:
        random = self.random
        column = quoted(random.choice(model.columns).name)
        return random.choice(
            [" WHERE RAND() < 0.3", f" WHERE {column} IS NOT NULL LIMIT {random.randint(1, 5)}",
             f" LIMIT {random.randint(1, 9)}", "", f" WHERE {column} IS NULL",
             f" ORDER BY {column} LIMIT 2"]
        )  # fmt: skip

    def _assignments(self, model: Model, prefix: str = "") -> str:
        random = self.random
        chosen = random.sample(
            model.writable, min(len(model.writable), random.choice([1, 1, 2, 4]))
        )
        out = []
        for column in chosen:
            name = f"{prefix}{quoted(column.name)}"
            value = column.value(random)
            roll = random.random()
            if column.kind == "json" and roll < 0.6:
                paths = [
                    "'$.a'",
                    "'$.b'",
                    "'$[0]'",
                    "'$.\"c.d\"'",
                    "'$.o'",
                    "'$.b[1]'",
                    "'$[last]'",
                ]
                small = random.choice(
                    ["1", "'xyz'", "NULL", "JSON_ARRAY(1, 'é')", "1.5", "'" + "y" * 300 + "'"]
                )
                value = random.choice(
                    [f"JSON_SET({name}, {random.choice(paths)}, {small})",
                     f"JSON_REPLACE({name}, {random.choice(paths)}, {small})",
                     f"JSON_REMOVE({name}, {random.choice(paths[:6])})",
                     f"JSON_SET({name}, '$.b', {small}, {random.choice(paths)}, {small})"]
                )  # fmt: skip
            elif column.kind == "integer" and roll < 0.4:
                value = f"{name} + 1"
            elif roll < 0.05:
                value = name
            out.append(f"{name} = {value}")
        return ", ".join(out)

    def statement(self, session: Any, model: Model, unit: Unit) -> None:
        """One random DML statement, entered in the books."""
        random = self.random
        actions: list[tuple[float, Callable[[Any, Model, Unit], None]]] = [
            (5, self._insert), (4, self._update), (2, self._delete), (1, self._replace),
            (1, self._upsert), (0.7, self._insert_select), (0.7, self._join), (0.4, self._load),
            (0.3, self._truncated_delete),
        ]  # fmt: skip
        chosen = random.choices([a for _, a in actions], [w for w, _ in actions])[0]
        chosen(session, model, unit)

    def _book(self, unit: Unit, model: Model, op: str, affected: int | None) -> None:
        if model.engine != "InnoDB" or not model.plain:
            unit.counts = None
            unit.sure = unit.sure and model.engine == "InnoDB"
        if affected and unit.counts is not None and not model.temporary:
            if op == "mixed":
                unit.mixed += affected
            else:
                unit.counts[op] += affected

    def _insert(self, session: Any, model: Model, unit: Unit) -> None:
        verb = self.random.choice(["INSERT", "INSERT", "INSERT IGNORE"])
        self._book(unit, model, "insert", self.run(session, self._insert_sql(model, verb), unit))

    def _replace(self, session: Any, model: Model, unit: Unit) -> None:
        done = self.run(session, self._insert_sql(model, "REPLACE"), unit)
        self._book(unit, model, "mixed", done)

    def _upsert(self, session: Any, model: Model, unit: Unit) -> None:
        sql = f"{self._insert_sql(model)} ON DUPLICATE KEY UPDATE {self._assignments(model)}"
        self._book(unit, model, "mixed", self.run(session, sql, unit))

    def _insert_select(self, session: Any, model: Model, unit: Unit) -> None:
        others = [c for c in model.writable if not (c.name == "id" and model.key == ["id"])]
        if not others:
            return
        names = ", ".join(quoted(c.name) for c in others)
        sql = f"INSERT IGNORE INTO {model.sql} ({names}) SELECT {names} FROM {model.sql} LIMIT 6"
        self._book(unit, model, "insert", self.run(session, sql, unit))

    def _update(self, session: Any, model: Model, unit: Unit) -> None:
        ignore = self.random.choice(["", "", "IGNORE "])
        sql = f"UPDATE {ignore}{model.sql} SET {self._assignments(model)}{self._where(model)}"
        self._book(unit, model, "update", self.run(session, sql, unit))

    def _delete(self, session: Any, model: Model, unit: Unit) -> None:
        where = self._where(model) if self.random.random() < 0.9 else " LIMIT 3"
        sql = f"DELETE FROM {model.sql}{where or ' LIMIT 2'}"
        self._book(unit, model, "delete", self.run(session, sql, unit))

    def _truncated_delete(self, session: Any, model: Model, unit: Unit) -> None:
        self._book(unit, model, "delete", self.run(session, f"DELETE FROM {model.sql}", unit))

    def _join(self, session: Any, model: Model, unit: Unit) -> None:
        other = self.random.choice(self.models)
        if other is model or other.engine != "InnoDB" or not other.plain:
            return
        if self.random.random() < 0.5:
            a, b = self._assignments(model, "x."), self._assignments(other, "y.")
            sql = f"UPDATE {model.sql} x JOIN {other.sql} y SET {a}, {b} WHERE RAND() < 0.05"
            self._book(unit, model, "update", self.run(session, sql, unit))
        else:
            sql = f"DELETE x, y FROM {model.sql} x JOIN {other.sql} y WHERE RAND() < 0.02"
            self._book(unit, model, "delete", self.run(session, sql, unit))

    def _load(self, session: Any, model: Model, unit: Unit) -> None:
        """LOAD DATA LOCAL of numbers and short texts."""
        columns = [c for c in model.writable if c.kind in ("integer", "text", "decimal", "year")]
        if not columns:
            return
        lines = [
            "\t".join(self.random.choice(["1", "7", "\\N", "23", "5"]) for _ in columns)
            for _ in range(self.random.randint(1, 6))
        ]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            names = ", ".join(quoted(c.name) for c in columns)
            path = Path(file.name).as_posix()
            sql = f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {model.sql} ({names})"
            self._book(unit, model, "insert", self.run(session, sql, unit))

    # ---- transactions -------------------------------------------------------------------

    def one(self) -> None:
        """One random unit."""
        random = self.random
        if not self.models:
            self.create()
            return
        roll = random.random()
        if roll < 0.35:
            self.autocommit()
        elif roll < 0.6:
            self.transaction()
        elif roll < 0.68 and self.version >= (5, 7):
            self.xa()
        elif roll < 0.72:
            self.temporary()
        elif roll < 0.76 and self.flush:
            self.rotate()
        elif roll < 0.84 and len(self.models) < 14:
            self.create()
        elif self.ddl:
            self.change_table()
        else:
            self.transaction()

    def autocommit(self) -> None:
        """One statement by itself."""
        session, model = self.session(), self.random.choice(self.models)
        with self.unit("autocommit", session) as unit:
            self.statement(session, model, unit)
            unit.outcome = "committed"

    def transaction(self) -> None:
        """BEGIN, statements, savepoints, COMMIT or ROLLBACK."""
        random = self.random
        session = self.session()
        commit = random.random() < 0.75
        with self.unit("commit" if commit else "rollback", session) as unit:
            self.run(session, random.choice(["BEGIN", "START TRANSACTION"]), unit)
            self._body(session, unit)
            self.run(session, "COMMIT" if commit else "ROLLBACK", unit)
            if not commit and unit.counts is not None:
                unit.counts, unit.mixed = Counter(), 0
            unit.outcome = "committed" if commit else None

    def _body(self, session: Any, unit: Unit) -> None:
        random = self.random
        kept: tuple[Counter[str] | None, int] | None = None
        for _ in range(random.choice([1, 2, 4, 8])):
            self.statement(session, random.choice(self.models), unit)
            roll = random.random()
            if roll < 0.15:
                self.run(session, "SAVEPOINT `s'p`", unit)
                kept = (Counter(unit.counts) if unit.counts is not None else None, unit.mixed)
            elif roll < 0.25 and kept is not None:
                self.run(session, "ROLLBACK TO SAVEPOINT `s'p`", unit)
                if unit.counts is not None:
                    assert kept[0] is not None
                    unit.counts, unit.mixed = Counter(kept[0]), kept[1]

    def xa(self) -> None:
        """XA: prepared, something else in between, then decided."""
        random = self.random
        session = self.session()
        xid = f"'g{self.made}{random.randint(0, 9**9)}', 'b''q', {random.choice([1, 7, 2**31 - 1])}"
        one_phase = random.random() < 0.2
        decision = random.choice(["COMMIT", "COMMIT", "ROLLBACK"])
        with self.unit("xa", session) as unit:
            self.run(session, f"XA START {xid}", unit)
            self._body(session, unit)
            self.run(session, f"XA END {xid}", unit)
            if one_phase:
                self.run(session, f"XA COMMIT {xid} ONE PHASE", unit)
                unit.outcome = "committed"
            else:
                self.run(session, f"XA PREPARE {xid}", unit)
                unit.outcome = "committed" if decision == "COMMIT" else "rolled_back"
        if one_phase:
            return
        if random.random() < 0.4:
            others = [s for s in self.sessions if s is not session]
            with self.unit("autocommit", others[0]) as other:
                model = random.choice(self.models)
                self.run(others[0], "SET innodb_lock_wait_timeout = 1")
                self._insert(others[0], model, other)
                other.outcome = "committed"
        if random.random() < 0.3:
            self.mark()
        with self.unit("xa-end", session) as end:
            self.run(session, f"XA {decision} {xid}", end)

    def temporary(self) -> None:
        """A temporary table, written, read into a table, dropped."""
        random = self.random
        session, target = self.session(), random.choice(self.models)
        with self.unit("temporary", session) as unit:
            unit.counts = None
            name = f"{quoted(target.db)}.{quoted('tmp')}"
            like = random.choice(["LIKE", "SELECT * FROM"])
            self.run(session, f"CREATE TEMPORARY TABLE {name} {like} {target.sql}", unit)
            self.run(session, f"INSERT IGNORE INTO {name} SELECT * FROM {target.sql}", unit)
            self.run(session, f"INSERT IGNORE INTO {target.sql} SELECT * FROM {name} LIMIT 3", unit)
            self.run(session, f"DROP TEMPORARY TABLE IF EXISTS {name}", unit)

    def rotate(self) -> None:
        """FLUSH BINARY LOGS, or a global setting that changes the log's form."""
        choices = ["FLUSH BINARY LOGS", "FLUSH BINARY LOGS"]
        choices += ["SET GLOBAL binlog_checksum = NONE", "SET GLOBAL binlog_checksum = CRC32"]
        if self.version >= (8, 0, 1):
            choices += ["SET GLOBAL binlog_row_metadata = FULL"] * 2
            choices += ["SET GLOBAL binlog_row_metadata = MINIMAL"] * 2
        with self.unit("admin", self.observer) as unit:
            self.run(self.observer, self.random.choice(choices), unit)

    # ---- DDL between --------------------------------------------------------------------

    def change_table(self) -> None:
        """One random change of a table's structure, or something beside tables."""
        random = self.random
        model = random.choice(self.models)
        actions: list[Callable[[Any, Model, Unit], None]] = [
            self._add_column, self._add_column, self._drop_column, self._modify,
            self._rename_column, self._rename, self._truncate, self._create_like,
            self._create_select, self._drop_key, self._index, self._convert, self._drop,
            self._trigger, self._procedure, self._child,
            self._beside, self._rebuild,
        ]  # fmt: skip
        session = self.session()
        with self.unit("ddl", session) as unit:
            unit.counts = None
            random.choice(actions)(session, model, unit)

    def _column_name(self, stem: str) -> str:
        self.made += 1
        return name_for(self.random, f"{stem}{self.made}")

    def _add_column(self, session: Any, model: Model, unit: Unit) -> None:
        random = self.random
        column = random_column(random, self._column_name("a"), self.series)
        at = random.randint(0, len(model.columns))
        where = " FIRST" if at == 0 else f" AFTER {quoted(model.columns[at - 1].name)}"
        if at == len(model.columns) and random.random() < 0.7:
            where = ""
        sql = f"ALTER TABLE {model.sql} ADD COLUMN {column.definition()}{where}"
        if self.run(session, sql, unit) is not None:
            model.columns.insert(at, column)

    def _drop_column(self, session: Any, model: Model, unit: Unit) -> None:
        random = self.random
        free = [c for c in model.columns if c.name not in model.key]
        if len(model.columns) < 3 or not free:
            return
        column = random.choice(free)
        if (
            self.run(session, f"ALTER TABLE {model.sql} DROP {quoted(column.name)}", unit)
            is not None
        ):
            model.columns.remove(column)

    def _modify(self, session: Any, model: Model, unit: Unit) -> None:
        random = self.random
        at = random.randrange(len(model.columns))
        column = model.columns[at]
        if column.generated is not None or (column.name == "id" and model.key == ["id"]):
            return
        new = random_column(random, column.name, self.series)
        verb = random.choice(["MODIFY", "MODIFY COLUMN", f"CHANGE {quoted(column.name)}"])
        if (
            self.run(session, f"ALTER TABLE {model.sql} {verb} {new.definition()}", unit)
            is not None
        ):
            model.columns[at] = new

    def _rename_column(self, session: Any, model: Model, unit: Unit) -> None:
        at = self.random.randrange(len(model.columns))
        column = model.columns[at]
        if column.generated is not None or column.name in model.key:
            return
        new = replace(column, name=self._column_name("r"))
        sql = f"ALTER TABLE {model.sql} CHANGE {quoted(column.name)} {new.definition()}"
        if self.version >= (8, 0) and self.random.random() < 0.5:
            sql = (
                f"ALTER TABLE {model.sql} RENAME COLUMN {quoted(column.name)} TO {quoted(new.name)}"
            )
        if self.run(session, sql, unit) is not None:
            model.columns[at] = new

    def _rename(self, session: Any, model: Model, unit: Unit) -> None:
        db = self.random.choice(self.dbs)
        name = self._column_name("t")
        new = f"{quoted(db)}.{quoted(name)}"
        sql = self.random.choice(
            [f"RENAME TABLE {model.sql} TO {new}", f"ALTER TABLE {model.sql} RENAME TO {new}"]
        )
        if self.run(session, sql, unit) is not None:
            model.db, model.name = db, name

    def _truncate(self, session: Any, model: Model, unit: Unit) -> None:
        self.run(session, f"TRUNCATE {self.random.choice(['', 'TABLE '])}{model.sql}", unit)

    def _copy(self, model: Model, name: str) -> Model:
        return Model(model.db, name, list(model.columns), list(model.key), model.engine)

    def _create_like(self, session: Any, model: Model, unit: Unit) -> None:
        copy = self._copy(model, self._column_name("l"))
        copy.plain = True
        copy.partitioned = model.partitioned
        if self.run(session, f"CREATE TABLE {copy.sql} LIKE {model.sql}", unit) is not None:
            self.models.append(copy)

    def _create_select(self, session: Any, model: Model, unit: Unit) -> None:
        copy = self._copy(model, self._column_name("s"))
        copy.key, copy.engine = [], "InnoDB"
        copy.columns = [
            replace(c, generated=None, invisible=False) for c in model.columns if not c.invisible
        ]
        copy.columns = [
            replace(c, literal=lambda r: "'1'") if o.generated else c
            for c, o in zip(
                copy.columns, [c for c in model.columns if not c.invisible], strict=True
            )
        ]
        sql = f"CREATE TABLE {copy.sql} ENGINE=InnoDB SELECT * FROM {model.sql}"
        if self.run(session, sql, unit) is not None:
            self.models.append(copy)

    def _drop_key(self, session: Any, model: Model, unit: Unit) -> None:
        if not model.key or model.partitioned:
            return
        if self.run(session, f"ALTER TABLE {model.sql} DROP PRIMARY KEY", unit) is not None:
            model.key = []

    def _index(self, session: Any, model: Model, unit: Unit) -> None:
        column = self.random.choice(model.columns)
        unique = self.random.choice(["", "UNIQUE "])
        sql = f"ALTER TABLE {model.sql} ADD {unique}KEY `i{self.made}` ({quoted(column.name)})"
        self.run(session, sql, unit)
        self.made += 1

    def _convert(self, session: Any, model: Model, unit: Unit) -> None:
        charset = self.random.choice(charsets(self.series))
        sql = self.random.choice(
            [f"ALTER TABLE {model.sql} CONVERT TO CHARACTER SET {charset}",
             f"ALTER TABLE {model.sql} DEFAULT CHARACTER SET utf8mb4"]
        )  # fmt: skip
        self.run(session, sql, unit)

    def _rebuild(self, session: Any, model: Model, unit: Unit) -> None:
        sql = self.random.choice(
            [f"OPTIMIZE TABLE {model.sql}", f"ALTER TABLE {model.sql} ENGINE=InnoDB",
             f"ANALYZE TABLE {model.sql}", f"ALTER TABLE {model.sql} FORCE"]
        )  # fmt: skip
        if self.run(session, sql, unit) is not None and "ENGINE=InnoDB" in sql:
            model.engine = "InnoDB"

    def _drop(self, session: Any, model: Model, unit: Unit) -> None:
        if len(self.models) < 4:
            return
        if self.run(session, f"DROP TABLE {model.sql}", unit) is not None:
            self.models.remove(model)

    def _trigger(self, session: Any, model: Model, unit: Unit) -> None:
        """A trigger that writes to another table."""
        target = self.random.choice(self.models)
        columns = [c for c in target.writable if c.kind in ("integer", "text", "year")]
        if target is model or not columns:
            return
        column = self.random.choice(columns)
        when = self.random.choice(["AFTER INSERT", "BEFORE UPDATE", "AFTER DELETE"])
        sql = (
            f"CREATE TRIGGER {quoted(model.db)}.`tr{self.made}` {when} ON {model.sql} FOR EACH ROW "
            f"INSERT IGNORE INTO {target.sql} ({quoted(column.name)}) VALUES (1)"
        )
        self.made += 1
        if self.run(session, sql, unit) is not None:
            model.plain = False

    def _procedure(self, session: Any, model: Model, unit: Unit) -> None:
        """A procedure of several statements, and its call."""
        name = f"{quoted(self.dbs[0])}.`p{self.made}`"
        self.made += 1
        body = "; ".join(
            [self._insert_sql(model, "INSERT IGNORE"), f"DELETE FROM {model.sql} LIMIT 1"]
        )
        made = self.run(session, f"CREATE PROCEDURE {name}() BEGIN {body}; END", unit)
        if made is not None:
            self.run(session, f"CALL {name}()", unit)

    def _child(self, session: Any, model: Model, unit: Unit) -> None:
        """A child table whose rows follow its parent's by a foreign key."""
        if model.key != ["id"] or model.partitioned or model.engine != "InnoDB":
            return
        self.made += 1
        reference = Column("parent", "INT", "integer", lambda r: str(r.randint(-50, 100)))
        note = Column("note", "VARCHAR(20)", "text", lambda r: literal_text("x" * r.randint(0, 9)))
        rule = self.random.choice(["ON DELETE CASCADE ON UPDATE CASCADE", "ON DELETE SET NULL", ""])
        child = Model(model.db, f"child{self.made}", [reference, note])
        sql = (
            f"CREATE TABLE {child.sql} (`parent` INT NULL, `note` VARCHAR(20) NULL, "
            f"FOREIGN KEY (parent) REFERENCES {model.sql} (id) {rule}) ENGINE=InnoDB "
            "DEFAULT CHARSET=utf8mb4"
        )
        if self.run(session, sql, unit) is not None:
            self.models.append(child)
            model.plain = self.version < (9, 6)  # from 9.6 the child's rows are logged

    def _beside(self, session: Any, model: Model, unit: Unit) -> None:
        """Statements that are logged and change no table's rows."""
        self.made += 1
        db = quoted(self.dbs[0])
        sql = self.random.choice(
            [f"CREATE OR REPLACE VIEW {db}.v AS SELECT 1 AS one", f"DROP VIEW IF EXISTS {db}.v",
             f"CREATE USER 'u{self.made}'@'%' IDENTIFIED BY 'Secret-{self.made}'",
             f"CREATE DATABASE IF NOT EXISTS {db}",
             f"CREATE TABLE IF NOT EXISTS {model.sql} (other INT)",
             f"DROP TABLE IF EXISTS {db}.`never there`",
             f"CREATE FUNCTION {db}.f{self.made}() RETURNS INT DETERMINISTIC RETURN 1",
             f"CREATE EVENT {db}.e{self.made} ON SCHEDULE EVERY 1 DAY DO SELECT 1",
             "FLUSH TABLES"]
        )  # fmt: skip
        self.run(session, sql, unit)

    # ---- whole runs ---------------------------------------------------------------------

    def go(self, units: int, every: int) -> None:
        """So many units, a mark after each ``every``."""
        for _ in range(4):
            self.create()
        for number in range(units):
            self.one()
            if number % every == every - 1:
                self.mark()
        self.mark()

    def calm(self, units: int) -> tuple[Mark, Mark]:
        """So many units of row changes alone, between two marks in one log file."""
        self.models = [m for m in self.models if m.engine == "InnoDB" and m.plain]
        self.run(self.observer, "FLUSH BINARY LOGS")
        self.mark()
        for _ in range(units):
            self.random.choice([self.autocommit, self.transaction])()
        self.mark()
        return self.marks[-2], self.marks[-1]

    def close(self) -> None:
        """End the sessions."""
        for session in [*self.sessions, self.observer]:
            with contextlib.suppress(pymysql.Error, ServerError):
                session.close()
