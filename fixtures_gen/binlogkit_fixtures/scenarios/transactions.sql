-- @ story A small bank. Transactions of every shape: several statements, savepoints, rollbacks whole
-- @ story and in part, empty ones, a MyISAM table whose rows stay after a rollback, XA transactions
-- @ story that commit, roll back, end in one phase, are resolved in the next file or never, two
-- @ story sessions whose transactions interleave, and a transaction of several hundred rows.
-- @ databases bank
-- @ start 2024-05-02T10:00:00
-- @ session alice
CREATE DATABASE bank CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE bank.account (id INT PRIMARY KEY, owner VARCHAR(40) NOT NULL, balance DECIMAL(12,2) NOT NULL) ENGINE=InnoDB;
CREATE TABLE bank.ledger (id INT AUTO_INCREMENT PRIMARY KEY, account_id INT NOT NULL, amount DECIMAL(12,2) NOT NULL, memo VARCHAR(80), KEY (account_id)) ENGINE=InnoDB;
CREATE TABLE bank.note (id INT PRIMARY KEY, txt VARCHAR(80)) ENGINE=MyISAM;
CREATE TABLE bank.digit (d INT PRIMARY KEY) ENGINE=InnoDB;
-- @ mark created

-- Autocommit: a transaction for each statement.
INSERT INTO bank.account VALUES (1, 'Ann', 100.00), (2, 'Ben', 50.00), (3, 'Cleo', 0.00), (4, 'Dora', 1000.00);
INSERT INTO bank.digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
UPDATE bank.account SET balance = balance + 1 WHERE id = 1;
UPDATE bank.account SET balance = balance WHERE id = 1;
DELETE FROM bank.account WHERE id = 99;
-- @ mark autocommit

-- Several statements.
BEGIN;
UPDATE bank.account SET balance = balance - 25.50 WHERE id = 1;
UPDATE bank.account SET balance = balance + 25.50 WHERE id = 2;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (1, -25.50, 'to Ben'), (2, 25.50, 'from Ann');
COMMIT;
-- @ mark several
SET autocommit = 0;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (3, 5.00, 'no BEGIN');
UPDATE bank.account SET balance = balance + 5.00 WHERE id = 3;
COMMIT AND CHAIN;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (3, 6.00, 'chained');
COMMIT;
SET autocommit = 1;
-- DDL commits what is open.
BEGIN;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (4, -1.00, 'committed by the CREATE');
CREATE TABLE bank.branch (id INT PRIMARY KEY, city VARCHAR(40));
ROLLBACK;
-- @ mark implicit

-- Empty ones.
BEGIN;
COMMIT;
BEGIN;
SELECT COUNT(*) FROM bank.account;
COMMIT;
BEGIN;
UPDATE bank.account SET balance = 0 WHERE id = 77;
COMMIT;
START TRANSACTION READ ONLY;
-- @ fails 1792
DELETE FROM bank.account;
COMMIT;

-- Rolled back.
BEGIN;
DELETE FROM bank.account WHERE id > 1;
UPDATE bank.account SET balance = 0;
ROLLBACK;
-- @ mark rolled-back

-- Savepoints.
BEGIN;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (1, 1.00, 'before the savepoint');
SAVEPOINT first;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (1, 2.00, 'undone');
SAVEPOINT `second one`;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (1, 3.00, 'undone too');
ROLLBACK TO SAVEPOINT first;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (1, 4.00, 'after the savepoint');
SAVEPOINT third;
UPDATE bank.account SET balance = balance + 5.00 WHERE id = 1;
RELEASE SAVEPOINT third;
COMMIT;
-- @ mark savepoints
BEGIN;
SAVEPOINT all_of_it;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (1, 9.00, 'undone, and nothing else');
ROLLBACK TO SAVEPOINT all_of_it;
COMMIT;

-- A statement that fails keeps the transaction alive.
BEGIN;
INSERT INTO bank.account VALUES (5, 'Emil', 5.00);
-- @ fails 1062
INSERT INTO bank.account VALUES (6, 'Finn', 6.00), (1, 'Ann again', 0.00);
INSERT INTO bank.account VALUES (7, 'Gina', 7.00);
COMMIT;
-- @ mark failed-statement

