-- @ story A table grows up while rows come and go: columns added at the end, first, and in between,
-- @ story dropped, renamed, retyped and moved; two tables swap names; TRUNCATE; DROP and CREATE with
-- @ story another layout; CREATE LIKE and CREATE SELECT; character sets converted; generated columns;
-- @ story ENUM labels changed; partitions; odd names; a database with a default of its own.
-- @ databases evolve evolve2
-- @ start 2024-05-04T12:00:00
CREATE DATABASE evolve CHARACTER SET latin1;
USE evolve;
CREATE TABLE item (id INT NOT NULL AUTO_INCREMENT, name VARCHAR(20) DEFAULT 'new', price DECIMAL(6,2), PRIMARY KEY (id)) COMMENT='it''s; a "test"';
INSERT INTO item (name, price) VALUES ('nail', 0.10), ('Säge', 19.99);
-- @ mark start

ALTER TABLE item ADD COLUMN stock SMALLINT UNSIGNED NOT NULL DEFAULT 7;
INSERT INTO item (name, price, stock) VALUES ('bolt', 0.20, 65535);
UPDATE item SET stock = 40000 WHERE id = 1;
ALTER TABLE item ADD COLUMN (note TEXT, flag BIT(3) DEFAULT b'101');
INSERT INTO item (name, price, note, flag) VALUES ('nut', 0.05, 'n', b'111');
ALTER TABLE item ADD COLUMN sku CHAR(6) FIRST, ADD COLUMN colour ENUM('red','green') AFTER name;
UPDATE item SET sku = CONCAT('A-', id), colour = 'green' WHERE id < 3;
-- @ mark added

ALTER TABLE item DROP COLUMN note, DROP COLUMN flag;
UPDATE item SET price = price + 1 WHERE id = 1;
ALTER TABLE item CHANGE COLUMN name title VARCHAR(30) CHARACTER SET utf8mb4 NOT NULL DEFAULT '';
UPDATE item SET title = 'Säge 😀' WHERE id = 2;
-- @ if version>=8.0.3
ALTER TABLE item RENAME COLUMN stock TO amount;
-- @ end
-- @ if version<8.0.3
ALTER TABLE item CHANGE stock amount SMALLINT UNSIGNED NOT NULL DEFAULT 7;
-- @ end
UPDATE item SET amount = amount - 1 WHERE id = 1;
-- @ mark renamed

ALTER TABLE item MODIFY COLUMN amount BIGINT NOT NULL DEFAULT -1;
INSERT INTO item (sku, title, amount) VALUES ('B', 'big', 5000000000);
ALTER TABLE item MODIFY price DOUBLE AFTER amount, MODIFY sku CHAR(6) AFTER id;
UPDATE item SET price = 1e10, amount = -5 WHERE sku = 'B';
ALTER TABLE item MODIFY price VARCHAR(20) CHARACTER SET ascii;
UPDATE item SET price = 'n/a' WHERE sku = 'B';
-- @ mark retyped

ALTER TABLE item MODIFY colour ENUM('blue','green','red','dark green') NULL;
UPDATE item SET colour = 'dark green' WHERE id = 3;
UPDATE item SET colour = 'red' WHERE id = 4;
ALTER TABLE item MODIFY colour SET('red','green','blue','dark green');
UPDATE item SET colour = 'red,blue' WHERE id = 1;
-- @ mark labels

ALTER TABLE item ADD INDEX by_title (title), ADD UNIQUE KEY by_sku (sku, id);
CREATE INDEX by_colour ON item (colour);
DROP INDEX by_colour ON item;
ALTER TABLE item DROP INDEX by_title, ALTER COLUMN amount SET DEFAULT 0, AUTO_INCREMENT = 100;
INSERT INTO item (title) VALUES ('after one hundred');
ALTER TABLE item CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
UPDATE item SET sku = 'Ж' WHERE title = 'big';
ALTER TABLE item DEFAULT CHARACTER SET cp1251;
ALTER TABLE item ADD COLUMN remark VARCHAR(10) DEFAULT 'йод';
UPDATE item SET remark = 'Привет' WHERE id = 1;
-- @ mark charset

-- The same name, another table.
CREATE TABLE other (a VARCHAR(5), b INT, c DATETIME(3), id INT PRIMARY KEY);
INSERT INTO other VALUES ('o', 1, '2024-05-04 12:00:00.123', 1);
RENAME TABLE item TO spare, other TO item, spare TO other;
INSERT INTO item VALUES ('swap', 2, NULL, 2);
UPDATE other SET title = 'was item' WHERE id = 1;
-- @ mark swapped
ALTER TABLE item RENAME TO moved;
RENAME TABLE moved TO evolve.item;
TRUNCATE TABLE item;
INSERT INTO item VALUES ('trunc', 3, '2024-05-04 12:30:00.5', 3);
-- @ mark truncated
DROP TABLE item;
-- @ mark dropped
CREATE TABLE item (day DATE, id BIGINT UNSIGNED PRIMARY KEY, ratio FLOAT);
INSERT INTO item VALUES ('2024-05-04', 18446744073709551615, 0.25);
DROP TABLE IF EXISTS item, missing;
CREATE TABLE IF NOT EXISTS item (id INT PRIMARY KEY, payload VARBINARY(10));
CREATE TABLE IF NOT EXISTS item (never INT);
INSERT INTO item VALUES (1, x'00FF');
-- @ mark recreated

