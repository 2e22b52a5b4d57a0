-- @ story Partitioned tables: by range, list, hash and key; rows that move from one partition to
-- @ story another when their key changes; partitions added, emptied, exchanged, merged and dropped,
-- @ story and the rows that go with them without an event of their own.
-- @ databases parts
-- @ start 2024-05-10T19:00:00
CREATE DATABASE parts CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE parts.byrange (id INT, day DATE, v VARCHAR(10), PRIMARY KEY (id, day)) PARTITION BY RANGE COLUMNS (day) (PARTITION p23 VALUES LESS THAN ('2024-01-01'), PARTITION p24 VALUES LESS THAN ('2025-01-01'), PARTITION rest VALUES LESS THAN (MAXVALUE));
CREATE TABLE parts.bylist (id INT PRIMARY KEY, v VARCHAR(10)) PARTITION BY LIST (id) (PARTITION odd VALUES IN (1, 3, 5), PARTITION even VALUES IN (2, 4, 6));
CREATE TABLE parts.byhash (id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 3;
CREATE TABLE parts.sub (id INT, day DATE, KEY (id)) PARTITION BY RANGE (YEAR(day)) SUBPARTITION BY KEY (id) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (2024), PARTITION p1 VALUES LESS THAN MAXVALUE);
INSERT INTO parts.byrange VALUES (1, '2023-05-05', 'a'), (2, '2024-05-05', 'b'), (3, '2025-05-05', 'c');
INSERT INTO parts.bylist VALUES (1, 'one'), (2, 'two'), (3, 'three');
-- @ fails 1526
INSERT INTO parts.bylist VALUES (7, 'nowhere');
INSERT INTO parts.byhash VALUES (1, 1), (2, 2), (3, 3), (4, 4), (300, 300);
INSERT INTO parts.sub VALUES (1, '2023-01-01'), (2, '2024-01-01'), (2, '2024-01-01');
-- @ mark filled
UPDATE parts.byrange SET day = '2024-12-31' WHERE id = 1;
UPDATE parts.bylist SET id = 4 WHERE id = 1;
UPDATE parts.byhash SET v = v + 1 WHERE id IN (1, 2, 3);
DELETE FROM parts.sub WHERE id = 2 LIMIT 1;
UPDATE parts.byrange PARTITION (p24) SET v = 'p24';
-- @ mark moved
ALTER TABLE parts.byhash ADD PARTITION PARTITIONS 1;
ALTER TABLE parts.byrange REORGANIZE PARTITION rest INTO (PARTITION p25 VALUES LESS THAN ('2026-01-01'), PARTITION rest VALUES LESS THAN (MAXVALUE));
INSERT INTO parts.byrange VALUES (9, '2030-01-01', 'late');
ALTER TABLE parts.byhash COALESCE PARTITION 2;
DELETE FROM parts.byhash WHERE id = 300;
ALTER TABLE parts.sub REMOVE PARTITIONING;
INSERT INTO parts.sub VALUES (5, NULL);
-- @ mark reorganised
ALTER TABLE parts.byrange TRUNCATE PARTITION p25;
ALTER TABLE parts.bylist DROP PARTITION even;
CREATE TABLE parts.swap (id INT, day DATE, v VARCHAR(10), PRIMARY KEY (id, day));
INSERT INTO parts.swap VALUES (77, '2024-07-07', 'swapped');
ALTER TABLE parts.byrange EXCHANGE PARTITION p24 WITH TABLE parts.swap;
-- @ mark end
