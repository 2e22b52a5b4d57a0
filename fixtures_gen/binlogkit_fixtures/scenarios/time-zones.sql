-- @ story TIMESTAMP and DATETIME under zones that change: offsets with half hours, the ends of what a
-- @ story TIMESTAMP holds, fractions of every width, zeros, columns that set themselves, and values
-- @ story that are taken back in another zone.
-- @ databases zones
-- @ start 2024-10-27T00:30:00
CREATE DATABASE zones CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE zones.t (id INT PRIMARY KEY, ts TIMESTAMP(6) NULL, dt DATETIME(6), auto TIMESTAMP(2) NULL DEFAULT CURRENT_TIMESTAMP(2) ON UPDATE CURRENT_TIMESTAMP(2));
CREATE TABLE zones.widths (id INT PRIMARY KEY, t0 TIMESTAMP NULL, t1 TIMESTAMP(1) NULL, t3 TIMESTAMP(3) NULL, t4 TIMESTAMP(4) NULL, t6 TIMESTAMP(6) NULL, d0 TIME, d3 TIME(3), d6 TIME(6), y YEAR);
SET time_zone = '+00:00';
INSERT INTO zones.t VALUES (1, '1970-01-01 00:00:01', '1000-01-01 00:00:00', DEFAULT), (2, '2038-01-19 03:14:07.999999', '9999-12-31 23:59:59.999999', DEFAULT), (3, '0000-00-00', '0000-00-00', '0000-00-00');
SET time_zone = '+05:45';
INSERT INTO zones.t (id, ts, dt) VALUES (4, '2024-10-27 06:15:00', '2024-10-27 06:15:00'), (5, NOW(6), NOW(6));
SET time_zone = '-12:59';
-- @ wait 0.654321
INSERT INTO zones.t (id, ts, dt) VALUES (6, NOW(6), NOW(6)), (7, FROM_UNIXTIME(0.5), FROM_UNIXTIME(1700000000));
UPDATE zones.t SET dt = ts WHERE id IN (4, 6);
SET time_zone = '+13:00';
UPDATE zones.t SET ts = dt WHERE id = 4;
SET time_zone = '+00:00';
-- @ mark zones
INSERT INTO zones.widths VALUES (1, '2024-05-10 20:00:00.5', '2024-05-10 20:00:00.05', '2024-05-10 20:00:00.0005', '2024-05-10 20:00:00.12345', '2024-05-10 20:00:00.000001', '-838:59:59', '-00:00:00.001', '838:59:58.999999', 1901), (2, NULL, NULL, NULL, NULL, NULL, '00:00:00', '-00:00:01.500', '-838:59:58.999999', 2155), (3, '2024-05-10', '2024-05-10', '2024-05-10', '2024-05-10', '2024-05-10', '12:00', '1 10:00:00', '0:0:0.000001', 0);
UPDATE zones.widths SET t3 = t6, d6 = d3 WHERE id = 1;
DELETE FROM zones.widths WHERE id = 2;
UPDATE zones.t SET id = 50 WHERE id = 5;
-- @ mark end
