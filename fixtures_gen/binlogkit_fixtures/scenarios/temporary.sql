-- @ story Temporary tables: of two sessions by one name, beside a lasting table of that name, changed,
-- @ story copied from and to, in transactions that are taken back, and dropped by a session's end.
-- @ databases temp
-- @ start 2024-05-11T09:00:00
-- @ session one
CREATE DATABASE temp CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE temp.t (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO temp.t VALUES (1, 'lasting');
CREATE TEMPORARY TABLE temp.t (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO temp.t VALUES (1, 'hidden'), (2, 'hidden too');
CREATE TABLE temp.kept (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO temp.kept SELECT id, v FROM temp.t ORDER BY id;
-- @ session two
INSERT INTO temp.t VALUES (5, 'from the other');
CREATE TEMPORARY TABLE temp.mine (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MyISAM;
INSERT INTO temp.mine VALUES (7, 'mine');
INSERT INTO temp.kept SELECT id, v FROM temp.mine;
-- @ mark two-sessions
-- @ session one
ALTER TABLE temp.t ADD w INT;
UPDATE temp.t SET w = 3 WHERE id = 1;
BEGIN;
INSERT INTO temp.kept VALUES (20, 'rolled back');
DELETE FROM temp.t WHERE id = 1;
ROLLBACK;
INSERT INTO temp.kept SELECT id + 30, v FROM temp.t ORDER BY id;
DROP TEMPORARY TABLE temp.t;
UPDATE temp.t SET v = 'lasting, again' WHERE id = 1;
-- @ leave two
-- @ session one
INSERT INTO temp.kept VALUES (99, 'the end');
-- @ mark end
