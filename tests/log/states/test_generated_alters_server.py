"""Generated columns after ALTER TABLE: random ones, whose cells a SELECT has where they are known.

``BINLOGKIT_CAMPAIGNS=1 pytest tests/log/states/test_generated_alters_server.py`` plays all.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pymysql
import pytest

from binlogkit_fixtures.servers import Server
from tests.log.states.test_state_alter_server import differences
from tests.servers import each_server

pytestmark = pytest.mark.server

COLUMNS = (
    "id INT PRIMARY KEY, n INT, m INT, t VARCHAR(9), z INT(5) ZEROFILL, d DECIMAL(7,2), "
    "dt DATETIME(2), ti TIME(3), ts TIMESTAMP NULL, b VARBINARY(5), e ENUM('x','y','z'), "
    "s SET('p','q'), y YEAR, f FLOAT, c CHAR(5), j JSON, bi BIT(9)"
)
ROWS = (
    "INSERT IGNORE INTO u.t (id, n, m, t, z, d, dt, ti, ts, b, e, s, y, f, c, j, bi) VALUES "
    "(1, 1, 2, 'a', 7, 1.55, '2024-01-02 03:04:05.67', '10:11:12.345', '2024-01-01', x'0102', 'x', "
    "'p,q', 2020, 1.5, 'ab', '{\"a\": 1}', 5), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
    "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, -5, 70000, 'Bcdef', 99999, -99.99, "
    "'1999-12-31 23:59:59.99', '-1:2:3.9', '2030-01-01', x'00FF00', 'z', 'q', 1999, -2.25, 'x ', "
    "'{\"a\": \"q\"}', 256), (4, 0, 0, 'é ', 0, 0, '2000-01-01', '838:59:59', NULL, '', 'y', '', "
    "2000, 0, '', '[]', 0)"
)
EXPRESSIONS = (
    "n + 1", "m * 2", "CONCAT(t, '.', n)", "UPPER(t)", "HEX(t)", "HEX(n)", "LENGTH(t)", "n / 3",
    "IFNULL(n, 9)", "COALESCE(n, m, 0)", "LEFT(t, 2)", "IF(n > m, t, 'x')", "CONCAT(z)",
    "CONCAT(d)",
    "CASE WHEN t = 'a' THEN 1 ELSE n % 3 END", "REVERSE(t)", "GREATEST(n, m)", "MD5(t)", "DATE(dt)",
    "CONCAT(dt)", "CONCAT(ti)", "j->>'$.a'", "JSON_LENGTH(j)", "ROUND(d)", "SUBSTRING(b, 2)",
    "LENGTH(b)", "TRIM(t)", "CONCAT(e)", "e + 0", "s + 0", "CONCAT(y)", "CONCAT(f)", "n = m",
    "t IN ('a', 'B')", "d * n", "CRC32(t)", "CONCAT(_utf8mb4'q', t)", "NOT n", "UNHEX(HEX(t))",
    "n BETWEEN 1 AND 3", "LOWER(c)", "CONCAT(c, '|')", "LENGTH(c)", "bi + 1", "HEX(bi)",
)  # fmt: skip
TYPES = ("INT", "BIGINT", "VARCHAR(60)", "VARCHAR(90)", "DOUBLE", "DECIMAL(20,4)")
ALTERS = (
    "MODIFY n BIGINT", "MODIFY n INT NOT NULL", "MODIFY n SMALLINT", "MODIFY n INT UNSIGNED",
    "MODIFY n DECIMAL(9,2)", "MODIFY n VARCHAR(20)", "MODIFY t VARCHAR(40)", "MODIFY t VARCHAR(2)",
    "MODIFY t TEXT", "MODIFY t VARCHAR(9) CHARACTER SET latin1", "MODIFY t CHAR(9)",
    "MODIFY t VARCHAR(9) COLLATE utf8mb4_bin", "MODIFY t VARCHAR(9) NOT NULL", "ADD INDEX (n)",
    "MODIFY m BIGINT NOT NULL", "CONVERT TO CHARACTER SET latin1", "MODIFY z INT(8) ZEROFILL",
    "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "MODIFY z INT UNSIGNED",
    "MODIFY d DECIMAL(9,3)", "MODIFY d DECIMAL(5,1)", "MODIFY dt DATETIME", "MODIFY ti TIME(1)",
    "MODIFY b VARBINARY(9)", "MODIFY b BINARY(9)", "MODIFY e ENUM('z','x','y','w')",
    "MODIFY s SET('p','q','r')", "MODIFY y SMALLINT", "MODIFY f DOUBLE", "MODIFY c VARCHAR(9)",
    "MODIFY c CHAR(20)", "MODIFY j LONGTEXT", "MODIFY bi BIT(20)", "ADD k INT NOT NULL DEFAULT 3",
    "ADD w VARCHAR(9) AS (CONCAT(n)) STORED", "CHANGE n n INT COMMENT 'x'", "MODIFY m INT UNSIGNED",
    "ALTER n SET DEFAULT 4", "ENGINE=InnoDB", "ADD UNIQUE (id, n)", "MODIFY t VARCHAR(300)",
    "DROP COLUMN ts, ADD ts DATETIME",
)  # fmt: skip
MODES = ("", "", "STRICT_ALL_TABLES", "PAD_CHAR_TO_FULL_LENGTH", "NO_ZERO_DATE")
PLAYED = 15  # stories of a seed

server = each_server()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.sampled(1, 3)
def test_what_is_known_of_generated_columns(server: Server, seed: int, tmp_path: Path) -> None:
    chance, played = random.Random(seed), 0
    while played < PLAYED:
        kinds = ("STORED", "VIRTUAL")
        made = [
            f"g{i} {chance.choice(TYPES)} AS ({expression}) {chance.choice(kinds)}"
            for i, expression in enumerate(chance.sample(EXPRESSIONS, chance.randint(1, 4)))
        ]
        made.append(f"h VARCHAR(99) AS (CONCAT(g0, '-')) {chance.choice(kinds)}")
        columns = ", ".join((COLUMNS, *made))
        story = (
            "SET sql_mode = ''",
            f"CREATE TABLE u.t ({columns}) CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
            ROWS,
            f"SET sql_mode = '{chance.choice(MODES)}'",
            *(
                f"ALTER TABLE u.t {one}{chance.choice(('', '', ', ALGORITHM=COPY'))}"
                for one in chance.sample(ALTERS, chance.randint(1, 2))
            ),
        )
        try:
            found = differences(server, story, tmp_path, Counter())
        except pymysql.Error:
            continue  # the server has no such table, or alters it in no such way
        assert found == [], story
        played += 1
