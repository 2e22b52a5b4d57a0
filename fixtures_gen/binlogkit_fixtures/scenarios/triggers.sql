-- @ story One statement, many tables: triggers before and after, triggers that fire triggers, functions
-- @ story that write, a trigger that refuses, all in one transaction's rows and statements.
-- @ databases trig
-- @ start 2024-05-11T08:00:00
CREATE DATABASE trig CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE trig;
CREATE TABLE sale (id INT PRIMARY KEY, item INT, qty INT, total INT);
CREATE TABLE stock (item INT PRIMARY KEY, qty INT);
CREATE TABLE ledger (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(60), who VARCHAR(20));
CREATE TABLE counter (name VARCHAR(20) PRIMARY KEY, n INT);
INSERT INTO stock VALUES (1, 10), (2, 5);
INSERT INTO counter VALUES ('ledger', 0);
CREATE TRIGGER priced BEFORE INSERT ON sale FOR EACH ROW SET NEW.total = NEW.qty * 3;
CREATE TRIGGER sold AFTER INSERT ON sale FOR EACH ROW UPDATE stock SET qty = qty - NEW.qty WHERE item = NEW.item;
DELIMITER //
CREATE TRIGGER counted AFTER INSERT ON ledger FOR EACH ROW
BEGIN
  UPDATE counter SET n = n + 1 WHERE name = 'ledger';
END//
CREATE TRIGGER watched BEFORE UPDATE ON stock FOR EACH ROW
BEGIN
  IF NEW.qty < 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'nothing left';
  END IF;
  INSERT INTO ledger (what, who) VALUES (CONCAT(OLD.qty, ' to ', NEW.qty), 'stock');
END//
CREATE FUNCTION restock(which INT, more INT) RETURNS INT
BEGIN
  UPDATE stock SET qty = qty + more WHERE item = which;
  RETURN more;
END//
DELIMITER ;
INSERT INTO sale (id, item, qty) VALUES (1, 1, 2), (2, 2, 1);
-- @ fails 1644
INSERT INTO sale (id, item, qty) VALUES (3, 1, 1), (4, 2, 99);
-- @ mark sold
SELECT restock(2, 10);
INSERT INTO sale (id, item, qty) VALUES (5, 1, restock(2, 1));
CREATE TRIGGER undone AFTER DELETE ON sale FOR EACH ROW UPDATE stock SET qty = qty + OLD.qty WHERE item = OLD.item;
DELETE FROM sale WHERE id = 1;
BEGIN;
UPDATE stock SET qty = 100 WHERE item = 1;
SAVEPOINT s;
DELETE FROM sale;
ROLLBACK TO s;
COMMIT;
DROP TRIGGER watched;
UPDATE stock SET qty = 0;
-- @ mark end
