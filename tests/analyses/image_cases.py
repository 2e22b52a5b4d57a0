"""Tables, statements, and what each statement changes: for the images that servers log."""

from __future__ import annotations

from dataclasses import dataclass

TABLES = """
CREATE TABLE pre (d VARCHAR(20) NOT NULL, e INT, UNIQUE (d(5)))
CREATE TABLE ppk (d TEXT NOT NULL, e INT, f TEXT, PRIMARY KEY (d(5)))
CREATE TABLE def (id INT PRIMARY KEY AUTO_INCREMENT, a INT DEFAULT 4,
  t TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  u TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP, w DATETIME ON UPDATE CURRENT_TIMESTAMP, b TEXT, c INT)
CREATE TABLE gen (id INT PRIMARY KEY, a INT, b INT, s INT AS (a + 1) STORED,
  v INT AS (a + 2) VIRTUAL, vi INT AS (b + 2) VIRTUAL, KEY (vi), sb INT AS (b + 1) STORED,
  gt TEXT AS (b) STORED, gv TEXT AS (b) VIRTUAL, bl TEXT)
CREATE TABLE deep (id INT PRIMARY KEY, a INT, g1 INT AS (a + 1) STORED, g2 INT AS (g1 + 1) STORED,
  g3 INT AS (g2) VIRTUAL, c INT, ts DATETIME ON UPDATE CURRENT_TIMESTAMP,
  gts DATETIME AS (ts) STORED)
CREATE TABLE trg (id INT PRIMARY KEY, a INT, b INT, c INT, d INT, e INT, f TEXT,
  g INT AS (b) STORED)
CREATE TRIGGER trg_bi BEFORE INSERT ON trg FOR EACH ROW SET NEW.b = NEW.c + 1
CREATE TRIGGER trg_ai AFTER INSERT ON trg FOR EACH ROW SET @x = NEW.d
CREATE TRIGGER trg_bu BEFORE UPDATE ON trg FOR EACH ROW SET NEW.b = OLD.e + 1, @y = NEW.d
CREATE TRIGGER trg_ad AFTER DELETE ON trg FOR EACH ROW SET @x = OLD.f
CREATE TABLE dup (id INT PRIMARY KEY, a INT UNIQUE, b TEXT, c INT DEFAULT 7)
CREATE TABLE dud (id INT PRIMARY KEY, a INT, b TEXT)
CREATE TRIGGER dud_bd BEFORE DELETE ON dud FOR EACH ROW SET @q = OLD.a
CREATE TABLE bare (a INT, b TEXT, c INT)
CREATE TABLE uniq (id INT NOT NULL, a INT, j JSON, g GEOMETRY, b BLOB, tb TINYTEXT, UNIQUE (id))
CREATE TABLE two (a INT NOT NULL, b INT NOT NULL, c INT, UNIQUE (c), UNIQUE (b, a))
CREATE TABLE vkey (a INT NOT NULL, v INT AS (a + 1) VIRTUAL NOT NULL, b INT, UNIQUE KEY (v))
CREATE TABLE part (id INT, y INT, c INT, PRIMARY KEY (id, y)) PARTITION BY HASH (y) PARTITIONS 3
CREATE TABLE mine (id INT PRIMARY KEY, a INT DEFAULT 4, v INT AS (a) STORED, t TEXT) ENGINE=MyISAM
"""
#: From 8.0.13 on: expressions as defaults.
TABLES_8 = """
CREATE TABLE expr (id INT PRIMARY KEY, a INT DEFAULT (1 + 1), t TEXT DEFAULT ('abc'),
  u TEXT DEFAULT (UUID()), i INT DEFAULT 3 INVISIBLE, c INT)
"""


@dataclass(frozen=True, slots=True)
class Written:
    """One row change as :func:`binlogkit.analyses.row_image.image_columns` takes it."""

    table: str
    op: str
    specified: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    after_duplicate: bool = False


def _w(table: str, op: str, specified: str = "", triggers: str = "", dup: bool = False) -> Written:
    return Written(table, op, tuple(specified.split()), tuple(triggers.split()), dup)


