-- @ story Numbers that the server gives: one by one, many at once, in steps, skipped by failures and
-- @ story rollbacks, set by hand, at a column's end, in a second column of a key, and LAST_INSERT_ID.
-- @ databases auto
-- @ start 2024-05-11T14:00:00
CREATE DATABASE auto CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE auto.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20) UNIQUE);
CREATE TABLE auto.small (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT);
CREATE TABLE auto.second (grp CHAR(2), n INT AUTO_INCREMENT, v INT, PRIMARY KEY (grp, n)) ENGINE=MyISAM;
INSERT INTO auto.t (v) VALUES ('a');
INSERT INTO auto.t (v) VALUES ('b'), ('c');
-- @ fails 1062
INSERT INTO auto.t (v) VALUES ('d'), ('a');
INSERT INTO auto.t (v) VALUES ('e');
BEGIN;
INSERT INTO auto.t (v) VALUES ('rolled back');
ROLLBACK;
INSERT INTO auto.t VALUES (100, 'by hand'), (NULL, 'after it'), (-5, 'negative'), (0, 'zero');
INSERT INTO auto.t (v) VALUES (CONCAT('last ', LAST_INSERT_ID()));
INSERT IGNORE INTO auto.t (v) VALUES ('a'), ('f');
INSERT INTO auto.t (v) VALUES ('a') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = CONCAT(v, '+');
REPLACE INTO auto.t (v) VALUES ('b');
-- @ mark given
SET auto_increment_increment = 5, auto_increment_offset = 3;
INSERT INTO auto.t (v) VALUES ('five'), ('by five');
SET auto_increment_increment = 1, auto_increment_offset = 1;
ALTER TABLE auto.t AUTO_INCREMENT = 1000;
INSERT INTO auto.t (v) VALUES ('a thousand');
UPDATE auto.t SET id = 2000 WHERE v = 'e';
INSERT INTO auto.t (v) SELECT CONCAT('s', id) FROM auto.t WHERE id < 3 ORDER BY id;
INSERT INTO auto.small VALUES (254, 1), (NULL, 2);
-- @ fails 1062
INSERT INTO auto.small (v) VALUES (3);
INSERT INTO auto.second (grp, v) VALUES ('a', 1), ('b', 1), ('a', 2);
DELETE FROM auto.second WHERE grp = 'a' AND n = 2;
INSERT INTO auto.second (grp, v) VALUES ('a', 3);
TRUNCATE auto.small;
INSERT INTO auto.small (v) VALUES (9);
-- @ mark end
