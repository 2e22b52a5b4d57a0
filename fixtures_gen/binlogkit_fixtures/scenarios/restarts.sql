-- @ story Three lives of a server: transactions prepared for XA outlast a crash and are committed or
-- @ story rolled back in the next life, what was open is gone without a trace, a table in memory is
-- @ story empty after a restart and the server says so in the log, and each life begins a new file.
-- @ databases lives
-- @ requires version>=5.7.7 innodb-flush-log-at-trx-commit=1
-- @ start 2024-05-11T16:00:00
CREATE DATABASE lives CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE lives.t (id INT PRIMARY KEY, v VARCHAR(40));
CREATE TABLE lives.heap (id INT PRIMARY KEY, v VARCHAR(40)) ENGINE=MEMORY;
INSERT INTO lives.t VALUES (1, 'first life');
INSERT INTO lives.heap VALUES (1, 'soon forgotten');
-- @ session one
XA START 'commit later';
INSERT INTO lives.t VALUES (10, 'prepared, then committed');
XA END 'commit later';
XA PREPARE 'commit later';
-- @ session two
XA START 'undo', 'later', 7;
INSERT INTO lives.t VALUES (20, 'prepared, then rolled back');
UPDATE lives.t SET v = 'never' WHERE id = 1;
XA END 'undo', 'later', 7;
XA PREPARE 'undo', 'later', 7;
-- @ session last
XA START 'the last';
INSERT INTO lives.t VALUES (25, 'prepared as the last');
XA END 'the last';
XA PREPARE 'the last';
-- @ session three
BEGIN;
INSERT INTO lives.t VALUES (30, 'open at the crash');
-- @ session main
INSERT INTO lives.t VALUES (2, 'the last before');
-- @ mark before
-- @ restart kill
XA COMMIT 'commit later';
INSERT INTO lives.t VALUES (3, 'second life');
XA ROLLBACK 'undo', 'later', 7;
XA ROLLBACK 'the last';
DELETE FROM lives.heap WHERE id = 1;
INSERT INTO lives.heap VALUES (2, 'again in memory');
-- @ mark after-crash
-- @ restart stop
UPDATE lives.t SET v = 'third life' WHERE id = 1;
SELECT COUNT(*) FROM lives.heap;
-- @ mark end
