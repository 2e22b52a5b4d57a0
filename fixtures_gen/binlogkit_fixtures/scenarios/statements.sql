-- @ story What makes the log more than rows: values that statements take from their session (insert
-- @ story ids, seeds, user variables, time, zones, modes, character sets), statements that are unsafe
-- @ story to log as such, routines, triggers, temporary tables, LOAD DATA, other engines, accounts,
-- @ story settings changed on the way, GTIDs of another server, and changes that leave no trace.
-- @ databases stmts
-- @ start 2024-05-07T15:00:00
-- @ session app
CREATE DATABASE stmts CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE stmts;
CREATE TABLE auto (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100));
CREATE TABLE val (id INT PRIMARY KEY, i BIGINT, d DECIMAL(30,10), f DOUBLE, s VARCHAR(200), b VARBINARY(50));
CREATE TABLE moment (id INT AUTO_INCREMENT PRIMARY KEY, dt DATETIME(6), ts TIMESTAMP(6) NULL, t TIME(3), d DATE, s VARCHAR(60));
CREATE TABLE two_keys (a INT PRIMARY KEY, b INT UNIQUE, c INT);
-- @ mark created

-- INTVAR
INSERT INTO auto (v) VALUES ('first');
INSERT INTO auto (v) VALUES ('second'), ('third');
INSERT INTO auto (v) VALUES (CONCAT('after ', LAST_INSERT_ID()));
INSERT INTO val (id, i) VALUES (LAST_INSERT_ID() + 100, LAST_INSERT_ID());
SET insert_id = 50;
INSERT INTO auto (v) VALUES ('fiftieth');
SET auto_increment_increment = 10, auto_increment_offset = 7;
INSERT INTO auto (v) VALUES ('in tens'), ('in tens too');
SET auto_increment_increment = 1, auto_increment_offset = 1;
-- RAND
SET rand_seed1 = 4711, rand_seed2 = 815;
INSERT INTO val (id, f) VALUES (1, RAND());
INSERT INTO val (id, f) VALUES (2, RAND(42));
-- USER_VAR
SET @i = -5, @u = 18446744073709551615, @d = 12345678901234567890.0123456789, @f = 1.5e300, @s = 'Grüße 😀', @n = NULL, @b = x'00FF27', @l = _latin1 x'E9';
INSERT INTO val VALUES (3, @i, @d, @f, @s, @b);
INSERT INTO val (id, i, s) VALUES (4, @n, CONCAT(@l, @u));
SET @`odd name` = 'it''s; --';
INSERT INTO val (id, s) VALUES (5, @`odd name`);
SELECT @later := MAX(id) FROM val;
INSERT INTO val (id, s) VALUES (@later + 1, 'assigned by a SELECT');
-- @ mark variables

-- Time, its fractions and zones; names of days.
INSERT INTO moment (dt, ts, t, d, s) VALUES (NOW(), NOW(), CURTIME(), CURDATE(), UNIX_TIMESTAMP());
-- @ wait 0.123456
INSERT INTO moment (dt, ts, t, d, s) VALUES (NOW(6), NOW(6), CURTIME(3), UTC_DATE(), UTC_TIMESTAMP(6));
SET time_zone = '+05:30';
INSERT INTO moment (dt, ts, t, d, s) VALUES (NOW(6), NOW(6), CURTIME(3), CURDATE(), FROM_UNIXTIME(1715094000));
SET time_zone = '+00:00', lc_time_names = 'zh_CN';
INSERT INTO moment (d, s) VALUES ('2024-05-07', DATE_FORMAT('2024-05-07', '%W %M'));
SET lc_time_names = 'en_US';
-- @ mark moments