-- MyISAM: by itself, failing half way, and inside a transaction, where GTIDs forbid it.
INSERT INTO bank.note VALUES (1, 'alone');
-- @ fails 1062
INSERT INTO bank.note VALUES (2, 'stays'), (1, 'duplicate'), (3, 'never reached');
BEGIN;
UPDATE bank.account SET balance = balance + 100 WHERE id = 4;
-- @ fails 1785 gtid=ON
INSERT INTO bank.note VALUES (10, 'stays after the rollback');
UPDATE bank.account SET balance = balance + 100 WHERE id = 4;
ROLLBACK;
-- @ mark mixed-engines
BEGIN;
INSERT INTO bank.note VALUES (11, 'before the other engine');
UPDATE bank.account SET balance = balance + 1 WHERE id = 4;
COMMIT;
-- @ fails 1785 gtid=ON
UPDATE bank.account AS a JOIN bank.note AS n ON n.id = a.id SET a.balance = a.balance + 1, n.txt = 'both engines' WHERE a.id = 1;
-- @ mark both-engines

-- Two sessions whose transactions interleave; bob's commits first.
BEGIN;
UPDATE bank.account SET balance = balance - 10 WHERE id = 1;
-- @ session bob
BEGIN;
UPDATE bank.account SET balance = balance - 20 WHERE id = 4;
-- @ session alice
UPDATE bank.account SET balance = balance + 10 WHERE id = 2;
-- @ session carl
INSERT INTO bank.note VALUES (20, 'in between, by itself');
-- @ session bob
UPDATE bank.account SET balance = balance + 20 WHERE id = 3;
COMMIT;
-- @ mark bob-committed
-- @ session alice
COMMIT;
-- @ mark alice-committed
BEGIN;
UPDATE bank.account SET balance = balance - 1 WHERE id = 1;
-- @ session bob
-- @ fails 1205
UPDATE bank.account SET balance = 0 WHERE id = 1;
-- @ session alice
ROLLBACK;
-- @ session bob
UPDATE bank.account SET owner = 'Ann B.' WHERE id = 1;

-- XA: prepared and committed, prepared and rolled back, rolled back before, in one phase, empty.
-- @ session xenia
XA START 'committed';
UPDATE bank.account SET balance = balance - 7 WHERE id = 2;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (2, -7.00, 'XA, committed');
XA END 'committed';
XA PREPARE 'committed';
-- @ mark xa-prepared
XA COMMIT 'committed';
-- @ mark xa-committed
XA START 'undone','branch',7;
UPDATE bank.account SET balance = balance - 1000 WHERE id = 2;
XA END 'undone','branch',7;
XA PREPARE 'undone','branch',7;
XA ROLLBACK 'undone','branch',7;
XA START 'early';
DELETE FROM bank.account WHERE id = 2;
XA END 'early';
XA ROLLBACK 'early';
XA START X'00FF27','b';
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (2, 1.00, 'XA, one phase');
XA END X'00FF27','b';
XA COMMIT X'00FF27','b' ONE PHASE;
-- @ mark xa-one-phase
XA START 'empty';
XA END 'empty';
XA PREPARE 'empty';
XA COMMIT 'empty';
-- @ mark xa-done

-- One that is resolved in the next file by another session, with rows of others in between.
-- @ session yves
XA START 'later';
UPDATE bank.account SET balance = balance + 300 WHERE id = 4;
INSERT INTO bank.ledger (account_id, amount, memo) VALUES (4, 300.00, 'XA, committed in the next file');
XA END 'later';
XA PREPARE 'later';
-- @ leave yves
-- @ session alice
UPDATE bank.account SET balance = balance + 0.01 WHERE id = 3;
-- @ mark prepared-before-rotation
FLUSH BINARY LOGS;
UPDATE bank.account SET balance = balance + 0.01 WHERE id = 3;
-- 5.6 rolls a prepared transaction back when its session goes.
-- @ fails 1397 version<5.7.7
XA COMMIT 'later';
-- @ mark resolved-after-rotation

-- One that nobody resolves.
-- @ session zoe
XA START 'left';
UPDATE bank.account SET balance = 0 WHERE id = 5;
XA END 'left';
XA PREPARE 'left';
-- @ leave zoe

-- Several hundred rows.
-- @ session alice
BEGIN;
INSERT INTO bank.ledger (account_id, amount, memo) SELECT 1 + (b.d % 4), a.d * 100 + b.d * 10 + c.d, CONCAT('row ', a.d, b.d, c.d, ' of the large transaction') FROM bank.digit a, bank.digit b, bank.digit c WHERE a.d < 3 ORDER BY a.d, b.d, c.d;
UPDATE bank.ledger SET amount = amount + 0.25, memo = NULL WHERE amount BETWEEN 100 AND 139;
DELETE FROM bank.ledger WHERE amount >= 250;
COMMIT;
-- @ mark end
