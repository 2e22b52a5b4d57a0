-- @ story Locks and what they do to a log: LOCK TABLES holds two tables through several statements and
-- @ story commits what was open, a second session waits in vain, a global read lock lets nobody
-- @ story write, a statement under a user lock is one of the session, and a deadlock is undone.
-- @ databases locked
-- @ start 2024-05-10T15:00:00
-- @ session alice
CREATE DATABASE locked CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE locked.a (id INT PRIMARY KEY, v INT);
CREATE TABLE locked.b (id INT PRIMARY KEY, v INT);
INSERT INTO locked.a VALUES (1, 1), (2, 2);
INSERT INTO locked.b VALUES (1, 10), (2, 20);
-- @ mark created
BEGIN;
UPDATE locked.a SET v = 100 WHERE id = 1;
LOCK TABLES locked.a WRITE, locked.b READ;
UPDATE locked.a SET v = v + 1;
-- @ fails 1099
UPDATE locked.b SET v = 0;
-- @ fails 1100
INSERT INTO locked.c VALUES (1);
SET autocommit = 0;
UPDATE locked.a SET v = v + 1 WHERE id = 2;
INSERT INTO locked.a SELECT id + 10, v FROM locked.b;
COMMIT;
UPDATE locked.a SET v = 0;
ROLLBACK;
SET autocommit = 1;
-- @ session bob
SET lock_wait_timeout = 1;
-- @ fails 1205
INSERT INTO locked.a VALUES (99, 99);
-- @ session alice
UNLOCK TABLES;
-- @ mark unlocked
FLUSH TABLES WITH READ LOCK;
-- @ fails 1223
INSERT INTO locked.a VALUES (98, 98);
-- @ session bob
-- @ fails 1205
INSERT INTO locked.a VALUES (97, 97);
-- @ session alice
UNLOCK TABLES;
-- @ session bob
INSERT INTO locked.a VALUES (96, 96);
-- @ mark read-lock
-- @ session alice
SELECT GET_LOCK('binlogkit', 0);
INSERT INTO locked.b VALUES (3, IS_USED_LOCK('binlogkit') IS NOT NULL);
SELECT RELEASE_LOCK('binlogkit');
BEGIN;
SELECT * FROM locked.a WHERE id = 1 FOR UPDATE;
-- @ session bob
BEGIN;
UPDATE locked.b SET v = 21 WHERE id = 2;
-- @ fails 1205
UPDATE locked.a SET v = 7 WHERE id = 1;
COMMIT;
-- @ session alice
UPDATE locked.a SET v = 8 WHERE id = 1;
COMMIT;
-- @ if version>=8.0
LOCK INSTANCE FOR BACKUP;
INSERT INTO locked.a VALUES (50, 50);
UNLOCK INSTANCE;
BEGIN;
SELECT * FROM locked.a WHERE id = 1 FOR UPDATE SKIP LOCKED;
DELETE FROM locked.a WHERE id = 50;
COMMIT;
-- @ end
-- @ mark end
