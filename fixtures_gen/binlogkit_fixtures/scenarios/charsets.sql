-- @ story Text in many character sets: of the column, of the client, of literals; sets of one, two, three
-- @ story and four bytes; binary text; names of tables in them; what a set cannot hold.
-- @ databases charset
-- @ start 2024-05-11T15:00:00
CREATE DATABASE charset CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE charset.t (id INT PRIMARY KEY, l1 VARCHAR(20) CHARACTER SET latin1, l2 VARCHAR(20) CHARACTER SET latin2, u3 VARCHAR(20) CHARACTER SET utf8, u4 VARCHAR(20), u2 VARCHAR(20) CHARACTER SET ucs2, u16 VARCHAR(20) CHARACTER SET utf16, le VARCHAR(20) CHARACTER SET utf16le, u32 VARCHAR(20) CHARACTER SET utf32, sj VARCHAR(20) CHARACTER SET sjis, gb VARCHAR(20) CHARACTER SET gbk, b5 VARCHAR(20) CHARACTER SET big5, kr VARCHAR(20) CHARACTER SET koi8r, cp CHAR(8) CHARACTER SET cp1251, gr CHAR(8) CHARACTER SET greek, asc_ CHAR(8) CHARACTER SET ascii, bin VARCHAR(20) CHARACTER SET binary, e ENUM('ä','ö') CHARACTER SET latin1, s SET('я','ж') CHARACTER SET cp1251, tx TEXT CHARACTER SET euckr);
INSERT INTO charset.t VALUES (1, 'Grüße', 'Łódź', '日本', '😀é', 'ä☃', '😀', '😀b', '😀c', '日本語', '中文', '中文', 'привет', 'мир', 'αβγ', 'plain', 'é', 'ä', 'я,ж', '한국어');
INSERT IGNORE INTO charset.t (id, l1, u3, asc_, sj) VALUES (2, '日本', '😀', 'é', '한');
INSERT INTO charset.t (id, l1, u4, gb) VALUES (3, _latin1 x'E9', _utf8 x'C3A9', _gbk x'D6D0'), (4, _binary 'raw', _utf16 x'00E90041', NULL);
-- @ mark inserted
SET NAMES latin1;
INSERT INTO charset.t (id, l1, u4) VALUES (5, CONVERT(x'FC' USING latin1), CONVERT(x'FC' USING latin1));
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
UPDATE charset.t SET sj = 'ソ表', b5 = '功' WHERE id = 1;
UPDATE charset.t SET u4 = 'É' WHERE u4 = 'é';
SET NAMES utf8mb4;
CREATE TABLE charset.`Größe` (`Länge` INT PRIMARY KEY, `幅` VARCHAR(10) CHARACTER SET gbk COLLATE gbk_bin);
INSERT INTO charset.`Größe` VALUES (1, '宽');
ALTER TABLE charset.t MODIFY l2 VARCHAR(20) CHARACTER SET utf8mb4, MODIFY u16 VARCHAR(40) CHARACTER SET latin1;
UPDATE charset.t SET l2 = 'Łódź 😀' WHERE id = 1;
-- @ if version>=5.7.4
CREATE TABLE charset.gb18 (id INT PRIMARY KEY, g VARCHAR(10) CHARACTER SET gb18030);
INSERT INTO charset.gb18 VALUES (1, '中😀é');
-- @ end
DELETE FROM charset.t WHERE id IN (2, 3);
-- @ mark end
