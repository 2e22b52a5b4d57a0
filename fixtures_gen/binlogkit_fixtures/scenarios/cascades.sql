-- @ story Foreign keys over several levels: a delete and a key's change run through children and
-- @ story grandchildren, a table refers to itself, a composite key, SET NULL beside CASCADE, RESTRICT.
-- @ story The children's rows are in the log from 9.6 on; before, only the parents' are.
-- @ databases tree
-- @ start 2024-05-10T16:00:00
CREATE DATABASE tree CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE tree.root (id INT PRIMARY KEY, name VARCHAR(20));
CREATE TABLE tree.branch (id INT PRIMARY KEY, root_id INT NOT NULL, FOREIGN KEY (root_id) REFERENCES tree.root (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE tree.leaf (id INT PRIMARY KEY, branch_id INT, body TEXT, FOREIGN KEY (branch_id) REFERENCES tree.branch (id) ON DELETE CASCADE);
CREATE TABLE tree.note (id INT PRIMARY KEY, root_id INT, FOREIGN KEY (root_id) REFERENCES tree.root (id) ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE tree.self (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES tree.self (id) ON DELETE CASCADE);
CREATE TABLE tree.pair (a INT, b INT, v INT, PRIMARY KEY (a, b));
CREATE TABLE tree.of_pair (id INT PRIMARY KEY, a INT, b INT, FOREIGN KEY (a, b) REFERENCES tree.pair (a, b) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE tree.strict (id INT PRIMARY KEY, root_id INT, FOREIGN KEY (root_id) REFERENCES tree.root (id));
INSERT INTO tree.root VALUES (1, 'oak'), (2, 'elm'), (3, 'ash');
INSERT INTO tree.branch VALUES (10, 1), (11, 1), (20, 2), (30, 3);
INSERT INTO tree.leaf VALUES (100, 10, 'a'), (101, 10, 'b'), (110, 11, NULL), (200, 20, 'c');
INSERT INTO tree.note VALUES (1, 1), (2, 2), (3, NULL);
INSERT INTO tree.self VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, NULL);
INSERT INTO tree.pair VALUES (1, 1, 0), (1, 2, 0), (2, 1, 0);
INSERT INTO tree.of_pair VALUES (1, 1, 1), (2, 1, 1), (3, 2, 1), (4, NULL, NULL);
INSERT INTO tree.strict VALUES (1, 3);
-- @ mark planted
DELETE FROM tree.root WHERE id = 1;
UPDATE tree.root SET id = 22 WHERE id = 2;
-- @ fails 1451
DELETE FROM tree.root WHERE id = 3;
DELETE FROM tree.self WHERE id = 2;
UPDATE tree.pair SET a = 9 WHERE a = 1 AND b = 1;
DELETE FROM tree.pair WHERE a = 2;
BEGIN;
DELETE FROM tree.branch WHERE id = 20;
INSERT INTO tree.branch VALUES (20, 3);
INSERT INTO tree.leaf VALUES (200, 20, 'again');
COMMIT;
BEGIN;
DELETE FROM tree.root WHERE id = 22;
ROLLBACK;
REPLACE INTO tree.root VALUES (22, 'replaced');
-- @ mark felled
SET foreign_key_checks = 0;
DELETE FROM tree.root WHERE id = 3;
INSERT INTO tree.leaf VALUES (999, 12345, 'an orphan');
SET foreign_key_checks = 1;
-- @ mark end
