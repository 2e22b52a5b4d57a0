-- @ story LOAD DATA of a file that is longer than the read buffer: it stands in the log in blocks. One
-- @ story that fails before a row is stored leaves its file in the log, and the word to delete it.
-- @ databases blocks
-- @ requires format=STATEMENT|MIXED
-- @ start 2024-05-10T11:00:00
CREATE DATABASE blocks CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE blocks.source (id INT PRIMARY KEY, v VARCHAR(100));
INSERT INTO blocks.source VALUES (1, REPEAT('0123456789', 9)), (2, REPEAT('abcdefghij', 9)), (3, NULL), (4, 'tab\t and \\ and \n newline');
INSERT INTO blocks.source SELECT a.id * 100 + b.id * 10 + c.id, a.v FROM blocks.source a JOIN blocks.source b JOIN blocks.source c ORDER BY 1;
INSERT INTO blocks.source SELECT id + 1000, CONCAT(v, '!') FROM blocks.source ORDER BY 1;
INSERT INTO blocks.source SELECT id + 10000, v FROM blocks.source ORDER BY 1;
INSERT INTO blocks.source SELECT id + 20000, v FROM blocks.source WHERE id < 500 ORDER BY 1;
SELECT id, v FROM blocks.source ORDER BY id INTO OUTFILE './binlogkit-blocks.csv';
CREATE TABLE blocks.loaded (id INT PRIMARY KEY, v VARCHAR(100));
LOAD DATA INFILE './binlogkit-blocks.csv' INTO TABLE blocks.loaded;
-- @ mark loaded
LOAD DATA INFILE './binlogkit-blocks.csv' REPLACE INTO TABLE blocks.loaded FIELDS TERMINATED BY '\t' (@n, v) SET id = @n + 1;
-- @ mark replaced
CREATE TABLE blocks.plain (id INT PRIMARY KEY, v VARCHAR(100)) ENGINE=MyISAM;
INSERT INTO blocks.plain VALUES (1, 'there already');
-- @ fails 1062
LOAD DATA INFILE './binlogkit-blocks.csv' INTO TABLE blocks.plain;
SELECT 2, 'kept' UNION SELECT 1, 'twice' INTO OUTFILE './binlogkit-twice.csv';
-- @ fails 1062
LOAD DATA INFILE './binlogkit-twice.csv' INTO TABLE blocks.plain;
-- @ mark end
