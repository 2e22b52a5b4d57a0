-- @ story Other storage engines: MyISAM, MEMORY, ARCHIVE and CSV keep rows without transactions,
-- @ story BLACKHOLE keeps none but logs what it was given, and MERGE stores them in another table.
-- @ databases engines
-- @ start 2024-05-10T12:00:00
CREATE DATABASE engines CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE engines.isam (id INT PRIMARY KEY, v VARCHAR(20), b BLOB) ENGINE=MyISAM;
CREATE TABLE engines.heap (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MEMORY;
CREATE TABLE engines.arch (id INT, v VARCHAR(20)) ENGINE=ARCHIVE;
CREATE TABLE engines.comma (id INT NOT NULL, v VARCHAR(20) NOT NULL) ENGINE=CSV;
CREATE TABLE engines.hole (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=BLACKHOLE;
CREATE TABLE engines.part_a (id INT NOT NULL, v VARCHAR(20), KEY (id)) ENGINE=MyISAM;
CREATE TABLE engines.part_b (id INT NOT NULL, v VARCHAR(20), KEY (id)) ENGINE=MyISAM;
-- @ mark created
INSERT INTO engines.isam VALUES (1, 'a', x'01'), (2, 'b', NULL), (3, NULL, '');
UPDATE engines.isam SET v = 'c' WHERE id >= 2;
DELETE FROM engines.isam WHERE id = 1;
-- @ fails 1062
INSERT INTO engines.isam VALUES (9, 'stays', NULL), (2, 'twice', NULL);
INSERT INTO engines.heap VALUES (1, 'a'), (2, 'b');
UPDATE engines.heap SET v = 'c' WHERE id = 2;
INSERT INTO engines.arch VALUES (1, 'kept'), (2, NULL);
INSERT INTO engines.comma VALUES (1, 'a,"b"'), (2, '');
UPDATE engines.comma SET v = 'c' WHERE id = 2;
DELETE FROM engines.comma WHERE id = 1;
INSERT INTO engines.hole VALUES (1, 'gone'), (2, 'gone too');
DELETE FROM engines.hole;
-- @ mark written
-- The tables of a MERGE: what is inserted through it is logged as its own, and stored in the last.
INSERT INTO engines.part_a VALUES (1, 'a');
CREATE TABLE engines.merged (id INT NOT NULL, v VARCHAR(20), KEY (id)) ENGINE=MERGE UNION=(engines.part_a, engines.part_b) INSERT_METHOD=LAST;
INSERT INTO engines.merged VALUES (2, 'through the merge');
UPDATE engines.merged SET v = CONCAT(v, '!') ORDER BY id;
DELETE FROM engines.merged WHERE id = 1;
DROP TABLE engines.merged, engines.part_a, engines.part_b;
-- A transaction over two engines, where GTIDs do not forbid it.
CREATE TABLE engines.inno (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB;
BEGIN;
INSERT INTO engines.inno VALUES (1, 'rolled back');
-- @ fails 1785 enforce-gtid-consistency=ON
INSERT INTO engines.isam VALUES (20, 'stays', NULL);
ROLLBACK;
TRUNCATE engines.heap;
ALTER TABLE engines.isam ENGINE=InnoDB;
INSERT INTO engines.isam VALUES (30, 'now with transactions', NULL);
-- @ mark end
