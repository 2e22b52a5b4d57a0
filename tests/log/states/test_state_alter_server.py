"""What ALTER TABLE makes of rows that are there, and of columns that images leave out.

Each story's state is held against the server's own SELECT. Every pair of types is a campaign,
tests/truth/type_changes.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import read_tables
from tests.servers import each_server
from tests.truth.truth_checks import judge_state

pytestmark = pytest.mark.server

#: Statements by story, of a table u.t each. No cell may be unknown.
STORIES: Mapping[str, Sequence[str]] = {
    "NULL where NOT NULL becomes the implicit default": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT, d DECIMAL(5,2), w VARCHAR(9), b BINARY(3))",
        "INSERT INTO u.t VALUES (1, NULL, NULL, NULL, NULL), (2, 5, 1.5, 'x', 'y')",
        "SET sql_mode = ''",
        "ALTER TABLE u.t MODIFY v INT NOT NULL, MODIFY d DECIMAL(7,3) NOT NULL, "
        "MODIFY w VARCHAR(9) NOT NULL, MODIFY b BINARY(4) NOT NULL",
    ),
    "labels": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, s SET('a','b','c'), e ENUM('x','y'))",
        "INSERT INTO u.t VALUES (1, 'a,b', 'x'), (2, 'c', 'y'), (3, '', NULL)",
        "ALTER TABLE u.t MODIFY s SET('c','b','a'), MODIFY e ENUM('Y','z','X')",
    ),
    "digits": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, d DECIMAL(10,2), n DECIMAL(10,2), t DATETIME, "
        "f DATETIME(3), i TIME(3))",
        "INSERT INTO u.t VALUES (1, 1.5, -2.45, '2020-01-01 01:02:03', "
        "'1969-12-31 23:59:58.5', '-00:00:00.5'), (2, -1, 2.45, NULL, '2020-01-01', '1:2:3.4')",
        "ALTER TABLE u.t MODIFY d DECIMAL(12,4), MODIFY n DECIMAL(10,1), MODIFY t DATETIME(3), "
        "MODIFY f DATETIME, MODIFY i TIME",
    ),
    "digits, with rows in the new type": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v DECIMAL(10,2))",
        "INSERT INTO u.t VALUES (1, 1.5)",
        "ALTER TABLE u.t MODIFY v DECIMAL(12,4)",
        "INSERT INTO u.t VALUES (2, 2.25)",
    ),
    "integers, clamped": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT, w INT)",
        "INSERT INTO u.t VALUES (1, 300, -5), (2, -300, 7)",
        "SET sql_mode = ''",
        "ALTER TABLE u.t MODIFY v TINYINT, MODIFY w BIGINT UNSIGNED",
    ),
    "texts": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v VARCHAR(9), c CHAR(5), l VARCHAR(9)) "
        "CHARSET latin1",
        "INSERT INTO u.t VALUES (1, 'a  ', 'é', 'ß'), (2, 'abc', NULL, '€')",
        "ALTER TABLE u.t MODIFY v CHAR(9), MODIFY c VARCHAR(3), "
        "MODIFY l TEXT CHARACTER SET utf8mb4",
        "ALTER TABLE u.t CONVERT TO CHARACTER SET utf8mb4",
    ),
    "numbers as texts, days as moments": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT, d DECIMAL(20,10), a DATE, y YEAR, w INT)",
        "INSERT INTO u.t VALUES (1, -17, -0.5, '2024-02-29', 1999, -123), (2, 7, 0, NULL, 0, 5)",
        "SET sql_mode = ''",
        "ALTER TABLE u.t MODIFY v VARCHAR(20), MODIFY d TEXT, MODIFY a DATETIME(3), MODIFY y "
        "TINYINT, MODIFY w VARCHAR(2) CHARACTER SET ucs2",
    ),
    "a key that becomes a text": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO u.t VALUES (1, 1), (2, 2)",
        "ALTER TABLE u.t MODIFY id VARCHAR(20)",
        "UPDATE u.t SET v = 3 WHERE id = '1'",
        "DELETE FROM u.t WHERE id = '2'",
    ),
    "a key that others replace": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT, w INT NOT NULL)",
        "INSERT INTO u.t VALUES (1, 1, 4), (2, 1, 4), (3, 1, 5)",
        "DELETE FROM u.t WHERE id = 2",
        "ALTER TABLE u.t DROP PRIMARY KEY, ADD PRIMARY KEY (w)",
        "INSERT INTO u.t VALUES (1, 2, 6)",
        "UPDATE u.t SET v = 3 WHERE id = 1",
    ),
    "a key that goes, and another that comes": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT, w INT NOT NULL)",
        "INSERT INTO u.t VALUES (1, 1, 4), (3, 1, 5)",
        "ALTER TABLE u.t DROP PRIMARY KEY",
        "INSERT INTO u.t VALUES (1, 5, 6), (1, 5, 6), (7, 7, 6)",
        "UPDATE u.t SET v = 7 WHERE w = 4",
        "DELETE FROM u.t WHERE w = 6 LIMIT 2",
        "ALTER TABLE u.t ADD PRIMARY KEY (w)",
        "UPDATE u.t SET w = w + 10 WHERE id <> 3",
    ),
    "a key that others replace, with MINIMAL images": (
        "SET binlog_row_image = MINIMAL",
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT, w INT NOT NULL)",
        "INSERT INTO u.t VALUES (1, 1, 4), (2, 1, 4), (3, 1, 5)",
        "UPDATE u.t SET v = 2 WHERE id = 1",
        "DELETE FROM u.t WHERE id = 2",
        "ALTER TABLE u.t DROP PRIMARY KEY, ADD PRIMARY KEY (w)",
        "INSERT INTO u.t VALUES (1, 2, 6)",
        "UPDATE u.t SET v = 3 WHERE w = 4",
        "ALTER TABLE u.t DROP PRIMARY KEY",
        "UPDATE u.t SET v = 4 WHERE w = 6",
    ),
    "a key that is cut": (
        "CREATE TABLE u.t (id CHAR(9), n DECIMAL(9,2), v INT, PRIMARY KEY (id, n))",
        "INSERT INTO u.t VALUES ('abcdef', 1.25, 1), ('bcdefg', 2.25, 2), ('c', -1, 3)",
        "SET sql_mode = ''",
        "ALTER TABLE u.t MODIFY id VARCHAR(3), MODIFY n DECIMAL(9,1)",
        "UPDATE u.t SET v = 3 WHERE id = 'abc'",
        "DELETE FROM u.t WHERE id = 'bcd'",
    ),
    "constants that minimal images leave out": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT NOT NULL DEFAULT 7, "
        "u INT UNSIGNED DEFAULT '8', w VARCHAR(9) DEFAULT 'x ', c CHAR(3) DEFAULT 'y ', "
        "n INT, z TEXT, d DATE DEFAULT '2020-02-03', "
        "t DATETIME(3) DEFAULT '2020-01-01 00:00:00.5', i TIME DEFAULT '-01:02:03', "
        "e ENUM('a','b') DEFAULT 'B', s SET('a','b') DEFAULT 'b,a', m DECIMAL(5,2) DEFAULT 1.5, "
        "f FLOAT DEFAULT 0.1, g DOUBLE DEFAULT -1.5e3, b BINARY(3) DEFAULT 'q', r VARBINARY(3) "
        "DEFAULT x'00ff', o BIT(5) DEFAULT b'101', y YEAR DEFAULT 1999, p TIMESTAMP NULL, "
        "h BOOLEAN DEFAULT TRUE, q TIMESTAMP DEFAULT CURRENT_TIMESTAMP)",
        "SET binlog_row_image = MINIMAL",
        "INSERT INTO u.t (id) VALUES (1)",
        "INSERT INTO u.t (id, v, n) VALUES (2, 3, 4)",
        "ALTER TABLE u.t ALTER v SET DEFAULT 9, ALTER w DROP DEFAULT, ALTER m SET DEFAULT -2",
        "INSERT INTO u.t (id, w) VALUES (3, 'w')",
        "UPDATE u.t SET n = 5 WHERE id = 1",
    ),
    "implicit defaults that minimal images leave out": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT NOT NULL, w VARCHAR(9) NOT NULL, b BINARY(3) "
        "NOT NULL, e ENUM('a','b') NOT NULL, s SET('a','b') NOT NULL, m DECIMAL(5,2) NOT NULL)",
        "SET binlog_row_image = MINIMAL, sql_mode = ''",
        "INSERT INTO u.t (id) VALUES (1)",
    ),
    "columns that are added": (
        "CREATE TABLE u.t (id INT PRIMARY KEY)",
        "INSERT INTO u.t VALUES (1)",
        "SET sql_mode = ''",
        "ALTER TABLE u.t ADD v INT NOT NULL DEFAULT 3, ADD w TEXT, ADD x VARCHAR(3) DEFAULT 'q', "
        "ADD y TIMESTAMP NULL, ADD z DOUBLE DEFAULT 1.5, ADD c CHAR(3) DEFAULT 'c ', "
        "ADD d DATE DEFAULT '2020-02-03', ADD b BINARY(2) NOT NULL, ADD e ENUM('x','y') NOT NULL, "
        "ADD t DATETIME(1) DEFAULT '2020-01-01 01:02:03.4', ADD f FLOAT NOT NULL",
    ),
    "a key": (
        "CREATE TABLE u.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO u.t VALUES (1, 1), (2, 2)",
        "ALTER TABLE u.t CHANGE id k BIGINT UNSIGNED",
        "UPDATE u.t SET v = 3 WHERE k = 1",
        "DELETE FROM u.t WHERE k = 2",
    ),
}
NUMBERED = (
    "CREATE TABLE u.t (v INT, w INT)",
    "INSERT INTO u.t VALUES (1, 1), (2, 1), (2, 1)",
    "ALTER TABLE u.t ADD COLUMN id INT AUTO_INCREMENT PRIMARY KEY FIRST",
    "UPDATE u.t SET w = 2 WHERE id = 2",
    "DELETE FROM u.t WHERE id = 1",
    "INSERT INTO u.t (v, w) VALUES (9, 9)",
)
#: Cells may be unknown here, but not wrong.
UNCERTAIN = (
    "CREATE TABLE u.t (id INT PRIMARY KEY, f FLOAT, g DOUBLE(9,3), d DATE, n INT, t VARCHAR(9))",
    "INSERT INTO u.t VALUES (1, 1.26, 1.125, NULL, 0, '日'), (2, NULL, 2, '2020-01-01', 5, 'a')",
    "SET sql_mode = ''",
    "ALTER TABLE u.t MODIFY f FLOAT(5,1), MODIFY g DOUBLE(9,1), MODIFY d DATE NOT NULL, "
    "MODIFY n INT AUTO_INCREMENT UNIQUE, MODIFY t VARCHAR(9) CHARACTER SET latin1, "
    "ADD s TIMESTAMP, ADD c TIMESTAMP DEFAULT CURRENT_TIMESTAMP, ADD z DATE NOT NULL",
)
#: What is computed in a row, and what an ALTER makes of it: the columns that are unknown.
COMPUTED: Mapping[str, tuple[str, str, set[str]]] = {
    "another expression": (
        "v INT AS (n + 1), s VARCHAR(9) AS (CONCAT(n, 'x')) STORED, k INT AS (n)",
        "CHANGE s w VARCHAR(9) AS (CONCAT(n, 'y')) STORED", {"w"},
    ),
    "the same expression": (
        "v INT AS (n + 1), s VARCHAR(9) AS (CONCAT(n, 'x')) STORED",
        "MODIFY s VARCHAR(9) AS (concat(`n`,'x')) STORED FIRST", set(),
    ),
    "of a column that is computed itself now": (
        "v INT AS (n + 1)", "MODIFY n INT AS (m + 100) STORED", {"n", "v"},
    ),
    "of columns that hold more, or of others": (
        "v INT AS (n + 1), s VARCHAR(30) AS (CONCAT(t, '.', n)) STORED, w CHAR(30) AS (UPPER(s))",
        "MODIFY n BIGINT, MODIFY t VARCHAR(20) CHARSET utf8mb4 COLLATE utf8mb4_general_ci, "
        "MODIFY m VARCHAR(20)", set(),
    ),
    "of documents and cases": (
        "j JSON AS (JSON_OBJECT('a', t, 'n', n)) STORED, v VARCHAR(9) AS (j->>'$.a'), w INT AS "
        "(CASE WHEN n IS NULL OR NOT n >= 1 THEN 0 ELSE n % 2 END), x DOUBLE AS (n / 3)",
        "MODIFY m VARCHAR(20)", {"x"},
    ),
    "of a CHAR with its blanks": (
        "c CHAR(3) DEFAULT 'a', v VARCHAR(9) AS (CONCAT(c, '.')) STORED, w INT AS (n + 1) STORED",
        "COMMENT 'x', MODIFY m BIGINT, ALGORITHM=COPY", {"v"},
    ),
    "of what another one is": (
        "v INT AS (n + 1), s INT AS (v * 2), w INT AS (m) STORED, k INT AS (m * 2)",
        "MODIFY n DECIMAL(9,1)", {"v", "s"},
    ),
    "of what a text has other zeros of": (
        "z INT(5) ZEROFILL DEFAULT 7, w INT(4) ZEROFILL DEFAULT 7, v VARCHAR(9) AS (CONCAT(z)), "
        "x VARCHAR(9) AS (CONCAT(w))",
        "MODIFY z INT UNSIGNED DEFAULT 7, MODIFY w INT(4) ZEROFILL DEFAULT 8", {"v"},
    ),
    "a key of what is not NULL": (
        "w INT AS (m) STORED", "MODIFY n INT NOT NULL, ADD UNIQUE (w, n)", set(),
    ),
    "of what was NULL": ("v INT AS (IFNULL(n, 9))", "MODIFY n INT NOT NULL", {"v"}),
    "of what is compared otherwise": (
        "v INT AS (t = 'A')", "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", {"v"},
    ),
}  # fmt: skip
#: Labels keep their bytes, which are no text, or another one, in the new character set.
LABELS = (
    "CREATE TABLE u.t (id INT PRIMARY KEY, s SET('誠','v') CHARACTER SET utf8mb4, "
    "e ENUM('v','é') CHARACTER SET latin1)",
    "INSERT INTO u.t VALUES (1, '誠,v', 'é'), (2, 'v', 'v')",
    "SET sql_mode = ''",
    "ALTER TABLE u.t CONVERT TO CHARACTER SET ujis",
)
TRUNCATING = (
    "CREATE TABLE u.t (id INT PRIMARY KEY, v DATETIME(3), w TIME(3))",
    "INSERT INTO u.t VALUES (1, '2020-01-01 01:02:03.9', '-1:2:3.9')",
    "SET sql_mode = 'TIME_TRUNCATE_FRACTIONAL'",
    "ALTER TABLE u.t MODIFY v DATETIME, MODIFY w TIME",
)
#: NULL for NOT NULL columns, which a virtual column reads; with what a SELECT alone knows on 5.7.
FROM_NULL = (
    "CREATE TABLE u.t (id INT PRIMARY KEY, k INT, n INT NOT NULL, w VARCHAR(9) NOT NULL, "
    "d DATE NOT NULL, m DECIMAL(5,2) NOT NULL, b BINARY(3) NOT NULL, e ENUM('a','b') NOT NULL, "
    "j JSON NOT NULL, vn VARCHAR(30) AS (CONCAT(`n`, '.')), vw VARCHAR(9) AS (IFNULL(w, 'none')), "
    "vd VARCHAR(9) AS (LEFT(d, 4)), vm INT AS (m * 2 - 1), vb VARCHAR(9) AS (HEX(b)), "
    "ve VARCHAR(9) AS (CONCAT(e, '!')), vj VARCHAR(9) AS (CONCAT('[', j, ']')), "
    "vv VARCHAR(30) AS (CONCAT(vn, vn)), s INT AS (n + 1) STORED, vs INT AS (s + 1), "
    "vk INT AS (k + 1))",
    "CREATE TABLE u.a (w VARCHAR(30))",
    "CREATE TRIGGER u.tr AFTER DELETE ON u.t FOR EACH ROW INSERT INTO u.a VALUES (OLD.w)",
    "SET sql_mode = ''",
    *(
        f"INSERT IGNORE INTO u.t (id, k, n, w, d, m, b, e, j) VALUES ({row})"
        for row in (
            "1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
            "2, 2, 0, '', '0000-00-00', 0, '', '', 'null'",
            "3, 3, 7, 'w', '2020-01-02', 7, 'b', 'b', '7'",
            "4, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
        )
    ),
    "UPDATE IGNORE u.t SET n = NULL, e = NULL WHERE id = 3",
    "UPDATE u.t SET k = 5 WHERE id = 4",
)
COMPUTED_LATE: set[str] = {"vn", "vw", "vd", "vm", "vb", "ve", "vj", "vv"}


server = each_server()


def differences(
    server: Server, story: Sequence[str], folder: Path, notes: Counter[str]
) -> list[str]:
    """What the state says of u.t, and the server does not."""
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS u")
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("CREATE DATABASE u CHARSET utf8mb4")
        cursor.execute("SET binlog_format = ROW, time_zone = '+00:00'")
        for statement in story:
            cursor.execute(statement)
        cursor.execute("SET sql_mode = ''")
        table = read_tables(connection, ["u"])["u.t"]
    log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], folder)))
    return list(judge_state(log.state("u.t"), table, "u.t", notes))


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.sampled(17, 17)
@pytest.mark.gate(3)
def test_rows_after_an_alter(server: Server, story: str, tmp_path: Path) -> None:
    notes: Counter[str] = Counter()
    assert differences(server, STORIES[story], tmp_path, notes) == []
    assert notes["rows determined"] == notes["rows"] > 0
    assert not notes["unknown cells"]


def test_fractions_that_are_cut(server: Server, tmp_path: Path) -> None:
    notes: Counter[str] = Counter()
    if server.version.startswith("5.7"):
        with pytest.raises(pymysql.err.OperationalError, match="TIME_TRUNCATE_FRACTIONAL"):
            differences(server, TRUNCATING, tmp_path, notes)
        return
    assert differences(server, TRUNCATING, tmp_path, notes) == []
    assert notes["rows determined"] == 1 and not notes["unknown cells"]


def test_rows_that_an_alter_numbers(server: Server, tmp_path: Path) -> None:
    """Which row got which number is not in the log, until it is changed."""
    notes: Counter[str] = Counter()
    assert differences(server, NUMBERED, tmp_path, notes) == []
    assert notes["rows determined"] == 3 and notes["unknown cells"] == 1
    minimal = (*NUMBERED[:2], "SET binlog_row_image = MINIMAL", *NUMBERED[2:])
    notes.clear()
    differences(server, minimal, tmp_path, notes)
    assert not notes["rows determined"]


def test_defaults_of_a_schema_file(server: Server, tmp_path: Path) -> None:
    create = "CREATE TABLE u.t (id INT PRIMARY KEY, v INT DEFAULT 4, w CHAR(3) DEFAULT 'abc')"
    server.query("DROP DATABASE IF EXISTS u")
    server.query("CREATE DATABASE u")
    server.query(create)
    server.query("FLUSH BINARY LOGS")
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET binlog_format = ROW, binlog_row_image = MINIMAL")
        cursor.execute("INSERT INTO u.t (id) VALUES (1)")
        cursor.execute("ALTER TABLE u.t ADD x INT NOT NULL DEFAULT 3")
    schema = tmp_path / "schema.sql"
    schema.write_text(f"CREATE DATABASE u; USE u; {create};")
    log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], tmp_path)), schema=str(schema))
    (record,) = log.state("u.t").records()
    assert record["values"] == {"id": 1, "v": 4, "w": "abc", "x": 3} and not record["unknown"]


def test_columns_of_a_table_that_the_log_does_not_create(server: Server, tmp_path: Path) -> None:
    """An ALTER TABLE changes the columns of the images before it, which are all that is known."""
    if server.version.startswith("5.7"):
        return  # no names in the log
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        for statement in (
            "DROP DATABASE IF EXISTS u", "CREATE DATABASE u",
            "SET binlog_format = ROW, GLOBAL binlog_row_metadata = FULL",
            "CREATE TABLE u.t (id INT PRIMARY KEY, v INT, w INT, x INT)", "FLUSH BINARY LOGS",
            "INSERT INTO u.t VALUES (1, 2, 3, 4)",
            "ALTER TABLE u.t DROP COLUMN v, RENAME COLUMN w TO y, ADD COLUMN z INT DEFAULT 5",
            "SET GLOBAL binlog_row_metadata = MINIMAL",
        ):  # fmt: skip
            cursor.execute(statement)
    log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], tmp_path)))
    (state,) = log.states()
    assert [r["values"] for r in state.records()] == [{"id": 1, "y": 3, "x": 4, "z": 5}]


@pytest.mark.parametrize("row_image", ["FULL", "MINIMAL"])
def test_virtual_columns_that_5_7_computes_from_null(
    server: Server, row_image: str, tmp_path: Path
) -> None:
    notes: Counter[str] = Counter()
    story = (f"SET binlog_row_image = {row_image}", *FROM_NULL)
    assert differences(server, story, tmp_path, notes) == []
    assert notes["rows determined"] == 4
    state = bk.open(str(tmp_path / server.binlog_names()[-1])).state("u.t")
    rows: list[dict[str, Any]] = [*state.records()]
    unknown = {row["values"]["id"]: {*row["unknown"]} for row in rows}
    wanted: dict[int, set[str]] = {row: set() for row in range(1, 5)}
    if server.version.startswith("5.7"):  # the last update's image shows what its row holds
        wanted |= {1: COMPUTED_LATE, 2: {"vw"}, 3: {"vn", "ve", "vv"}}
        wanted |= {4: COMPUTED_LATE} if row_image == "MINIMAL" else {}
    assert unknown == wanted


def test_labels_that_mean_something_else_are_unknown(server: Server, tmp_path: Path) -> None:
    """5.7 empties such values, 8.0 and 9.7 show other characters."""
    notes: Counter[str] = Counter()
    assert differences(server, LABELS, tmp_path, notes) == []
    state = bk.open(str(tmp_path / server.binlog_names()[-1])).state("u.t")
    assert state.rows_determined and not state.determined
    assert state.rows["unknown"].to_pylist() == [["s", "e"], []]


def test_what_is_not_certain_is_unknown(server: Server, tmp_path: Path) -> None:
    notes: Counter[str] = Counter()
    assert differences(server, UNCERTAIN, tmp_path, notes) == []
    assert notes["rows determined"] == 2 and notes["altered determined=True"] == 1
    state = bk.open(str(tmp_path / server.binlog_names()[-1])).state("u.t")
    assert state.rows_determined and not state.determined
    first, second = state.rows["unknown"].to_pylist()
    assert first[:5] == ["f", "g", "d", "n", "t"] and "d" not in second


@pytest.mark.parametrize("what", COMPUTED)
def test_columns_that_an_alter_computes_anew_are_unknown(
    server: Server, what: str, tmp_path: Path
) -> None:
    columns, alter, unknown = COMPUTED[what]
    story = (
        "CREATE TABLE u.t (id INT PRIMARY KEY, n INT, m INT, t VARCHAR(9), "
        f"{columns}) CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
        "INSERT INTO u.t (id, n, m, t) VALUES (1, 1, 5, 'a'), (2, NULL, 6, 'A')",
        f"SET sql_mode = '{'PAD_CHAR_TO_FULL_LENGTH' if 'CHAR(3)' in columns else ''}'",
        f"ALTER TABLE u.t {alter}",
    )
    assert differences(server, story, tmp_path, Counter()) == []
    log = bk.open(str(tmp_path / server.binlog_names()[-1]))
    assert [set(row) for row in log.state("u.t").rows["unknown"].to_pylist()] == [unknown] * 2
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE u.t SET m = m + 1")
    log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], tmp_path)))
    assert log.state("u.t").determined
    assert not [f for f in log.verify(images=True).findings if f.code == "unlogged_change"]
