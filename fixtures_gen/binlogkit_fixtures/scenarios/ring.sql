-- @ story Three servers in a ring: b follows a, c follows b, and a follows c. Each takes orders, with
-- @ story numbers that the others do not give, and each has what all have taken. What comes back to
-- @ story where it began is dropped. Then the ring is open between c and a for a while: what begins
-- @ story behind the gap reaches the others late.
-- @ databases shop
-- @ requires version>=5.7
-- @ server a auto-increment-increment=3 auto-increment-offset=1
-- @ server b auto-increment-increment=3 auto-increment-offset=2
-- @ server c auto-increment-increment=3 auto-increment-offset=3
-- @ keep a
-- @ keep b
-- @ keep c
-- @ keep a relay
-- @ start 2024-03-05T10:00:00
-- @ follow b of a
-- @ follow c of b
-- @ follow a of c
-- @ session anne on a
CREATE DATABASE shop;
CREATE TABLE shop.orders (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, taken_by CHAR(1) NOT NULL, total DECIMAL(8,2) NOT NULL
);
INSERT INTO shop.orders (taken_by, total) VALUES ('a', 10.00), ('a', 11.00);
-- @ await b
-- @ await c
-- @ await a
-- @ session bert on b
BEGIN;
INSERT INTO shop.orders (taken_by, total) VALUES ('b', 20.00);
UPDATE shop.orders SET total = 10.50 WHERE taken_by = 'a' AND total = 10.00;
COMMIT;
-- @ await c
-- @ await a
-- @ await b
-- @ session carl on c
INSERT INTO shop.orders (taken_by, total) VALUES ('c', 30.00), ('c', 31.00);
-- @ await a
-- @ await b
-- @ await c
-- @ mark closed

-- @ unfollow a
-- @ session bert
INSERT INTO shop.orders (taken_by, total) VALUES ('b', 22.00);
-- @ session anne
DELETE FROM shop.orders WHERE taken_by = 'a' AND total = 11.00;
-- @ await b
-- @ await c
-- @ session carl
-- @ wait 240
UPDATE shop.orders SET total = total + 1 WHERE taken_by = 'c';
-- @ mark open
-- @ wait 60
-- @ follow a of c
-- @ await a
-- @ await b
-- @ await c
-- @ mark closed-again
