-- @ story Events of the server's own scheduler that really run, as somebody else and in a session of
-- @ story their own: one that runs once and is gone, one that changes rows in a transaction.
-- @ databases sched
-- @ requires event-scheduler=ON
-- @ start 2024-05-11T17:00:00
CREATE DATABASE sched CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE sched.ran (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(30));
CREATE TABLE sched.work (id INT PRIMARY KEY, state VARCHAR(10));
INSERT INTO sched.work VALUES (1, 'waiting'), (2, 'waiting');
-- @ mark before
CREATE EVENT sched.once ON SCHEDULE AT CURRENT_TIMESTAMP ON COMPLETION PRESERVE DO INSERT INTO sched.ran (what) VALUES ('once');
DO SLEEP(2);
-- @ mark once
DELIMITER //
CREATE EVENT sched.worker ON SCHEDULE AT CURRENT_TIMESTAMP ON COMPLETION PRESERVE DO
BEGIN
  START TRANSACTION;
  UPDATE sched.work SET state = 'done' WHERE id = 1;
  INSERT INTO sched.ran (what) VALUES (CONCAT('worked for ', CURRENT_USER()));
  COMMIT;
END//
DELIMITER ;
DO SLEEP(2);
-- @ mark worked
DROP EVENT sched.once;
DROP EVENT sched.worker;
INSERT INTO sched.ran (what) VALUES ('by hand');
-- @ mark end
