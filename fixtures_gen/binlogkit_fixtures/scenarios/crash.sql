-- @ story The server is killed in the middle of its work: two transactions are open, one is prepared
-- @ story for XA, and the log was never closed. What was committed is there, its header says that the
-- @ story file is in use, and no event ends it.
-- @ databases crash
-- @ start 2024-05-09T23:50:00
-- @ ends kill
CREATE DATABASE crash CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE crash.t (id INT PRIMARY KEY, v VARCHAR(40));
INSERT INTO crash.t VALUES (1, 'committed'), (2, 'committed');
FLUSH BINARY LOGS;
UPDATE crash.t SET v = 'in the last file' WHERE id = 1;
-- @ session patient
BEGIN;
INSERT INTO crash.t VALUES (10, 'never committed');
-- @ session other
XA START 'unfinished';
INSERT INTO crash.t VALUES (20, 'prepared');
XA END 'unfinished';
XA PREPARE 'unfinished';
-- @ session main
BEGIN;
UPDATE crash.t SET v = 'never committed either' WHERE id = 2;
-- @ session last
INSERT INTO crash.t VALUES (30, 'the last one');
-- @ mark end
