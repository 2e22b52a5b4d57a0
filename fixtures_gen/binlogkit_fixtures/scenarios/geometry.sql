-- @ story Geometries of every type with reference systems: cartesian, longitude before latitude,
-- @ story without one; empty collections; spatial keys; as text, as bytes, changed in part.
-- @ databases geo
-- @ requires version>=5.7.6
-- @ start 2024-05-10T14:00:00
CREATE DATABASE geo CHARACTER SET utf8mb4;
CREATE TABLE geo.place (id INT PRIMARY KEY, g GEOMETRY, note VARCHAR(20));
CREATE TABLE geo.typed (id INT PRIMARY KEY, p POINT NOT NULL, l LINESTRING, a POLYGON, mp MULTIPOINT, ml MULTILINESTRING, ma MULTIPOLYGON, c GEOMETRYCOLLECTION, SPATIAL KEY (p));
INSERT INTO geo.place VALUES (1, ST_GeomFromText('POINT(1 2)'), 'no SRID'), (2, ST_GeomFromText('POINT(3 4)', 3857), 'metres'), (3, NULL, 'null');
INSERT INTO geo.place VALUES (4, ST_GeomFromText('POINT(52.5 13.4)', 4326), 'degrees'), (5, ST_GeomFromText('LINESTRING(0 0,1e300 -1e-300)'), 'far');
INSERT INTO geo.place VALUES (6, ST_GeomFromText('GEOMETRYCOLLECTION()'), 'empty'), (7, ST_GeomFromWKB(x'0101000000000000000000F03F0000000000000040', 4326), 'from bytes');
INSERT INTO geo.typed VALUES (1, ST_GeomFromText('POINT(1 1)'), ST_GeomFromText('LINESTRING(0 0,1 1,2 0)'), ST_GeomFromText('POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 1))'), ST_GeomFromText('MULTIPOINT(0 0,1 1)'), ST_GeomFromText('MULTILINESTRING((0 0,1 1),(2 2,3 3))'), ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)))'), ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))'));
-- @ mark inserted
UPDATE geo.place SET note = 'unmoved' WHERE id = 2;
UPDATE geo.place SET g = ST_GeomFromText('POINT(48.85 2.35)', 4326) WHERE id = 4;
UPDATE geo.typed SET p = ST_GeomFromText('POINT(9 9)'), c = NULL WHERE id = 1;
-- @ if version>=8.0.3
CREATE TABLE geo.fixed (id INT PRIMARY KEY, p POINT NOT NULL SRID 4326, SPATIAL KEY (p));
INSERT INTO geo.fixed VALUES (1, ST_GeomFromText('POINT(-33.9 18.4)', 4326)), (2, ST_GeomFromText('POINT(18.4 -33.9)', 4326, 'axis-order=lat-long'));
-- @ fails 3643
INSERT INTO geo.fixed VALUES (3, ST_GeomFromText('POINT(1 1)', 3857));
-- @ end
DELETE FROM geo.place WHERE id IN (2, 6);
-- @ mark end
