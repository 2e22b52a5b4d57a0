-- @ story Tables made of queries: CREATE TABLE … SELECT with rows, in one transaction since 8.0.21; LIKE;
-- @ story from views and from temporary tables; one that fails; INSERT … SELECT between databases.
-- @ databases made_of other_made_of
-- @ start 2024-05-11T13:00:00
CREATE DATABASE made_of CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE DATABASE other_made_of CHARACTER SET latin1;
CREATE TABLE made_of.t (id INT PRIMARY KEY, v VARCHAR(20), d DECIMAL(6,2));
INSERT INTO made_of.t VALUES (1, 'é', 1.5), (2, NULL, NULL), (3, 'c', -3.25);
-- @ fails 1786 version<8.0.21 gtid=ON
CREATE TABLE made_of.copy SELECT id, v, d * 2 AS twice, 1.0 / 3 AS third FROM made_of.t;
-- @ fails 1786 version<8.0.21 gtid=ON
CREATE TABLE other_made_of.keyed (id INT NOT NULL, extra INT DEFAULT 5, PRIMARY KEY (id)) SELECT id, v FROM made_of.t WHERE id < 3;
CREATE TABLE other_made_of.likewise LIKE made_of.t;
INSERT INTO other_made_of.likewise SELECT * FROM made_of.t WHERE id <> 2;
-- @ mark copied
-- @ if version>=8.0.21
-- @ fails 1062
CREATE TABLE made_of.twice (id INT PRIMARY KEY) SELECT 1 AS id UNION ALL SELECT 1;
CREATE TABLE IF NOT EXISTS made_of.copy SELECT 99 AS id;
-- @ end
CREATE VIEW made_of.seen AS SELECT id, UPPER(v) AS big FROM made_of.t;
CREATE TEMPORARY TABLE made_of.tmp SELECT * FROM made_of.seen;
INSERT INTO other_made_of.likewise (id, v) SELECT id + 10, big FROM made_of.tmp ORDER BY id;
UPDATE other_made_of.likewise l JOIN made_of.t ON t.id = l.id SET l.d = 0;
DROP TEMPORARY TABLE made_of.tmp;
DROP VIEW made_of.seen;
-- @ mark end
