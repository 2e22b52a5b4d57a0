-- @ story What settings change in a log, in one short story: text in the server's character set, times
-- @ story in its zone, a zero as an AUTO_INCREMENT value, images with and without what is unchanged
-- @ story or of BLOB kind, generated columns among it, rows in one event or in many, a document
-- @ story changed in place, names in upper and lower case, two sessions and a savepoint.
-- @ databases setting
-- @ start 2024-05-10T08:00:00
CREATE DATABASE setting;
CREATE TABLE setting.Plain (Id INT AUTO_INCREMENT PRIMARY KEY, Name VARCHAR(30), seen TIMESTAMP(3) NULL, made DATETIME DEFAULT '2024-01-01 00:00:00', body TEXT, data BLOB);
INSERT INTO setting.Plain VALUES (1, 'Grüße', '2024-03-31 12:30:00.125', '2024-03-31 12:30:00', 'first body', x'00FF');
INSERT INTO setting.Plain (Id, Name) VALUES (0, 'zero'), (NULL, 'next');
INSERT IGNORE INTO setting.Plain (Name, body) VALUES ('longer than the thirty characters of its column', NULL);
INSERT INTO setting.Plain (Id, Name, seen, body) VALUES (10, 'moment', FROM_UNIXTIME(1715328000.5), REPEAT('b', 40)), (11, 'moment', NOW(), REPEAT('b', 300)), (12, NULL, NULL, NULL), (13, 'a', NULL, REPEAT('c', 90)), (14, 'b', NULL, REPEAT('d', 90)), (15, 'c', NULL, REPEAT('e', 90));
-- @ mark inserted
UPDATE setting.Plain SET Name = 'changed' WHERE Id = 1;
UPDATE setting.Plain SET body = 'second body' WHERE Id = 1;
UPDATE setting.Plain SET data = NULL, made = '2024-05-10 09:00:00' WHERE Id = 1;
UPDATE setting.Plain SET Name = CONCAT('n', Id) WHERE Id >= 13 ORDER BY Id;
UPDATE setting.Plain SET Id = 20 WHERE Id = 12;
-- @ mark updated
-- @ session other
CREATE TABLE setting.Safe (Id INT PRIMARY KEY, Name VARCHAR(30)) ENGINE=InnoDB;
BEGIN;
INSERT INTO setting.Safe VALUES (30, 'in a transaction');
SAVEPOINT here;
INSERT INTO setting.Safe VALUES (31, 'taken back');
ROLLBACK TO here;
UPDATE setting.Safe SET Name = 'twice' WHERE Id = 30;
COMMIT;
-- @ session main
DELETE FROM setting.Plain WHERE Id IN (13, 14);
-- @ if version>=5.7.8
CREATE TABLE setting.Made (id INT PRIMARY KEY, j JSON, n INT, v INT AS (n * 2) VIRTUAL, s VARCHAR(20) AS (CONCAT('<', n, '>')) STORED, b BLOB AS (CONCAT('b', n)) STORED, c BLOB);
INSERT INTO setting.Made (id, j, n, c) VALUES (1, '{"k": 1, "pad": "........................................"}', 1, 'blob'), (2, '[1, 2]', NULL, NULL);
UPDATE setting.Made SET j = JSON_SET(j, '$.k', 2) WHERE id = 1;
UPDATE setting.Made SET n = 5 WHERE id = 1;
UPDATE setting.Made SET c = 'other' WHERE id = 2;
DELETE FROM setting.Made WHERE id = 2;
-- @ end
-- @ mark end