-- Modes and character sets of the session.
SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES';
INSERT INTO "val" (id, s) VALUES (10, 'a\' || 'b');
SET sql_mode = 'NO_ENGINE_SUBSTITUTION';
SET NAMES latin1;
INSERT INTO val (id, s, b) VALUES (11, CONVERT(x'E9' USING latin1), 'plain');
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO val (id, s) VALUES (12, 'é' = 'e');
SET NAMES utf8mb4;
SET foreign_key_checks = 0, unique_checks = 0, sql_auto_is_null = 1;
INSERT INTO val (id, s) VALUES (13, 'checks off');
SET foreign_key_checks = 1, unique_checks = 1, sql_auto_is_null = 0;
-- @ mark sessions

-- Unsafe to log as statements (manual, "Determination of Safe and Unsafe Statements").
SELECT SQL_CALC_FOUND_ROWS id FROM val LIMIT 1;
INSERT INTO auto (v) VALUES (CONCAT('found ', FOUND_ROWS()));
UPDATE val SET i = 1 WHERE i IS NULL LIMIT 2;
DELETE FROM val WHERE id IN (10, 11) LIMIT 1;
INSERT INTO auto (v) SELECT s FROM val WHERE id < 4;
INSERT INTO two_keys VALUES (1, 1, 1), (2, 2, 2);
INSERT INTO two_keys VALUES (1, 9, 9), (3, 2, 3) ON DUPLICATE KEY UPDATE c = c + 100;
INSERT IGNORE INTO two_keys SELECT a, b + 10, c FROM two_keys;
REPLACE INTO two_keys SELECT a + 2, b, c FROM two_keys WHERE a = 1;
INSERT INTO val (id, i) VALUES (20, @@server_id);
INSERT INTO val (id, i) VALUES (21, ROW_COUNT());
-- @ mark unsafe

-- Several tables; a view; a prepared statement.
UPDATE val JOIN two_keys ON val.id = two_keys.a SET val.i = 77, two_keys.c = two_keys.c + 1;
DELETE val, two_keys FROM val JOIN two_keys ON val.id = two_keys.a WHERE two_keys.a = 2;
CREATE SQL SECURITY INVOKER VIEW seen AS SELECT id, s FROM val WHERE id > 10 WITH CHECK OPTION;
UPDATE seen SET s = 'through a view' WHERE id = 12;
-- @ fails 1369
INSERT INTO seen VALUES (0, 'outside');
PREPARE p FROM 'INSERT INTO val (id, s) VALUES (?, ?)';
SET @id = 30, @text = 'prepared';
EXECUTE p USING @id, @text;
DEALLOCATE PREPARE p;
-- @ mark several-tables

-- An account; routines, a trigger and an event of its own.
-- @ if version>=5.7.6
CREATE USER fixture@localhost ACCOUNT LOCK;
-- @ end
-- @ if version<5.7.6
CREATE USER fixture@localhost;
-- @ end
GRANT ALL ON stmts.* TO fixture@localhost;
CREATE DEFINER = fixture@localhost PROCEDURE fill(IN many INT, IN txt VARCHAR(20)) BEGIN DECLARE n INT DEFAULT 0; WHILE n < many DO INSERT INTO auto (v) VALUES (CONCAT(txt, n)); SET n = n + 1; END WHILE; UPDATE val SET s = txt WHERE id = 30; END;
CALL fill(2, 'it''s ');
CREATE DEFINER = fixture@localhost FUNCTION bump(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO auto (v) VALUES ('by a function'); RETURN x + 1; END;
INSERT INTO val (id, i) VALUES (31, bump(1));
SELECT bump(5);
CREATE TABLE trail (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(60));
CREATE DEFINER = fixture@localhost TRIGGER traced BEFORE UPDATE ON two_keys FOR EACH ROW BEGIN INSERT INTO trail (what) VALUES (CONCAT(OLD.c, ' to ', NEW.c)); SET NEW.b = NEW.b + 1000; END;
UPDATE two_keys SET c = 5 ORDER BY a;
CREATE DEFINER = fixture@localhost EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' DISABLE DO DELETE FROM trail;
ALTER EVENT nightly COMMENT 'never runs';
DROP EVENT nightly;
DROP TRIGGER traced;
DROP FUNCTION bump;
DROP PROCEDURE fill;
-- @ mark routines

-- Temporary tables of two sessions, with the same name.
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, s VARCHAR(20));
INSERT INTO tmp VALUES (1, 'app''s'), (2, 'app''s too');
-- @ session batch
USE stmts;
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, s VARCHAR(20));
INSERT INTO tmp VALUES (1, 'batch''s');
INSERT INTO auto (v) SELECT s FROM tmp;
-- @ session app
INSERT INTO auto (v) SELECT s FROM tmp ORDER BY id;
ALTER TABLE tmp ADD extra INT;
DROP TEMPORARY TABLE tmp;
-- @ session batch
DROP TABLE tmp;
-- @ session app
-- @ mark temporary

