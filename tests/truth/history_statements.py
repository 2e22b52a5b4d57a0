"""Statements of random histories: tables with foreign keys, and what is done to rows and tables.

Each statement is made for the tables as they are, so that most of them do something; the server may
refuse any. Tables and columns have comments that tell which they are, whatever they are called
later: ``t3``, ``c17``. The tables are those of the database ``h``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

from binlogkit_fixtures.manifest import Table

#: Steps that are no statements: what is undone begins here, ends here; the server starts again.
MARK, STOP, RESTART = "-- mark", "-- stop", "-- restart"

#: Values by the first word of a type.
VALUES: Mapping[str, Sequence[str]] = {
    "int": ("0", "1", "2", "3", "4", "5", "6", "7", "-1"),
    "bigint": ("0", "1", "2", "3", "4", "5", "6", "18446744073709551615"),
    "varchar": ("'a'", "'A'", "'b'", "'c'", "'d'", "'é'", "'b '", "''", "'7'", "'e'", "'f'"),
    "char": ("'a'", "'B'", "'b'", "'c'", "'d'", "'3'", "'e'", "'f'"),
    "decimal": ("0", "1.5", "2", "3.25", "-1", "4", "5", "6"),
    "datetime": ("'2024-01-01'", "'2024-02-29 12:30:00.125'", "'2020-12-31 23:59:59.999'",
                 "'2021-01-01'", "'2022-01-01 00:00:01'", "'2023-05-06 07:08:09.1'"),
    "timestamp": ("'2024-01-01 00:00:01'", "'2024-02-29 12:30:00'", "'2031-01-01 00:00:00'"),
    "date": ("'2024-01-01'", "'2024-02-29'", "'1999-12-31'", "'2030-06-30'", "'2021-01-01'",
             "'2022-01-01'", "'2023-01-01'"),
    "time": ("'00:00:00'", "'-01:02:03'", "'838:59:59'", "'12:00:00'"),
    "year": ("1999", "2024", "2000"),
    "enum": ("'x'", "'y'", "'z'"),
    "set": ("'p'", "'p,r'", "''", "'q'"),
    "text": ("'a text'", "''", "'Ünï'", "'a'"),
    "blob": ("x'00ff'", "''", "'a'"),
    "bit": ("b'0'", "b'1'", "b'101'"),
    "double": ("0", "1.5", "-0.1", "1e10"),
}  # fmt: skip
KEYS = ("INT", "INT", "INT", "BIGINT UNSIGNED", "VARCHAR(8) CHARSET latin1",
        "VARCHAR(8) CHARSET utf8mb4 COLLATE utf8mb4_bin", "CHAR(4) CHARSET ascii",
        "DECIMAL(6,2)", "DATE", "DATETIME(3)")  # fmt: skip
TYPES = (
    "INT", "BIGINT UNSIGNED", "VARCHAR(8) CHARSET utf8mb4", "VARCHAR(12) CHARSET latin1",
    "CHAR(5) CHARSET latin1", "CHAR(4) CHARSET utf8mb4", "DECIMAL(6,2)", "DATETIME(3)",
    "TIMESTAMP NULL", "DATE", "TIME", "YEAR", "ENUM('x','y','z')", "SET('p','q','r')", "TEXT",
    "BLOB", "BIT(6)", "DOUBLE",
)  # fmt: skip
#: What a type may become.
CHANGED = {
    "int": ("BIGINT", "INT UNSIGNED", "VARCHAR(20) CHARSET latin1", "DECIMAL(12,1)", "SMALLINT"),
    "bigint": ("BIGINT", "DECIMAL(24,0)", "INT"),
    "varchar": ("VARCHAR(20) CHARSET utf8mb4", "TEXT", "VARCHAR(3) CHARSET latin1", "CHAR(20)",
                "VARCHAR(8) CHARSET utf8mb4 COLLATE utf8mb4_bin"),
    "char": ("CHAR(9) CHARSET utf8mb4", "VARCHAR(9) CHARSET latin1"),
    "decimal": ("DECIMAL(8,3)", "DECIMAL(6,1)", "INT", "DOUBLE"),
    "datetime": ("DATETIME(6)", "DATETIME", "DATE"),
    "timestamp": ("TIMESTAMP(3) NULL", "DATETIME"),
    "enum": ("ENUM('x','y','z','w')", "ENUM('z','y','x')", "VARCHAR(4)"),
    "set": ("SET('p','q','r','s')", "SET('r','q','p')"),
    "text": ("LONGTEXT", "VARCHAR(30)"),
    "bit": ("BIT(9)", "INT"),
    "time": ("TIME(3)",), "date": ("DATETIME",), "year": ("INT",), "blob": ("LONGBLOB",),
    "double": ("DECIMAL(20,4)",),
}  # fmt: skip
#: Tables by their first names: the parent, the engine, and whether there is a primary key.
FAMILY = {
    "p": ("", "InnoDB", True), "c": ("p", "InnoDB", True), "o": ("p", "InnoDB", True),
    "g": ("c", "InnoDB", True), "s": ("s", "InnoDB", True), "k": ("", "InnoDB", False),
    "m": ("", "MyISAM", True), "y": ("", "MEMORY", True),
}  # fmt: skip
#: What a unique key over an expression holds (from 8.0.13 on), by the first word of a type.
EXPRESSIONS = {
    "int": ("{} + 1", "ABS({})", "{} IS NULL"), "bigint": ("{} % 7",), "decimal": ("{} * 2",),
    "varchar": ("LOWER({})", "LEFT({}, 1)", "CONCAT({}, 'x')"), "char": ("LOWER({})", "HEX({})"),
    "date": ("YEAR({})",), "datetime": ("DATE({})", "YEAR({})"), "enum": ("CONCAT({}, '')",),
}  # fmt: skip
ACTIONS = ("CASCADE", "CASCADE", "SET NULL", "RESTRICT", "NO ACTION")
_FOREIGN = re.compile(r"CONSTRAINT `(f\d+)` FOREIGN KEY \(`(\w+)`\) REFERENCES `(\w+)` \(`(\w+)`\)")
_INDEX = re.compile(r"^  (?:UNIQUE )?KEY `(i\d+)`", re.MULTILINE)
_LINE = re.compile(r"^  (`(\w+)` .*?),?$", re.MULTILINE)


class Statements:
    """Where statements come from. ``version``: the server's; ``outside``: some ALTERs are not
    logged; ``tables``, ``triggers``: what there is now, set from outside."""

    def __init__(self, chance: random.Random, version: tuple[int, ...], *, outside: bool) -> None:
        self.chance, self.version, self.outside = chance, version, outside
        self.tables: Mapping[str, Table] = {}
        self.triggers: Sequence[str] = ()
        self._count = 0
        self._key = chance.choice(KEYS)
        # How often rows are changed as text, triggers made, tables altered.
        self._texts, self._triggers = chance.choice((0, 0, 3)), chance.choice((0, 0, 4))
        self._ddl = chance.choice((0.2, 1, 2))
        self._unchecked = chance.choice((0, 5, 20))

    def beginning(self) -> list[str]:
        """The tables, and some rows of each."""
        names = [name for name in FAMILY if name in "pcgs" or self.chance.random() < 0.5]
        made = [self.create(name) for name in names]
        made.append("CREATE TABLE a (n INT, w VARCHAR(20), id INT) COMMENT 't0'")
        return made

    def create(self, name: str) -> str:
        """A table of the family, with columns as chance has it."""
        parent, engine, keyed = FAMILY[name[0]]
        parts = [f"{name}id {self._key} NOT NULL COMMENT '{self._number('c')}'"]
        if parent:
            parts.append(f"up {self._key} NULL COMMENT '{self._number('c')}'")
        parts += [self._column(f"v{i}", engine) for i in range(self.chance.choice((1, 2, 3)))]
        if self.chance.random() < 0.2 and engine == "InnoDB":
            kind = self.chance.choice(("VIRTUAL", "STORED"))
            parts.append(f"x VARCHAR(30) AS (CONCAT({name}id, '.')) {kind} "
                         f"COMMENT '{self._number('c')}'")  # fmt: skip
        short = any(p.startswith("v0 ") and _word(p[3:]) not in ("text", "blob") for p in parts)
        null = any(p.startswith("v0 ") and " NULL" in p.replace("NOT NULL", "") for p in parts)
        # Since 8.4 a foreign key needs a unique key of exactly what it refers to.
        several = self.version < (8, 4) or name[0] not in {p for p, *_ in FAMILY.values()}
        key = f"{name}id"
        if several and short and not null and self.chance.random() < 0.2:
            key = self.chance.choice((f"{key}, v0", f"{key}, v0", f"v0, {key}"))
        parts += [f"PRIMARY KEY ({key})"] if keyed else []
        parts += [f"KEY ({name}id)"] if key.startswith("v0") else []
        if self.chance.random() < 0.3 and engine == "InnoDB" and short:
            parts.append(f"UNIQUE KEY {self._number('i')} (v0)")
        if self.chance.random() < 0.3 and engine == "InnoDB":
            kind = next(_word(p[3:]) for p in parts if p.startswith("v0 "))
            parts += [f"UNIQUE KEY {self._number('i')} {one}" for one in self._over("v0", kind)]
        of = parent if parent == name else next(iter(self._named(parent)), parent)
        column = self._columns(of)[0] if of in self.tables else f"{parent}id"
        parts += [self._foreign("up", of, column)] if parent else []
        return (
            f"CREATE TABLE {name} ({', '.join(parts)}) ENGINE={engine} "
            f"COMMENT '{self._number('t')}'"
        )

    def step(self) -> list[str]:
        """Statements that belong together, most often one."""
        ddl = self._ddl
        kinds: list[tuple[float, Callable[[], list[str]]]] = [
            (46, lambda: [self.change()]),
            (6, self._transaction),
            (self._texts, self._as_text),
            (36 * ddl, lambda: [self.alter()]),
            (7 * ddl, self._rename),
            (self._triggers, lambda: [self._trigger()]),
            (4 * ddl, lambda: [f"TRUNCATE TABLE {self._any()}"]),
            (4 * ddl, self._again),
            (3, lambda: ["SET foreign_key_checks = 1 - @@foreign_key_checks"]),
            (self._unchecked, self._without_checks),
            (0.5, lambda: ["FLUSH BINARY LOGS"]),
        ]
        if self.outside:
            kinds.append((6, lambda: ["SET sql_log_bin = 0", self.alter(), "SET sql_log_bin = 1"]))
        makes = [make for _, make in kinds]
        return self.chance.choices(makes, [weight for weight, _ in kinds])[0]()

    # ---- rows -----------------------------------------------------------------------------

    def change(self) -> str:
        """A change of rows."""
        chance, name = self.chance, self._any()
        columns = self._writable(name)
        if not columns:
            return f"DELETE FROM {name}"
        kinds = [self._insert, self._insert, self._insert, self._update, self._update,
                 self._update, self._delete, self._delete, self._several, self._select]  # fmt: skip
        return chance.choice(kinds)(name, columns)

    def _insert(self, name: str, columns: Sequence[str]) -> str:
        chance = self.chance
        word = chance.choice(("INSERT INTO", "INSERT INTO", "INSERT IGNORE INTO", "REPLACE INTO"))
        needed = self._needed(name)
        some = [c for c in columns if chance.random() < (0.97 if c in needed else 0.8)]
        some = some or [columns[0]]
        count = chance.choice((1, 1, 2, 3))
        rows = ", ".join(f"({', '.join(self._value(name, c) for c in some)})" for _ in range(count))
        text = f"{word} {name} ({', '.join(some)}) VALUES {rows}"
        if word == "INSERT INTO" and chance.random() < 0.25:
            text += f" ON DUPLICATE KEY UPDATE {self._set(name, columns)}"
        return text

    def _update(self, name: str, columns: Sequence[str]) -> str:
        more = ", " + self._set(name, columns) if self.chance.random() < 0.3 else ""
        return f"UPDATE {name} SET {self._set(name, columns)}{more}{self._where(name, columns)}"

    def _delete(self, name: str, columns: Sequence[str]) -> str:
        return f"DELETE FROM {name}{self._where(name, columns)}"

    def _several(self, name: str, columns: Sequence[str]) -> str:
        """Of two tables at once."""
        other = self._any()
        theirs = self._writable(other)
        if other == name or not theirs:
            return self._delete(name, columns)
        mine, their = self.chance.choice(columns), self.chance.choice(theirs)
        join = f"{name} JOIN {other} ON {name}.{mine} = {other}.{their}"
        if self.chance.random() < 0.4:
            return f"DELETE {name}, {other} FROM {join}"
        first, second = self.chance.choice(columns), self.chance.choice(theirs)
        return (
            f"UPDATE {join} SET {name}.{first} = {self._value(name, first)}, "
            f"{other}.{second} = {self._value(other, second)}"
        )

    def _select(self, name: str, columns: Sequence[str]) -> str:
        other = self._any()
        theirs = self._writable(other) or ["1"]
        needed = self._needed(name)
        some = [c for c in columns if c in needed or self.chance.random() < 0.7] or [columns[0]]
        read = [
            self.chance.choice(theirs) if self.chance.random() < 0.5 else self._plain(name, c)
            for c in some
        ]
        return (
            f"INSERT IGNORE INTO {name} ({', '.join(some)}) SELECT {', '.join(read)} FROM {other}"
        )

    def _set(self, name: str, columns: Sequence[str]) -> str:
        column = self.chance.choice(columns)
        return f"{column} = {self._value(name, column)}"

    def _where(self, name: str, columns: Sequence[str]) -> str:
        column = self.chance.choice((columns[0], columns[0], *columns[:3]))
        one = self._plain(name, column)
        return self.chance.choice(
            ("" if self.chance.random() < 0.3 else f" WHERE {column} <= {one}",
             f" WHERE {column} = {one}", f" WHERE {column} = {one}",
             f" WHERE {column} IN ({one}, {self._plain(name, column)})",
             f" WHERE {column} >= {one} ORDER BY {column} DESC", f" WHERE {column} IS NULL",
             f" ORDER BY {column} LIMIT 1")
        )  # fmt: skip

    def _transaction(self) -> list[str]:
        steps = ["BEGIN", *(self.change() for _ in range(self.chance.choice((1, 2, 3))))]
        if self.chance.random() < 0.4:
            steps += ["SAVEPOINT s", *(self.change() for _ in range(2)), "ROLLBACK TO s"]
            steps += [self.change()] if self.chance.random() < 0.5 else []
        return [*steps, "ROLLBACK" if self.chance.random() < 0.3 else "COMMIT"]

    def _as_text(self) -> list[str]:
        text = self.change() if self.chance.random() < 0.6 else f"DELETE FROM {self._any()}"
        return ["SET binlog_format = STATEMENT", text, "SET binlog_format = ROW"]

    def _without_checks(self) -> list[str]:
        """A row that may refer to nothing, and a parent's row that may come to be what it refers
        to."""
        name = self.chance.choice(self._named("c") or self._named("g") or [self._any()])
        off, on = (f"SET foreign_key_checks = {number}" for number in (0, 1))
        row = self._insert(name, self._writable(name) or ["x"])
        found = _FOREIGN.findall(self.tables[name].create if name in self.tables else "")
        parent, of = self.chance.choice([key[2:] for key in found] or [(self._any(), "x")])
        if parent not in self.tables:
            return [off, row, on]
        value = self.chance.choice(VALUES[self._kind(parent, of)])
        if found and self.chance.random() < 0.8:
            own = found[0][1]
            needed = sorted(self._needed(name) - {own})
            columns = [own, *needed]
            values = [value, *(self._plain(name, column) for column in needed)]
            row = f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join(values)})"
        change = f"UPDATE {parent} SET {of} = {value} LIMIT 1"
        return [off, row, on, change]

    # ---- tables ---------------------------------------------------------------------------

    def alter(self) -> str:
        """An ALTER TABLE of one table, or an index by its own statement."""
        name = self._any()
        makes = [self._add, self._add, self._drop_column, self._modify, self._modify,
                 self._rename_column, self._rename_column, self._default, self._index,
                 self._foreign_keys, self._foreign_keys, self._foreign_keys,
                 self._primary_key, self._visible]  # fmt: skip
        done = [self.chance.choice(makes)(name)]
        if self.chance.random() < 0.15:
            done.append(self.chance.choice(makes)(name))
        return f"ALTER TABLE {name} {', '.join(done)}"

    def _add(self, name: str) -> str:
        where = self.chance.choice(("", "", " FIRST", f" AFTER {self._one(name)}"))
        return f"ADD COLUMN {self._column(self._number('n'), self.tables[name].engine)}{where}"

    def _drop_column(self, name: str) -> str:
        return f"DROP COLUMN {self.chance.choice(self._columns(name)[1:] or ['x'])}"

    def _modify(self, name: str) -> str:
        column = self._one(name)
        kind = self._kind(name, column)
        new = self.chance.choice((*CHANGED.get(kind, ("TEXT",)), self._key))
        nulls = ("NULL", "NULL", "NOT NULL")
        null = self.chance.choice(nulls[2:] if column in self.tables[name].primary_key else nulls)
        where = self.chance.choice(("", "", "", " FIRST"))
        comment = f"COMMENT '{self._comment(name, column)}'"
        return f"MODIFY {column} {new.removesuffix(' NULL')} {null} {comment}{where}"

    def _rename_column(self, name: str) -> str:
        column = self._one(name)
        new = self._number(self.chance.choice(("r", column[0])))
        if self.version >= (8,) and self.chance.random() < 0.5:
            return f"RENAME COLUMN {column} TO {new}"
        lines = {b: a for a, b in _LINE.findall(self.tables[name].create)}
        return f"CHANGE {column} {lines.get(column, f'`{column}` INT').replace(column, new, 1)}"

    def _default(self, name: str) -> str:
        column = self._one(name)
        if self.chance.random() < 0.3:
            return f"ALTER {column} DROP DEFAULT"
        return f"ALTER {column} SET DEFAULT {self._value(name, column)}"

    def _index(self, name: str) -> str:
        found = _INDEX.findall(self.tables[name].create)
        if found and self.chance.random() < 0.5:
            return f"DROP KEY {self.chance.choice(found)}"
        unique = "UNIQUE " if self.chance.random() < 0.3 else ""
        column = self._one(name)
        over = self._over(column, self._kind(name, column)) if self.chance.random() < 0.3 else []
        return f"ADD {unique}KEY {self._number('i')} {over[0] if over else f'({column})'}"

    def _foreign_keys(self, name: str) -> str:
        """One is dropped, made again with other actions, or made."""
        found = _FOREIGN.findall(self.tables[name].create)
        if found:
            key, column, parent, of = self.chance.choice(found)
            again = f", ADD {self._foreign(column, parent, of)}"
            return f"DROP FOREIGN KEY {key}{again if self.chance.random() < 0.5 else ''}"
        parent = FAMILY.get(name[0], ("",))[0] or "p"
        of = self.chance.choice(self._named(parent) or [parent])
        column = self.chance.choice(self._columns(name)[:3])
        return (
            f"ADD {self._foreign(column, of, self._columns(of)[0] if of in self.tables else 'v')}"
        )

    def _primary_key(self, name: str) -> str:
        if not self.tables[name].primary_key:
            return f"ADD PRIMARY KEY ({self._one(name)})"
        columns = dict.fromkeys((self._one(name), self._columns(name)[0]))
        again = f", ADD PRIMARY KEY ({', '.join(columns)})"
        return f"DROP PRIMARY KEY{again if self.chance.random() < 0.8 else ''}"

    def _visible(self, name: str) -> str:
        if self.version < (8, 0, 23):
            return "COMMENT = 't0'" if name == "a" else "ROW_FORMAT = DYNAMIC"
        word = self.chance.choice(("VISIBLE", "INVISIBLE"))
        return f"ALTER COLUMN {self._one(name)} SET {word}"

    def _rename(self) -> list[str]:
        name, other = self._any(), self._any()
        if self.chance.random() < 0.2 and name[0] != other[0]:
            return [f"RENAME TABLE {name} TO swap, {other} TO {name}, swap TO {other}"]
        new = name[0] if len(name) > 1 and self.chance.random() < 0.7 else name[0] + "2"
        by = self.chance.choice(
            (f"RENAME TABLE {name} TO {new}", f"ALTER TABLE {name} RENAME {new}")
        )
        return [by]

    def _again(self) -> list[str]:
        """A table is dropped, and most often made again."""
        name = self.chance.choice([n for n in self.tables if n[0] in FAMILY] or ["p"])
        made = [self.create(name)] if self.chance.random() < 0.8 else []
        return [f"DROP TABLE {name}", *made]

    def _trigger(self) -> str:
        if self.triggers and self.chance.random() < 0.4:
            return f"DROP TRIGGER {self.chance.choice(self.triggers)}"
        name = self._any()
        when = self.chance.choice(("BEFORE", "AFTER"))
        what = self.chance.choice(("INSERT", "UPDATE", "DELETE"))
        row = "OLD" if what == "DELETE" else "NEW"
        column = self._one(name)
        body = [f"INSERT INTO a (w) VALUES ({row}.{column})", self.change()]
        if when == "BEFORE" and row == "NEW":
            body.append(f"SET NEW.{column} = {self._value(name, column)}")
        act = self.chance.choice(body)
        return f"CREATE TRIGGER {self._number('tr')} {when} {what} ON {name} FOR EACH ROW {act}"

    # ---- parts ----------------------------------------------------------------------------

    def _foreign(self, column: str, parent: str, of: str) -> str:
        delete, update = self.chance.choice(ACTIONS), self.chance.choice(ACTIONS)
        return (
            f"CONSTRAINT {self._number('f')} FOREIGN KEY ({column}) REFERENCES {parent} ({of}) "
            f"ON DELETE {delete} ON UPDATE {update}"
        )

    def _over(self, column: str, kind: str) -> list[str]:
        """What a key over an expression of a column holds; nothing where there are none."""
        if self.version < (8, 0, 13) or kind not in EXPRESSIONS:
            return []
        return [f"(({self.chance.choice(EXPRESSIONS[kind]).format(column)}))"]

    def _column(self, name: str, engine: str) -> str:
        types = TYPES if engine != "MEMORY" else [t for t in TYPES if t not in ("TEXT", "BLOB")]
        kind, chance = self.chance.choice(types), self.chance
        word = _word(kind)
        parts = [name, kind]
        if not kind.endswith(" NULL") and chance.random() < 0.4:
            parts.append("NOT NULL")
        draw = chance.random()
        if draw < 0.25 and word in ("datetime", "timestamp"):
            now = "CURRENT_TIMESTAMP" + kind[kind.find("(") :] * (word == "datetime")
            parts.append(f"DEFAULT {now}" + f" ON UPDATE {now}" * (draw < 0.1))
        elif draw < 0.5 and word not in ("text", "blob"):
            parts.append(f"DEFAULT {chance.choice(VALUES[word])}")
        if self.version >= (8, 0, 23) and chance.random() < 0.08:
            parts.append("INVISIBLE")
        return " ".join([*parts, f"COMMENT '{self._number('c')}'"])

    def _value(self, name: str, column: str) -> str:
        """What may be written to a column."""
        draw, found = self.chance.random(), self.tables.get(name)
        null = {c.name for c in found.columns if c.nullable} if found else {column}
        if draw < (0.1 if column in null else 0.01):
            return "NULL"
        if draw < 0.14 and column not in self._needed(name):
            return f"DEFAULT({column})"
        return self._plain(name, column)

    def _plain(self, name: str, column: str) -> str:
        """A value of a column's type; most often one of the parent's where it refers to one."""
        found = self.tables.get(name)
        values: Sequence[str] = VALUES.get(self._kind(name, column), VALUES["int"])
        for _, own, parent, of in _FOREIGN.findall(found.create if found else ""):
            if own == column and parent in self.tables and self.chance.random() < 0.8:
                rows = self.tables[parent].records()
                theirs = [row[of] for row in rows if row[of] is not None]
                values = [_literal(value) for value in theirs] or ["NULL"]
        return self.chance.choice(values)

    def _needed(self, name: str) -> set[str]:
        """Columns that an INSERT must name."""
        lines = _LINE.findall(self.tables[name].create) if name in self.tables else []
        return {column for line, column in lines if "NOT NULL" in line and "DEFAULT" not in line}

    def _kind(self, name: str, column: str) -> str:
        found = self.tables.get(name)
        types = {c.name: c.type for c in found.columns} if found else {}
        return _word(types.get(column, "int"))

    def _comment(self, name: str, column: str) -> str:
        line = next((a for a, b in _LINE.findall(self.tables[name].create) if b == column), "")
        found = re.search(r"COMMENT '(\w+)'", line)
        return found[1] if found else "c0"

    def _columns(self, name: str) -> list[str]:
        """By name; those of the primary key come first."""
        table = self.tables[name]
        names = [c.name for c in table.columns]
        return [*table.primary_key, *(n for n in names if n not in table.primary_key)]

    def _writable(self, name: str) -> list[str]:
        generated = {c.name for c in self.tables[name].columns if c.generated}
        return [c for c in self._columns(name) if c not in generated]

    def _one(self, name: str) -> str:
        columns = self._columns(name)
        return self.chance.choice((columns[0], *columns))

    def _any(self) -> str:
        names = [*self.tables]
        return self.chance.choice([*names, *(n for n in names if n[0] in "pcgs")]) if names else "p"

    def _named(self, first: str) -> list[str]:
        return [name for name in self.tables if first and name.startswith(first)]

    def _number(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"


def _word(kind: str) -> str:
    found = re.match(r"[a-z]+", kind.lower())
    word = found[0] if found else "int"
    like = {"tinyint": "int", "smallint": "int", "longtext": "text", "longblob": "blob"}
    return like.get(word, word)


def _literal(value: object) -> str:
    text = str(value)
    if isinstance(value, int | float) or text.startswith("0x"):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
