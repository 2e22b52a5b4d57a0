-- @ story A schema change as pt-online-schema-change makes it: a new table, three triggers that write
-- @ story every change to it too, copies in chunks by primary key, and a RENAME of both at once, while
-- @ story the application goes on writing.
-- @ databases osc
-- @ start 2024-05-10T17:00:00
-- @ session app
CREATE DATABASE osc CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE osc.account (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30), balance DECIMAL(10,2));
INSERT INTO osc.account (name, balance) VALUES ('ann', 10), ('bob', 20.5), ('cyd', NULL), ('dan', 40), ('eve', 50), ('fay', 60);
-- @ mark before
-- @ session tool
USE osc;
CREATE TABLE `osc`.`_account_new` (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30), balance DECIMAL(10,2));
ALTER TABLE `osc`.`_account_new` ADD COLUMN email VARCHAR(40) NULL, MODIFY balance DECIMAL(12,2) NOT NULL DEFAULT 0;
CREATE TRIGGER `pt_osc_osc_account_del` AFTER DELETE ON `osc`.`account` FOR EACH ROW DELETE IGNORE FROM `osc`.`_account_new` WHERE `osc`.`_account_new`.`id` <=> OLD.`id`;
CREATE TRIGGER `pt_osc_osc_account_upd` AFTER UPDATE ON `osc`.`account` FOR EACH ROW REPLACE INTO `osc`.`_account_new` (`id`, `name`, `balance`) VALUES (NEW.`id`, NEW.`name`, COALESCE(NEW.`balance`, 0));
CREATE TRIGGER `pt_osc_osc_account_ins` AFTER INSERT ON `osc`.`account` FOR EACH ROW REPLACE INTO `osc`.`_account_new` (`id`, `name`, `balance`) VALUES (NEW.`id`, NEW.`name`, COALESCE(NEW.`balance`, 0));
INSERT LOW_PRIORITY IGNORE INTO `osc`.`_account_new` (`id`, `name`, `balance`) SELECT `id`, `name`, COALESCE(`balance`, 0) FROM `osc`.`account` FORCE INDEX(`PRIMARY`) WHERE ((`id` >= 1)) AND ((`id` <= 3)) LOCK IN SHARE MODE /*pt-online-schema-change 4711 copy nibble*/;
-- @ session app
UPDATE osc.account SET balance = 11 WHERE name = 'ann';
INSERT INTO osc.account (name, balance) VALUES ('gus', 70);
DELETE FROM osc.account WHERE name = 'dan';
UPDATE osc.account SET name = 'Eve' WHERE name = 'eve';
-- @ mark halfway
-- @ session tool
INSERT LOW_PRIORITY IGNORE INTO `osc`.`_account_new` (`id`, `name`, `balance`) SELECT `id`, `name`, COALESCE(`balance`, 0) FROM `osc`.`account` FORCE INDEX(`PRIMARY`) WHERE ((`id` >= 4)) AND ((`id` <= 6)) LOCK IN SHARE MODE /*pt-online-schema-change 4711 copy nibble*/;
ANALYZE TABLE `osc`.`_account_new`;
RENAME TABLE `osc`.`account` TO `osc`.`_account_old`, `osc`.`_account_new` TO `osc`.`account`;
-- @ mark swapped
DROP TABLE IF EXISTS `osc`.`_account_old`;
DROP TRIGGER IF EXISTS `osc`.`pt_osc_osc_account_del`;
-- @ session app
INSERT INTO osc.account (name, email) VALUES ('hal', 'hal@example.org');
-- @ mark end
