-- @ story A statement changes more of a table without transactions than the statement cache takes. It
-- @ story cannot be undone, and what it did is not in the log: an INCIDENT says so, and the log
-- @ story goes on in the next file. With transactions the statement is undone, and nothing is lost.
-- @ databases lost
-- @ requires binlog-stmt-cache-size=4096 max-binlog-stmt-cache-size=4096
-- @ start 2024-05-10T10:00:00
CREATE DATABASE lost CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE lost.plain (id INT PRIMARY KEY, v VARCHAR(3000)) ENGINE=MyISAM;
CREATE TABLE lost.safe (id INT PRIMARY KEY, v VARCHAR(3000)) ENGINE=InnoDB;
INSERT INTO lost.plain VALUES (1, 'logged');
INSERT INTO lost.safe VALUES (1, 'logged');
-- @ mark before
-- @ fails 1705
INSERT INTO lost.plain VALUES (2, REPEAT('a', 2900)), (3, REPEAT('b', 2900)), (4, REPEAT('c', 2900)), (5, REPEAT('d', 2900));
-- @ fails 1197
INSERT INTO lost.safe VALUES (2, REPEAT('a', 2900)), (3, REPEAT('b', 2900)), (4, REPEAT('c', 2900)), (5, REPEAT('d', 2900));
INSERT INTO lost.safe VALUES (6, 'after');
DROP TABLE lost.plain;
-- @ mark end
