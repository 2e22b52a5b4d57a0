-- @ story Tables with every kind of key: primary, composite, unique not null, unique nullable, none
-- @ story with duplicate rows, on text, on bytes, on a prefix. Updates that change the key, swap two
-- @ story keys, shift all of them; REPLACE, INSERT IGNORE, ON DUPLICATE KEY; foreign keys that
-- @ story cascade below the log; columns of BLOB kind beside keys, which noblob images leave out.
-- @ databases keyed
-- @ start 2024-05-03T08:00:00
CREATE DATABASE keyed CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE keyed.pk (id INT PRIMARY KEY, name VARCHAR(20), body TEXT, data BLOB);
CREATE TABLE keyed.pk_auto (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) DEFAULT 'none', body TEXT);
CREATE TABLE keyed.pk_last (name VARCHAR(20), body TEXT, seen DATETIME DEFAULT '2024-01-01 00:00:00', id BIGINT UNSIGNED NOT NULL, PRIMARY KEY (id));
CREATE TABLE keyed.composite (tenant INT, day DATE, label VARCHAR(10), val DECIMAL(8,2), body TEXT, PRIMARY KEY (day, tenant));
CREATE TABLE keyed.unique_nn (id INT, code CHAR(4) NOT NULL, val INT, body TEXT, UNIQUE KEY code (code));
CREATE TABLE keyed.unique_two (a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, val INT, UNIQUE KEY bc (b, c), UNIQUE KEY a (a));
CREATE TABLE keyed.unique_null (code CHAR(4), val INT, body TEXT, UNIQUE KEY code (code));
CREATE TABLE keyed.nokey (val INT, name VARCHAR(20), body TEXT, f FLOAT);
CREATE TABLE keyed.only_index (val INT, name VARCHAR(20), KEY (val));
CREATE TABLE keyed.pk_text (name VARCHAR(20) PRIMARY KEY, val INT);
CREATE TABLE keyed.pk_bytes (k BINARY(6) PRIMARY KEY, v VARBINARY(6), val INT);
CREATE TABLE keyed.pk_prefix (body TEXT NOT NULL, val INT, PRIMARY KEY (body(5)));
CREATE TABLE keyed.pk_odd (`a ``key``` INT, `ключ` VARCHAR(10), `select` INT, PRIMARY KEY (`ключ`, `a ``key```));
CREATE TABLE keyed.parent (id INT PRIMARY KEY, name VARCHAR(20));
CREATE TABLE keyed.child (id INT PRIMARY KEY, parent_id INT, val INT, FOREIGN KEY (parent_id) REFERENCES keyed.parent (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE keyed.orphan (id INT PRIMARY KEY, parent_id INT, FOREIGN KEY (parent_id) REFERENCES keyed.parent (id) ON DELETE SET NULL ON UPDATE SET NULL);
-- @ mark created

INSERT INTO keyed.pk VALUES (1, 'one', 'first', x'01'), (2, 'two', 'second', x'0200'), (3, 'three', NULL, NULL), (4, NULL, '', '');
INSERT INTO keyed.pk (id) VALUES (5);
INSERT INTO keyed.pk_auto (name) VALUES ('a'), ('b'), ('c');
SET insert_id = 40;
INSERT INTO keyed.pk_auto (body) VALUES ('by insert_id');
INSERT INTO keyed.pk_auto VALUES (4294967290, 'large', NULL);
INSERT INTO keyed.pk_last (id, name) VALUES (18446744073709551615, 'top'), (1, 'low'), (9223372036854775808, 'middle');
INSERT INTO keyed.composite VALUES (1, '2024-05-01', 'a', 1.50, 'x'), (2, '2024-05-01', 'b', -2.50, 'y'), (1, '2024-05-02', NULL, NULL, NULL);
INSERT INTO keyed.unique_nn VALUES (1, 'AAAA', 1, 'x'), (1, 'BB', 2, 'y'), (NULL, 'C', NULL, NULL);
INSERT INTO keyed.unique_two VALUES (1, 1, 1, 10), (2, 1, 2, 20), (3, 2, 1, NULL);
INSERT INTO keyed.unique_null VALUES ('A', 1, 'x'), (NULL, 2, 'y'), (NULL, 2, 'y'), (NULL, NULL, NULL);
INSERT INTO keyed.nokey VALUES (1, 'dup', 'x', 0.1), (1, 'dup', 'x', 0.1), (1, 'dup', 'x', 0.1), (2, 'single', 'y', 1.5), (NULL, NULL, NULL, NULL), (NULL, NULL, NULL, NULL);
INSERT INTO keyed.only_index VALUES (1, 'x'), (1, 'x'), (2, 'y');
INSERT INTO keyed.pk_text VALUES ('apple', 1), ('Äpfel', 2), ('', 3), ('zoo', 4);
INSERT INTO keyed.pk_bytes VALUES (x'610000000000', x'6100', 1), (x'620000', x'', 2), (x'000000000000', NULL, 3);
INSERT INTO keyed.pk_prefix VALUES ('alpha and more', 1), ('beta and more', 2);
INSERT INTO keyed.pk_odd VALUES (1, 'один', 1), (2, 'один', 2), (1, 'два', 3);
INSERT INTO keyed.parent VALUES (1, 'p1'), (2, 'p2'), (3, 'p3'), (4, 'p4');
INSERT INTO keyed.child VALUES (1, 1, 10), (2, 1, 11), (3, 2, 20), (4, 3, 30);
INSERT INTO keyed.orphan VALUES (1, 1), (2, 2), (3, 4);
-- @ mark inserted

UPDATE keyed.pk SET name = 'uno' WHERE id = 1;
UPDATE keyed.pk SET body = 'longer now', data = NULL WHERE id = 2;
UPDATE keyed.pk SET name = NULL, body = NULL WHERE id = 2;
UPDATE keyed.pk SET name = CONCAT(COALESCE(name, ''), '!') WHERE id >= 3;
UPDATE keyed.pk_auto SET body = 'set' WHERE name = 'none';
UPDATE keyed.pk_last SET name = 'TOP', seen = '2024-05-03 08:00:00' WHERE id = 18446744073709551615;
UPDATE keyed.composite SET val = val * 2 WHERE day = '2024-05-01';
UPDATE keyed.unique_nn SET val = 22 WHERE code = 'BB';
UPDATE keyed.unique_two SET val = val + 1 WHERE b = 1;
UPDATE keyed.unique_null SET val = 3 WHERE code IS NULL AND val = 2;
UPDATE keyed.nokey SET name = 'changed' WHERE val = 1 LIMIT 1;
UPDATE keyed.nokey SET body = 'z' WHERE val = 2;
UPDATE keyed.nokey SET val = 9 WHERE val IS NULL LIMIT 1;
UPDATE keyed.only_index SET name = 'X' WHERE val = 1;
UPDATE keyed.pk_bytes SET v = x'FF00' WHERE k = x'620000000000';
UPDATE keyed.pk_prefix SET val = 11 WHERE val = 1;
UPDATE keyed.pk_odd SET `select` = `select` + 100 WHERE `ключ` = 'один';
-- @ mark updated

-- The key itself changes.
UPDATE keyed.pk SET id = 10 WHERE id = 1;
UPDATE keyed.composite SET day = '2024-06-01', tenant = 9 WHERE day = '2024-05-02';
UPDATE keyed.unique_nn SET code = 'ZZ' WHERE code = 'C';
UPDATE keyed.unique_null SET code = NULL WHERE code = 'A';
UPDATE keyed.pk_text SET name = 'APPLE' WHERE name = 'apple';
UPDATE keyed.pk_bytes SET k = x'0000000000FF' WHERE val = 3;
UPDATE keyed.pk_prefix SET body = 'gamma' WHERE val = 2;
UPDATE keyed.pk_odd SET `ключ` = 'три' WHERE `ключ` = 'два';
-- @ mark key-changed
-- Two keys are swapped.
BEGIN;
UPDATE keyed.pk SET id = -1 WHERE id = 2;
UPDATE keyed.pk SET id = 2 WHERE id = 3;
UPDATE keyed.pk SET id = 3 WHERE id = -1;
COMMIT;
-- @ mark key-swapped
-- All keys move on by one, from the last to the first.
UPDATE keyed.pk SET id = id + 1 ORDER BY id DESC;
-- @ mark keys-shifted

REPLACE INTO keyed.pk VALUES (3, 'replaced', 'new body', x'FF');
REPLACE INTO keyed.pk (id, name) VALUES (30, 'replace that inserts');
REPLACE INTO keyed.unique_two VALUES (1, 2, 1, 99);
INSERT IGNORE INTO keyed.pk (id, name) VALUES (3, 'ignored'), (31, 'taken');
INSERT INTO keyed.pk (id, name) VALUES (3, 'x'), (32, 'y') ON DUPLICATE KEY UPDATE name = CONCAT('again ', VALUES(name));
INSERT INTO keyed.pk (id, name) VALUES (32, 'y') ON DUPLICATE KEY UPDATE name = name;
-- @ mark replaced

-- Foreign keys: the children change below the log (up to 9.5).
DELETE FROM keyed.parent WHERE id = 1;
UPDATE keyed.parent SET id = 22 WHERE id = 2;
-- @ fails 1452
INSERT INTO keyed.child VALUES (9, 999, 0);
DELETE FROM keyed.parent WHERE id = 4;
-- @ mark cascaded

DELETE FROM keyed.pk WHERE id IN (4, 5);
DELETE FROM keyed.composite WHERE tenant = 2;
DELETE FROM keyed.unique_nn WHERE code = 'AAAA';
DELETE FROM keyed.unique_two WHERE a = 1;
DELETE FROM keyed.unique_null WHERE code IS NULL AND val = 3 LIMIT 1;
DELETE FROM keyed.nokey WHERE val = 1 AND name = 'dup' LIMIT 1;
DELETE FROM keyed.nokey WHERE val IS NULL;
DELETE FROM keyed.pk_last;
DELETE keyed.pk_text, keyed.pk_bytes FROM keyed.pk_text JOIN keyed.pk_bytes ON pk_text.val = pk_bytes.val WHERE pk_text.val = 2;
-- @ mark deleted

-- @ if version>=8.0.30
SET sql_generate_invisible_primary_key = ON;
CREATE TABLE keyed.generated_key (val INT, name VARCHAR(20));
SET sql_generate_invisible_primary_key = OFF;
INSERT INTO keyed.generated_key VALUES (1, 'a'), (1, 'a'), (2, 'b');
UPDATE keyed.generated_key SET name = 'c' WHERE val = 2;
DELETE FROM keyed.generated_key WHERE val = 1 ORDER BY my_row_id LIMIT 1;
-- @ mark generated-key
-- @ end
