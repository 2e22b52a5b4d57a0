-- @ story What the newest servers log and the older ones do not: vectors, GTIDs with tags in one
-- @ story transaction after another, and the rows that a foreign key's cascade changes in a child
-- @ story (from 9.6 on), which stand in the log like any other.
-- @ databases modern
-- @ requires version>=9.0
-- @ start 2024-05-08T10:00:00
CREATE DATABASE modern CHARACTER SET utf8mb4;
CREATE TABLE modern.embedding (id INT PRIMARY KEY, v VECTOR(3), w VECTOR, s VARCHAR(20));
CREATE TABLE modern.parent (id INT PRIMARY KEY, name VARCHAR(20));
CREATE TABLE modern.child (id INT PRIMARY KEY, parent_id INT, val INT, FOREIGN KEY (parent_id) REFERENCES modern.parent (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE modern.orphan (id INT PRIMARY KEY, parent_id INT, FOREIGN KEY (parent_id) REFERENCES modern.parent (id) ON DELETE SET NULL ON UPDATE SET NULL);
CREATE TABLE modern.grandchild (id INT PRIMARY KEY, child_id INT, FOREIGN KEY (child_id) REFERENCES modern.child (id) ON DELETE CASCADE);
-- @ mark created

INSERT INTO modern.embedding VALUES (1, STRING_TO_VECTOR('[1, 2, 3]'), STRING_TO_VECTOR('[0.1]'), 'short'), (2, NULL, NULL, NULL), (3, STRING_TO_VECTOR('[-0.5, 1e30, 0]'), STRING_TO_VECTOR('[1, 2, 3, 4, 5, 6, 7, 8]'), 'eight');
UPDATE modern.embedding SET v = STRING_TO_VECTOR('[4, 5, 6]') WHERE id = 2;
UPDATE modern.embedding SET w = STRING_TO_VECTOR('[7]'), s = 'seven' WHERE id = 1;
DELETE FROM modern.embedding WHERE id = 3;
ALTER TABLE modern.embedding MODIFY v VECTOR(5);
INSERT INTO modern.embedding (id, v) VALUES (4, STRING_TO_VECTOR('[1, 2, 3, 4, 5]'));
-- @ mark vectors

SET gtid_next = 'AUTOMATIC:shop';
INSERT INTO modern.parent VALUES (1, 'p1'), (2, 'p2'), (3, 'p3'), (4, 'p4');
INSERT INTO modern.child VALUES (1, 1, 10), (2, 1, 11), (3, 2, 20), (4, 3, 30);
SET gtid_next = 'AUTOMATIC:a_longer_tag_of_32_characters__';
INSERT INTO modern.orphan VALUES (1, 1), (2, 2), (3, 4);
SET gtid_next = 'AUTOMATIC';
INSERT INTO modern.grandchild VALUES (1, 1), (2, 3);
SET gtid_next = '99999999-0099-11ee-8099-999999999999:backup:41';
INSERT INTO modern.embedding (id, s) VALUES (9, 'from elsewhere');
SET gtid_next = 'AUTOMATIC:shop';
INSERT INTO modern.embedding (id, s) VALUES (10, 'tagged again');
SET gtid_next = 'AUTOMATIC';
-- @ mark tagged

DELETE FROM modern.parent WHERE id = 1;
UPDATE modern.parent SET id = 22 WHERE id = 2;
DELETE FROM modern.parent WHERE id = 4;
BEGIN;
UPDATE modern.parent SET id = 23 WHERE id = 22;
DELETE FROM modern.parent WHERE id = 3;
COMMIT;
-- @ mark cascaded
FLUSH BINARY LOGS;
INSERT INTO modern.parent VALUES (5, 'p5');
-- @ mark end