#: Statements in their order, and what each writes.
STATEMENTS: list[tuple[str, list[Written]]] = [
    ("INSERT INTO pre VALUES ('abc', 1)", [_w("pre", "insert", "d e")]),
    ("UPDATE pre SET e = 2", [_w("pre", "update", "e")]),
    ("DELETE FROM pre", [_w("pre", "delete")]),
    ("INSERT INTO ppk (d) VALUES ('x')", [_w("ppk", "insert", "d")]),
    ("UPDATE ppk SET e = 2", [_w("ppk", "update", "e")]),
    ("DELETE FROM ppk", [_w("ppk", "delete")]),
    ("INSERT INTO def (c) VALUES (1)", [_w("def", "insert", "c")]),
    ("INSERT INTO def VALUES ()", [_w("def", "insert")]),
    ("INSERT INTO def (c) SELECT 1", [_w("def", "insert", "c")]),
    ("INSERT INTO def VALUES (9, 1, NOW(), NOW(), NULL, 'b', 3)",
     [_w("def", "insert", "id a t u w b c")]),
    ("INSERT INTO def (c, a) VALUES (DEFAULT, DEFAULT)", [_w("def", "insert", "a c")]),
    ("UPDATE def SET c = 5 WHERE id = 9", [_w("def", "update", "c")]),
    ("UPDATE def SET c = 6, t = '2020-01-01' WHERE id = 9", [_w("def", "update", "c t")]),
    ("DELETE FROM def WHERE id = 9", [_w("def", "delete")]),
    ("INSERT INTO gen (id) VALUES (1)", [_w("gen", "insert", "id")]),
    ("UPDATE gen SET a = 5", [_w("gen", "update", "a")]),
    ("UPDATE gen SET b = 5", [_w("gen", "update", "b")]),
    ("UPDATE gen SET bl = 'x'", [_w("gen", "update", "bl")]),
    ("DELETE FROM gen", [_w("gen", "delete")]),
    ("INSERT INTO deep (id) VALUES (1)", [_w("deep", "insert", "id")]),
    ("UPDATE deep SET a = 1", [_w("deep", "update", "a")]),
    ("UPDATE deep SET c = 1", [_w("deep", "update", "c")]),
    ("INSERT INTO trg (id, a) VALUES (1, 1)", [_w("trg", "insert", "id a", "b c")]),
    ("UPDATE trg SET a = 2", [_w("trg", "update", "a", "b d")]),
    ("DELETE FROM trg", [_w("trg", "delete")]),
    ("INSERT INTO dup (id, a) VALUES (1, 1)", [_w("dup", "insert", "id a")]),
    ("INSERT INTO dup (id, a) VALUES (5, 5), (1, 1), (6, 6) ON DUPLICATE KEY UPDATE a = 3",
     [_w("dup", "insert", "id a"), _w("dup", "update", dup=True), _w("dup", "insert", dup=True)]),
    ("REPLACE INTO dup (id, a) VALUES (1, 9)",
     [_w("dup", "delete"), _w("dup", "insert", dup=True)]),
    ("REPLACE INTO dup (id, a) VALUES (7, 7), (1, 5), (8, 8)",
     [_w("dup", "insert", "id a"), _w("dup", "delete"), _w("dup", "update", dup=True),
      _w("dup", "insert", dup=True)]),
    ("INSERT IGNORE INTO dup (id, a) VALUES (30, 30), (1, 1), (31, 31)",
     [_w("dup", "insert", "id a"), _w("dup", "insert", "id a")]),
    ("INSERT INTO dud (id) VALUES (1)", [_w("dud", "insert", "id")]),
    ("REPLACE INTO dud (id, a) VALUES (1, 1), (2, 2)",
     [_w("dud", "delete"), _w("dud", "insert", dup=True), _w("dud", "insert", "id a")]),
    ("INSERT INTO bare (a) VALUES (1)", [_w("bare", "insert", "a")]),
    ("UPDATE bare SET a = 2", [_w("bare", "update", "a")]),
    ("UPDATE bare SET b = 'x'", [_w("bare", "update", "b")]),
    ("DELETE FROM bare", [_w("bare", "delete")]),
    ("INSERT INTO uniq (id) VALUES (1)", [_w("uniq", "insert", "id")]),
    ("UPDATE uniq SET b = 'x'", [_w("uniq", "update", "b")]),
    ("UPDATE uniq SET j = '[]'", [_w("uniq", "update", "j")]),
    ("DELETE FROM uniq", [_w("uniq", "delete")]),
    ("INSERT INTO two (a, b) VALUES (1, 2)", [_w("two", "insert", "a b")]),
    ("UPDATE two SET c = 1", [_w("two", "update", "c")]),
    ("DELETE FROM two", [_w("two", "delete")]),
    ("INSERT INTO vkey (a) VALUES (1)", [_w("vkey", "insert", "a")]),
    ("UPDATE vkey SET b = 2", [_w("vkey", "update", "b")]),
    ("DELETE FROM vkey", [_w("vkey", "delete")]),
    ("INSERT INTO part (id, y) VALUES (1, 1)", [_w("part", "insert", "id y")]),
    ("UPDATE part SET c = 1", [_w("part", "update", "c")]),
    ("DELETE FROM part", [_w("part", "delete")]),
    ("INSERT INTO mine (id) VALUES (1)", [_w("mine", "insert", "id")]),
    ("REPLACE INTO mine (id) VALUES (1)", [_w("mine", "update", dup=True)]),
    ("UPDATE mine SET t = 'x'", [_w("mine", "update", "t")]),
    ("DELETE FROM mine", [_w("mine", "delete")]),
    ("INSERT INTO bare VALUES (1, 'x', 1)", [_w("bare", "insert", "a b c")]),
    ("UPDATE dup, bare SET dup.c = 9, bare.c = 10 WHERE bare.a = dup.id - 6",
     [_w("bare", "update", "c"), _w("dup", "update", "c")]),
    ("DELETE FROM bare", [_w("bare", "delete")]),
    ("DELETE FROM dup WHERE id = 7", [_w("dup", "delete")]),
    ("DELETE FROM def WHERE id = 1", [_w("def", "delete")]),
]  # fmt: skip
STATEMENTS_8: list[tuple[str, list[Written]]] = [
    ("INSERT INTO expr (id) VALUES (1)", [_w("expr", "insert", "id")]),
    ("INSERT INTO expr VALUES (2, DEFAULT, DEFAULT, DEFAULT, 5)",
     [_w("expr", "insert", "id a t u i c")]),
    ("UPDATE expr SET c = 1 WHERE id = 1", [_w("expr", "update", "c")]),
    ("DELETE FROM expr WHERE id = 1", [_w("expr", "delete")]),
]  # fmt: skip


def tables(modern: bool) -> list[str]:
    """The statements that make the tables; ``modern``: also those of 8.0 on."""
    text = TABLES + (TABLES_8 if modern else "")
    return [f"CREATE {part}".strip() for part in text.split("\nCREATE ") if part.strip()]
