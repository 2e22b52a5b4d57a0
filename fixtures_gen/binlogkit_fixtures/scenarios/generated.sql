-- @ story Generated columns, virtual and stored, of every kind that images treat apart: numbers, text,
-- @ story BLOBs, documents; on keys, on indexes, invisible; changed through what they are made of.
-- @ databases made
-- @ requires version>=5.7.8
-- @ start 2024-05-10T13:00:00
CREATE DATABASE made CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE made.first (v INT AS (n + 1) VIRTUAL, id INT PRIMARY KEY, n INT, s INT AS (n * 10) STORED, t TEXT);
CREATE TABLE made.blobs (id INT PRIMARY KEY, a VARCHAR(20), vb BLOB AS (CONCAT('v:', a)) VIRTUAL, sb TEXT AS (CONCAT('s:', a)) STORED, j JSON, city VARCHAR(20) AS (JSON_UNQUOTE(JSON_EXTRACT(j, '$.city'))) STORED, jj JSON AS (JSON_OBJECT('a', a)) STORED, body TEXT);
CREATE TABLE made.keyed (n INT NOT NULL, k INT AS (n * 2) STORED NOT NULL PRIMARY KEY, u VARCHAR(10) AS (CONCAT('u', n)) VIRTUAL UNIQUE, body TEXT);
CREATE TABLE made.nokey (a INT, b DECIMAL(8,2) AS (a / 4) VIRTUAL, c DATE AS (DATE_ADD('2024-01-01', INTERVAL a DAY)) STORED, d BLOB);
-- @ mark created
INSERT INTO made.first (id, n, t) VALUES (1, 1, 'one'), (2, NULL, NULL);
INSERT INTO made.blobs (id, a, j, body) VALUES (1, 'ann', '{"city": "Lyon"}', 'body'), (2, NULL, NULL, NULL), (3, 'é', '{"city": "Łódź", "x": 1}', '');
INSERT INTO made.keyed (n, body) VALUES (1, 'x'), (2, NULL);
INSERT INTO made.nokey (a, d) VALUES (3, x'00'), (3, x'00'), (NULL, NULL);
-- @ mark inserted
UPDATE made.first SET n = 7 WHERE id = 1;
UPDATE made.first SET t = 'only the text' WHERE id = 2;
UPDATE made.blobs SET a = 'bea' WHERE id = 1;
UPDATE made.blobs SET j = JSON_SET(j, '$.city', 'Paris') WHERE id = 3;
UPDATE made.blobs SET body = 'only the body' WHERE id = 2;
UPDATE made.keyed SET n = 5 WHERE n = 1;
UPDATE made.keyed SET body = 'again' WHERE n = 2;
UPDATE made.nokey SET a = 8 WHERE a = 3 LIMIT 1;
UPDATE made.nokey SET d = x'01' WHERE a IS NULL;
-- @ mark updated
DELETE FROM made.first WHERE id = 1;
DELETE FROM made.blobs WHERE id = 3;
DELETE FROM made.keyed WHERE n = 5;
DELETE FROM made.nokey WHERE a = 3;
ALTER TABLE made.first ADD late INT AS (id * 100) VIRTUAL AFTER id;
INSERT INTO made.first (id, n) VALUES (4, 4);
-- @ if version>=8.0.13
CREATE INDEX low ON made.blobs ((LOWER(a)));
CREATE TABLE made.defaults (id INT PRIMARY KEY, d VARCHAR(20) DEFAULT (CONCAT('d', id)), t TEXT DEFAULT ('text'), p POINT DEFAULT (POINT(1, 2)));
INSERT INTO made.defaults (id) VALUES (1);
UPDATE made.defaults SET d = DEFAULT WHERE id = 1;
UPDATE made.blobs SET a = 'CY' WHERE id = 2;
-- @ end
-- @ if version>=8.0.23
ALTER TABLE made.keyed ADD hidden INT INVISIBLE DEFAULT 3, ADD hv INT AS (hidden + n) VIRTUAL INVISIBLE;
INSERT INTO made.keyed (n) VALUES (9);
-- @ end
-- @ mark end