CREATE TABLE twin LIKE other;
INSERT INTO twin (title) VALUES ('twin');
-- @ fails 1786 version<8.0.21 gtid=ON
CREATE TABLE chosen (PRIMARY KEY (id)) SELECT id, title, amount * 2 AS doubled, UPPER(title) AS loud FROM other WHERE id < 4;
-- @ if version>=8.0.21
INSERT INTO chosen VALUES (50, 'extra', 1, 'EXTRA');
-- @ end
-- @ mark copied

-- @ if version>=5.7.6
CREATE TABLE gen (id INT PRIMARY KEY, a INT, b INT AS (a * 2) VIRTUAL, c VARCHAR(20) GENERATED ALWAYS AS (CONCAT('<', a, '>')) STORED, d INT, KEY (b));
INSERT INTO gen (id, a, d) VALUES (1, 10, 1), (2, NULL, 2), (3, -1, 3);
UPDATE gen SET a = 11 WHERE id = 1;
ALTER TABLE gen ADD COLUMN e BIGINT AS (a + d) VIRTUAL FIRST, DROP COLUMN c;
INSERT INTO gen (id, a, d) VALUES (4, 5, 6);
DELETE FROM gen WHERE id = 2;
-- @ mark generated
-- @ end
-- @ if version>=8.0.23
CREATE TABLE hidden (id INT PRIMARY KEY, secret INT INVISIBLE DEFAULT 5, shown INT DEFAULT (1 + 1), CHECK (shown > 0));
INSERT INTO hidden (id) VALUES (1), (2);
INSERT INTO hidden VALUES (3, 30);
UPDATE hidden SET secret = 9 WHERE id = 2;
ALTER TABLE hidden ADD COLUMN early CHAR(3) DEFAULT 'abc' FIRST, ALGORITHM=INSTANT;
INSERT INTO hidden (id) VALUES (4);
ALTER TABLE hidden ALTER COLUMN secret SET VISIBLE;
ALTER TABLE hidden DROP COLUMN shown, DROP CHECK hidden_chk_1;
UPDATE hidden SET early = 'xyz' WHERE id = 1;
CREATE INDEX functional ON hidden ((id + secret));
INSERT INTO hidden (id) VALUES (6);
-- @ mark hidden
-- @ end

CREATE TABLE part (id INT, day DATE NOT NULL, val INT, PRIMARY KEY (id, day)) PARTITION BY RANGE (YEAR(day)) (PARTITION p22 VALUES LESS THAN (2023), PARTITION p23 VALUES LESS THAN (2024));
INSERT INTO part VALUES (1, '2022-01-01', 1), (2, '2023-01-01', 2);
ALTER TABLE part ADD PARTITION (PARTITION p24 VALUES LESS THAN (2025), PARTITION rest VALUES LESS THAN MAXVALUE);
INSERT INTO part VALUES (3, '2024-01-01', 3), (4, '2030-01-01', 4);
CREATE TABLE part_out (id INT, day DATE NOT NULL, val INT, PRIMARY KEY (id, day));
INSERT INTO part_out VALUES (9, '2023-06-01', 9);
ALTER TABLE part EXCHANGE PARTITION p23 WITH TABLE part_out;
UPDATE part SET day = '2022-02-02' WHERE id = 4;
ALTER TABLE part TRUNCATE PARTITION p24;
-- @ mark partitions
ALTER TABLE part DROP PARTITION p22;
ALTER TABLE part REMOVE PARTITIONING;
INSERT INTO part VALUES (5, '2025-01-01', 5);
-- @ mark partitions-gone

CREATE TABLE `odd ``name``; --` (`a b` INT PRIMARY KEY, `select` INT, `ütf` VARCHAR(5), ```q``` INT);
INSERT INTO `odd ``name``; --` VALUES (1, 2, 'ü', 3);
ALTER TABLE `odd ``name``; --` CHANGE `select` `from` INT, ADD `日本` INT /* a comment */ DEFAULT 5;
UPDATE `odd ``name``; --` SET `from` = 20, `ütf` = NULL, `日本` = 6;
/*!50700 ALTER TABLE `odd ``name``; --` ADD COLUMN versioned INT DEFAULT 1 */;
/*!99999 ALTER TABLE `odd ``name``; --` ADD COLUMN never INT */;
INSERT INTO `odd ``name``; --` (`a b`) VALUES (2);
-- @ mark odd-names

CREATE DATABASE evolve2 CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE evolve2.t (id INT PRIMARY KEY, v VARCHAR(5));
INSERT INTO evolve2.t VALUES (1, '😀');
ALTER DATABASE evolve2 CHARACTER SET latin1;
CREATE TABLE evolve2.u (id INT PRIMARY KEY, v VARCHAR(5));
INSERT INTO evolve2.u VALUES (1, 'é');
RENAME TABLE evolve2.u TO evolve.u;
UPDATE evolve.u SET v = 'è';
-- @ mark second-database
DROP DATABASE evolve2;
-- @ mark database-dropped

-- DDL while another session's transaction is open on another table.
-- @ session other
BEGIN;
INSERT INTO evolve.twin (title) VALUES ('in an open transaction');
-- @ session main
ALTER TABLE u ADD COLUMN w INT DEFAULT 3;
UPDATE u SET w = 4;
-- @ session other
INSERT INTO evolve.u VALUES (2, 'b', 2);
COMMIT;
-- @ mark end
