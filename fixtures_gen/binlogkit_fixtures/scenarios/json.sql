-- @ story Documents that grow, shrink and change in place: what JSON_SET, JSON_REPLACE and JSON_REMOVE
-- @ story do is logged as a difference where PARTIAL_JSON is on, and only there; other updates of the
-- @ story same columns are not. A document of more than 64 KB has the large binary format.
-- @ databases docs
-- @ start 2024-05-06T09:00:00
CREATE DATABASE docs CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE docs.doc (id INT PRIMARY KEY, j JSON, note VARCHAR(20));
CREATE TABLE docs.two (id INT PRIMARY KEY, a JSON NOT NULL, b JSON, n INT);
CREATE TABLE docs.keyless (j JSON, n INT);
INSERT INTO docs.doc VALUES (1, '{"name": "Ann", "tags": ["a", "b", "c"], "address": {"city": "Lyon", "zip": "69001"}}', 'one'), (2, '[1, [2, [3, [4]]], "five"]', 'two'), (3, '"scalar"', NULL), (4, NULL, 'sql null'), (5, 'null', 'json null'), (6, '{}', 'empty');
INSERT INTO docs.doc VALUES (7, JSON_OBJECT('text', REPEAT('lorem ipsum ', 60), 'count', 0, 'list', JSON_ARRAY(1, 2, 3), 'd', CAST('1.50' AS DECIMAL(10,2)), 'when', CAST('2024-05-06 09:00:00.000001' AS DATETIME(6))), 'long');
INSERT INTO docs.two VALUES (1, '{"x": 1, "pad": "................................................................"}', '{"y": [1, 2, 3], "pad": "................................................................"}', 1), (2, '{"x": 1}', NULL, 2);
INSERT INTO docs.keyless VALUES ('{"k": 1, "pad": "................................................................"}', 1), ('{"k": 1, "pad": "................................................................"}', 1);
-- @ mark inserted

-- In place: replaced, inserted, removed, each alone and together.
UPDATE docs.doc SET j = JSON_SET(j, '$.name', 'Bea') WHERE id = 1;
UPDATE docs.doc SET j = JSON_REPLACE(j, '$.address.city', 'L') WHERE id = 1;
UPDATE docs.doc SET j = JSON_SET(j, '$.age', 31) WHERE id = 1;
UPDATE docs.doc SET j = JSON_REMOVE(j, '$.tags[1]') WHERE id = 1;
UPDATE docs.doc SET j = JSON_SET(JSON_REMOVE(JSON_REPLACE(j, '$.name', 'Cy'), '$.address.zip'), '$.address.country', 'FR'), note = 'several' WHERE id = 1;
UPDATE docs.doc SET j = JSON_SET(j, '$[1][1][1][0]', 'deep', '$[5]', NULL) WHERE id = 2;
UPDATE docs.doc SET j = JSON_SET(j, '$.count', 1) WHERE id = 7;
UPDATE docs.doc SET j = JSON_SET(j, '$.count', 123456789012) WHERE id = 7;
UPDATE docs.doc SET j = JSON_SET(j, '$.list[3]', JSON_OBJECT('deep', JSON_ARRAY(TRUE, FALSE, NULL, 1.5, CAST('2.50' AS DECIMAL(5,2))))) WHERE id = 7;
UPDATE docs.doc SET j = JSON_SET(j, '$.d', CAST('-99.99' AS DECIMAL(10,2)), '$."odd key.[0] \\"q\\""', '\\ / 😀') WHERE id = 7;
UPDATE docs.doc SET j = JSON_REMOVE(j, '$.when', '$.list[0]') WHERE id = 7;
-- @ mark in-place

-- Nothing to do, or the whole document.
UPDATE docs.doc SET j = JSON_SET(j, '$.name', 'Cy') WHERE id = 1;
UPDATE docs.doc SET j = JSON_REMOVE(j, '$.missing'), note = 'note only' WHERE id = 1;
UPDATE docs.doc SET note = 'unread' WHERE id = 7;
UPDATE docs.doc SET j = JSON_SET(j, '$', 'whole') WHERE id = 3;
UPDATE docs.doc SET j = JSON_SET(j, '$.a', 1) WHERE id IN (4, 5, 6);
UPDATE docs.doc SET j = JSON_ARRAY_APPEND(j, '$', 6) WHERE id = 2;
UPDATE docs.doc SET j = '{"new": true}' WHERE id = 6;
UPDATE docs.doc SET j = NULL WHERE id = 5;
UPDATE docs.doc SET j = '[]' WHERE id = 4;
-- @ mark whole

-- Two columns, one of them in place; a column that takes another's document; the key changes too.
UPDATE docs.two SET a = JSON_SET(a, '$.x', 2), n = 10 WHERE id = 1;
UPDATE docs.two SET a = JSON_SET(a, '$.x', 3), b = JSON_REMOVE(b, '$.y[0]') WHERE id = 1;
UPDATE docs.two SET a = JSON_SET(a, '$.x', 4), b = '{"whole": 1}' WHERE id = 1;
UPDATE docs.two SET b = JSON_SET(a, '$.from', 'a') WHERE id = 2;
UPDATE docs.two SET id = 3, a = JSON_SET(a, '$.x', 'moved') WHERE id = 1;
UPDATE docs.two SET a = JSON_SET(a, '$.x', 'both rows'), b = JSON_REPLACE(b, '$.x', 0);
-- @ mark columns
UPDATE docs.keyless SET j = JSON_SET(j, '$.k', 2) WHERE n = 1;
UPDATE docs.keyless SET j = JSON_SET(j, '$.k', 3), n = 2 ORDER BY n LIMIT 1;
-- @ mark keyless

-- @ if format=ROW image=full
-- A large document: offsets of four bytes.
INSERT INTO docs.doc VALUES (8, JSON_OBJECT('large', REPEAT('0123456789abcdef', 4200), 'k', JSON_ARRAY(1, 70000, 3000000000)), 'large');
-- @ end
DELETE FROM docs.doc WHERE id IN (1, 2, 7);
DELETE FROM docs.two;
-- @ mark end
