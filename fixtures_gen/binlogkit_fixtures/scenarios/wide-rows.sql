-- @ story Rows of many columns and of much text: bitmaps of several bytes, a row longer than an event is
-- @ story meant to be, many rows in one statement over several events, lengths of one, two and three
-- @ story bytes, and an update of one column among seventy.
-- @ databases wide
-- @ start 2024-05-11T11:00:00
CREATE DATABASE wide CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE wide.bits (id INT PRIMARY KEY, b01 BIT, b02 BIT(2), b03 BIT(3), b04 BIT(4), b05 BIT(5), b06 BIT(6), b07 BIT(7), b08 BIT(8), b09 BIT(9), b10 BIT(10), c11 TINYINT, c12 TINYINT, c13 TINYINT, c14 TINYINT, c15 TINYINT, c16 TINYINT, c17 TINYINT, c18 TINYINT, c19 TINYINT, c20 TINYINT, c21 CHAR(1), c22 CHAR(1), c23 CHAR(1), c24 CHAR(1), c25 CHAR(1), c26 CHAR(1), c27 CHAR(1), c28 CHAR(1), c29 CHAR(1), c30 CHAR(1), d31 DATE, d32 DATE, d33 DATE, d34 DATE, d35 DATE, d36 DATE, d37 DATE, d38 DATE, d39 DATE, d40 DATE, n41 DECIMAL(3,1), n42 DECIMAL(3,1), n43 DECIMAL(3,1), n44 DECIMAL(3,1), n45 DECIMAL(3,1), n46 DECIMAL(3,1), n47 DECIMAL(3,1), n48 DECIMAL(3,1), n49 DECIMAL(3,1), n50 DECIMAL(3,1), s51 SET('a','b'), s52 SET('a','b'), s53 SET('a','b'), s54 SET('a','b'), s55 SET('a','b'), s56 SET('a','b'), s57 SET('a','b'), s58 SET('a','b'), s59 SET('a','b'), s60 SET('a','b'), t61 TEXT, t62 TEXT, t63 TEXT, t64 TEXT, t65 TEXT, t66 TEXT, t67 TEXT, t68 TEXT, t69 TEXT);
INSERT INTO wide.bits (id) VALUES (1), (2), (3);
INSERT INTO wide.bits (id, b01, b05, b10, c11, c20, c21, c30, d31, d40, n41, n50, s51, s60, t61, t69) VALUES (4, 1, 17, 1023, -128, 127, 'x', 'é', '2024-01-01', '9999-12-31', -99.9, 0.1, 'a,b', '', 't', '');
UPDATE wide.bits SET c19 = 5 WHERE id = 2;
UPDATE wide.bits SET b01 = NULL, t69 = 'last' WHERE id = 4;
DELETE FROM wide.bits WHERE id = 3;
-- @ mark columns
CREATE TABLE wide.long_rows (id INT PRIMARY KEY, s VARCHAR(255), v VARCHAR(4000), m MEDIUMTEXT, l LONGBLOB);
INSERT INTO wide.long_rows VALUES (1, REPEAT('s', 255), REPEAT('v', 256), REPEAT('m', 300), REPEAT('l', 300)), (2, '', '', '', ''), (3, REPEAT('é', 127), REPEAT('é', 128), REPEAT('m', 65536), NULL);
UPDATE wide.long_rows SET v = REPEAT('w', 4000) WHERE id = 2;
UPDATE wide.long_rows SET s = 'short' WHERE id = 1;
-- @ mark lengths
CREATE TABLE wide.many (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(40));
INSERT INTO wide.many (v) VALUES ('a'), ('b'), ('c'), ('d'), ('e'), ('f'), ('g'), ('h');
INSERT INTO wide.many (v) SELECT CONCAT(a.v, b.v, c.v) FROM wide.many a JOIN wide.many b JOIN wide.many c ORDER BY a.id, b.id, c.id;
UPDATE wide.many SET v = CONCAT(v, '!') WHERE id % 4 = 0 ORDER BY id;
DELETE FROM wide.many WHERE id > 200;
-- @ mark end
