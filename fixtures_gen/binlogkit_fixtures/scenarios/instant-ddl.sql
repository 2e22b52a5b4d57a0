-- @ story A table whose columns come, go, move and are renamed between rows, at once and by a copy;
-- @ story types that widen; a column's default that older rows take; a table renamed and made anew.
-- @ databases instant
-- @ start 2024-05-11T12:00:00
CREATE DATABASE instant CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE instant.t (id INT PRIMARY KEY, a INT, b VARCHAR(10));
INSERT INTO instant.t VALUES (1, 1, 'one'), (2, 2, 'two');
ALTER TABLE instant.t ADD c INT DEFAULT 7, ADD d VARCHAR(5) DEFAULT 'd' AFTER id;
UPDATE instant.t SET a = 10 WHERE id = 1;
INSERT INTO instant.t (id, a) VALUES (3, 3);
-- @ mark added
ALTER TABLE instant.t CHANGE a alpha BIGINT, MODIFY b VARCHAR(300);
UPDATE instant.t SET alpha = 9223372036854775807 WHERE id = 2;
ALTER TABLE instant.t DROP c, MODIFY b VARCHAR(300) FIRST;
UPDATE instant.t SET b = 'moved' WHERE id = 3;
-- @ mark moved
-- @ if version>=8.0.29
ALTER TABLE instant.t ADD e DATETIME DEFAULT '2024-05-11 12:00:00' AFTER d, ALGORITHM=INSTANT;
ALTER TABLE instant.t DROP d, ALGORITHM=INSTANT;
UPDATE instant.t SET e = NULL WHERE id = 1;
ALTER TABLE instant.t RENAME COLUMN e TO f, ALGORITHM=INSTANT;
INSERT INTO instant.t (id) VALUES (4);
-- @ mark instant
-- @ end
-- @ if version>=8.0.23
ALTER TABLE instant.t ALTER COLUMN b SET INVISIBLE;
INSERT INTO instant.t (id) VALUES (5);
ALTER TABLE instant.t ALTER COLUMN b SET VISIBLE;
-- @ end
CREATE TABLE instant.other LIKE instant.t;
RENAME TABLE instant.t TO instant.old, instant.other TO instant.t;
INSERT INTO instant.t (id) VALUES (100);
UPDATE instant.old SET alpha = 0 WHERE id = 1;
DROP TABLE instant.t;
CREATE TABLE instant.t (id VARCHAR(10) PRIMARY KEY, alpha DATE);
INSERT INTO instant.t VALUES ('anew', '2024-05-11');
ALTER TABLE instant.t ADD KEY (alpha), COMMENT = 'anew', CONVERT TO CHARACTER SET latin1;
UPDATE instant.t SET id = 'Ä' WHERE id = 'anew';
-- @ mark end
