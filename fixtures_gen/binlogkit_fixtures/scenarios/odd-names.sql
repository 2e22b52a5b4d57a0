-- @ story Names and values that somebody chose to do harm, or only strange ones: markup, terminal
-- @ story sequences, quotes, path separators, templates, formulas, zero bytes, right-to-left marks.
-- @ databases odd
-- @ start 2024-05-11T10:00:00
CREATE DATABASE odd CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE odd.`<script>alert(1)</script>` (`id` INT PRIMARY KEY, `a"b'c` VARCHAR(100), `x;--` INT);
CREATE TABLE odd.`../up` (`ключ` INT PRIMARY KEY, `名` VARCHAR(100), ```tick` INT);
CREATE TABLE odd.`{{ 7*7 }} $(id) %s` (`=1+1` INT PRIMARY KEY, `null` VARCHAR(200), `__proto__` BLOB);
INSERT INTO odd.`<script>alert(1)</script>` VALUES (1, '<img src=x onerror=alert(1)>', 1), (2, '\0\b\Z\r\n\t\\', 2), (3, "'; DROP TABLE students; --", NULL);
INSERT INTO odd.`../up` VALUES (1, '=cmd|''/C calc''!A0', 1), (2, '‮gnp.exe', 2), (3, 'a​b', 3);
INSERT INTO odd.`{{ 7*7 }} $(id) %s` VALUES (1, CONVERT(x'1B5D303B7469746C6507' USING utf8mb4), x'1B5B324A'), (2, '${jndi:ldap://127.0.0.1/a}', NULL), (3, 'NULL', ''), (4, '\\N', 'NULL');
-- @ mark inserted
UPDATE odd.`<script>alert(1)</script>` SET `a"b'c` = CONCAT('</td>', `a"b'c`) WHERE `id` = 1;
UPDATE odd.`../up` SET ```tick` = 9 WHERE `ключ` = 2;
DELETE FROM odd.`{{ 7*7 }} $(id) %s` WHERE `=1+1` IN (1, 3);
RENAME TABLE odd.`../up` TO odd.`a.b`;
ALTER TABLE odd.`a.b` CHANGE `名` `</style>` VARCHAR(100), ADD `e'` ENUM('a''b', '"', '\\') DEFAULT '"';
INSERT INTO odd.`a.b` VALUES (4, '🙈', 4, 'a''b');
-- @ mark end
