-- @ story A schema change as gh-ost makes it: no triggers, a ghost table, a changelog table with
-- @ story heartbeats and states, rows copied in ranges, later changes replayed from the log with
-- @ story REPLACE and DELETE in transactions, and a cut-over by a RENAME behind a sentry table.
-- @ databases ghost
-- @ start 2024-05-10T18:00:00
-- @ session app
CREATE DATABASE ghost CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE ghost.item (id INT PRIMARY KEY, label VARCHAR(20), qty INT);
INSERT INTO ghost.item VALUES (1, 'lamp', 3), (2, 'chair', 1), (3, 'table', NULL), (4, 'bed', 9);
-- @ session gh
CREATE /* gh-ost */ TABLE `ghost`.`_item_gho` LIKE `ghost`.`item`;
ALTER /* gh-ost */ TABLE `ghost`.`_item_gho` ADD COLUMN colour ENUM('red','blue') NOT NULL DEFAULT 'blue', MODIFY qty BIGINT;
CREATE /* gh-ost */ TABLE `ghost`.`_item_ghc` (id BIGINT UNSIGNED AUTO_INCREMENT, last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, hint VARCHAR(64) CHARACTER SET ascii NOT NULL, value VARCHAR(255) CHARACTER SET ascii NOT NULL, PRIMARY KEY (id), UNIQUE KEY hint_uidx (hint)) AUTO_INCREMENT=256;
INSERT /* gh-ost */ INTO `ghost`.`_item_ghc` (id, hint, value) VALUES (NULLIF(2, 0), 'state', 'GhostTableMigrated') ON DUPLICATE KEY UPDATE last_update = NOW(), value = VALUES(value);
INSERT /* gh-ost */ INTO `ghost`.`_item_ghc` (id, hint, value) VALUES (NULLIF(1, 0), 'heartbeat', '2024-05-10T18:00:05Z') ON DUPLICATE KEY UPDATE last_update = NOW(), value = VALUES(value);
INSERT /* gh-ost `ghost`.`item` */ IGNORE INTO `ghost`.`_item_gho` (`id`, `label`, `qty`) (SELECT `id`, `label`, `qty` FROM `ghost`.`item` FORCE INDEX (`PRIMARY`) WHERE (((`id` > 0) OR ((`id` = 0))) AND ((`id` < 3) OR ((`id` = 3)))) LOCK IN SHARE MODE);
-- @ mark copying
-- @ session app
UPDATE ghost.item SET qty = 4 WHERE id = 1;
DELETE FROM ghost.item WHERE id = 2;
INSERT INTO ghost.item VALUES (5, 'desk', 2);
-- @ session gh
BEGIN;
SET SESSION time_zone = '+00:00';
REPLACE /* gh-ost `ghost`.`_item_gho` */ INTO `ghost`.`_item_gho` (`id`, `label`, `qty`) VALUES (1, 'lamp', 4);
DELETE /* gh-ost `ghost`.`_item_gho` */ FROM `ghost`.`_item_gho` WHERE ((`id` = 2));
REPLACE /* gh-ost `ghost`.`_item_gho` */ INTO `ghost`.`_item_gho` (`id`, `label`, `qty`) VALUES (5, 'desk', 2);
COMMIT;
INSERT /* gh-ost */ INTO `ghost`.`_item_ghc` (id, hint, value) VALUES (NULLIF(1, 0), 'heartbeat', '2024-05-10T18:00:15Z') ON DUPLICATE KEY UPDATE last_update = NOW(), value = VALUES(value);
INSERT /* gh-ost `ghost`.`item` */ IGNORE INTO `ghost`.`_item_gho` (`id`, `label`, `qty`) (SELECT `id`, `label`, `qty` FROM `ghost`.`item` FORCE INDEX (`PRIMARY`) WHERE (((`id` > 3)) AND ((`id` < 4) OR ((`id` = 4)))) LOCK IN SHARE MODE);
CREATE /* gh-ost */ TABLE `ghost`.`_item_del` (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB COMMENT='ghost-cut-over-sentry';
LOCK /* gh-ost */ TABLES `ghost`.`item` WRITE, `ghost`.`_item_del` WRITE;
DROP /* gh-ost */ TABLE IF EXISTS `ghost`.`_item_del`;
UNLOCK TABLES;
RENAME /* gh-ost */ TABLE `ghost`.`item` TO `ghost`.`_item_del`, `ghost`.`_item_gho` TO `ghost`.`item`;
-- @ mark cut-over
DROP /* gh-ost */ TABLE IF EXISTS `ghost`.`_item_ghc`;
DROP /* gh-ost */ TABLE IF EXISTS `ghost`.`_item_del`;
-- @ session app
INSERT INTO ghost.item (id, label, colour) VALUES (6, 'sofa', 'red');
-- @ mark end