-- LOAD DATA, and another engine that keeps nothing and one that forgets.
SELECT id, 'line', NULL FROM two_keys JOIN (SELECT 1 AS id UNION SELECT 2 UNION SELECT 3) AS n WHERE a = 3 ORDER BY id INTO OUTFILE './binlogkit-fixture.csv';
CREATE TABLE loaded (id INT PRIMARY KEY, s VARCHAR(20), n INT);
LOAD DATA INFILE './binlogkit-fixture.csv' INTO TABLE loaded (id, @s, n) SET s = CONCAT(@s, ' ', id);
LOAD DATA INFILE './binlogkit-fixture.csv' REPLACE INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\t' LINES TERMINATED BY '\n' (id, s, n);
-- @ fails 1062
LOAD DATA INFILE './binlogkit-fixture.csv' INTO TABLE loaded;
CREATE TABLE forgets (id INT PRIMARY KEY, s VARCHAR(10)) ENGINE=MEMORY;
INSERT INTO forgets VALUES (1, 'a'), (2, 'b');
UPDATE forgets SET s = 'c' WHERE id = 2;
CREATE TABLE archived (id INT, s VARCHAR(10)) ENGINE=ARCHIVE;
INSERT INTO archived VALUES (1, 'kept');
CREATE TABLE keeps_nothing (id INT PRIMARY KEY, s VARCHAR(10)) ENGINE=BLACKHOLE;
INSERT INTO keeps_nothing VALUES (1, 'gone');
UPDATE keeps_nothing SET s = 'never there';
DELETE FROM keeps_nothing;
-- @ mark engines

-- Settings that change on the way.
CREATE TABLE switched (id INT PRIMARY KEY, a VARCHAR(20), b TEXT);
SET SESSION binlog_format = 'ROW';
INSERT INTO switched VALUES (1, 'row', 'r'), (2, 'row', 'r');
SET SESSION binlog_row_image = 'minimal';
UPDATE switched SET a = 'minimal' WHERE id = 1;
INSERT INTO switched (id) VALUES (3);
SET SESSION binlog_row_image = 'noblob';
UPDATE switched SET a = 'noblob' WHERE id = 1;
SET SESSION binlog_row_image = 'full';
UPDATE switched SET a = 'full' WHERE id = 1;
SET SESSION binlog_rows_query_log_events = ON;
UPDATE switched SET a = 'with its query' WHERE id = 1 /* said so */;
SET SESSION binlog_rows_query_log_events = OFF;
SET SESSION binlog_format = 'STATEMENT';
UPDATE switched SET a = 'statement' WHERE id = 2;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- @ fails 1665
UPDATE switched SET a = 'impossible' WHERE id = 2;
SET SESSION binlog_format = 'MIXED';
UPDATE switched SET a = 'read committed' WHERE id = 2;
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SET SESSION binlog_format = DEFAULT, SESSION binlog_row_image = DEFAULT;
-- @ mark switched

-- Changes that leave no trace.
CREATE TABLE untraced (id INT PRIMARY KEY, s VARCHAR(40));
INSERT INTO untraced VALUES (1, 'logged');
SET sql_log_bin = 0;
INSERT INTO untraced VALUES (2, 'not logged');
UPDATE untraced SET s = 'changed in silence' WHERE id = 1;
SET sql_log_bin = 1;
DELETE FROM untraced WHERE id = 2;
-- @ mark untraced

-- @ if gtid=ON
-- GTIDs of another server, as a replica writes them; one of them empty, one that fills a gap.
-- @ session replica
SET gtid_next = '99999999-0099-11ee-8099-999999999999:5';
INSERT INTO stmts.val (id, s) VALUES (40, 'from elsewhere');
SET gtid_next = '99999999-0099-11ee-8099-999999999999:7';
BEGIN;
COMMIT;
SET gtid_next = '99999999-0099-11ee-8099-999999999999:6';
UPDATE stmts.val SET s = 'from elsewhere, later' WHERE id = 40;
SET gtid_next = 'AUTOMATIC';
-- @ if version>=8.0.14
SET original_commit_timestamp = 1700000000123456;
SET original_server_version = 80011;
INSERT INTO stmts.val (id, s) VALUES (41, 'committed elsewhere in 2023');
SET original_commit_timestamp = DEFAULT, original_server_version = DEFAULT;
-- @ end
-- @ mark elsewhere
-- @ end

-- @ session app
ANALYZE TABLE val;
OPTIMIZE TABLE loaded;
FLUSH TABLES;
REVOKE ALL ON stmts.* FROM fixture@localhost;
DROP USER fixture@localhost;
TRUNCATE loaded;
DROP VIEW seen;
-- @ mark end
