-- @ story The same words under other modes of SQL: quotes that are names, bars that join, backslashes
-- @ story that are themselves, dates that are none, numbers that do not fit, CHAR with its padding,
-- @ story unsigned subtraction, a trigger that keeps the mode it was made under.
-- @ databases modes
-- @ start 2024-05-10T20:00:00
CREATE DATABASE modes CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE modes;
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(30), d DATE, n TINYINT UNSIGNED, c CHAR(4), e ENUM('a','b'));
SET sql_mode = '';
INSERT INTO t (s, d, n, c, e) VALUES ('no mode', '0000-00-00', 300, 'longer', 'z');
INSERT INTO t (s, d, n) VALUES ('month of none', '2024-00-10', -1);
SET sql_mode = 'ALLOW_INVALID_DATES';
INSERT INTO t (s, d) VALUES ('31 February', '2024-02-31');
SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO';
-- @ fails 1264
INSERT INTO t (s, n) VALUES ('too much', 300);
-- @ fails 1292
INSERT INTO t (s, d) VALUES ('zero', '0000-00-00');
INSERT IGNORE INTO t (s, n, d) VALUES ('ignored', 300, '0000-00-00');
-- @ mark strict
SET sql_mode = 'ANSI';
CREATE TABLE "quoted ""name""" ("id" INT PRIMARY KEY, "select" VARCHAR(20) DEFAULT 'd');
INSERT INTO "quoted ""name""" VALUES (1, 'a' || 'b'), (2, DEFAULT);
UPDATE "quoted ""name""" SET "select" = 'c' || "id" WHERE "id" = 1;
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
INSERT INTO t (s) VALUES ('back\slash\n'), ('two''quotes');
SET sql_mode = '';
INSERT INTO t (s) VALUES ('back\\slash\n'), ("two\"quotes");
-- @ mark quoted
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
INSERT INTO t (id, s) VALUES (0, 'zero itself');
SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH';
INSERT INTO t (s, c) SELECT CONCAT('[', c, ']'), 'p ' FROM t WHERE c IS NOT NULL ORDER BY id LIMIT 1;
SET sql_mode = 'NO_UNSIGNED_SUBTRACTION,REAL_AS_FLOAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE';
CREATE TABLE floats (id INT PRIMARY KEY, r REAL, k BIGINT);
INSERT INTO floats VALUES (1, 0.1, CAST(1 AS UNSIGNED) - 2), (2, 1e30, NOT 1 BETWEEN -5 AND 5);
SET sql_mode = 'NO_DIR_IN_CREATE,NO_ENGINE_SUBSTITUTION';
-- @ mark numbers
SET sql_mode = 'PIPES_AS_CONCAT';
CREATE TRIGGER joined BEFORE INSERT ON floats FOR EACH ROW SET NEW.k = LENGTH(NEW.id || NEW.id);
SET sql_mode = '';
INSERT INTO floats VALUES (1234, 1, 0);
-- @ if version>=8.0
SET sql_mode = 'TIME_TRUNCATE_FRACTIONAL';
CREATE TABLE fractions (id INT PRIMARY KEY, t TIME, d DATETIME(1));
INSERT INTO fractions VALUES (1, '10:00:00.9', '2024-05-10 20:00:00.99');
SET sql_mode = '';
INSERT INTO fractions VALUES (2, '10:00:00.9', '2024-05-10 20:00:00.99');
-- @ end
-- @ mark end
