-- @ story The server is shut down in good order: the last log ends with STOP, and whatever was open
-- @ story is rolled back without a trace.
-- @ databases shutdown
-- @ start 2024-05-09T22:00:00
-- @ ends stop
CREATE DATABASE shutdown CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE shutdown.t (id INT PRIMARY KEY, v VARCHAR(40));
INSERT INTO shutdown.t VALUES (1, 'committed'), (2, 'committed');
FLUSH BINARY LOGS;
DELETE FROM shutdown.t WHERE id = 2;
-- @ session patient
BEGIN;
INSERT INTO shutdown.t VALUES (10, 'rolled back by the shutdown');
-- @ session main
-- @ mark end
