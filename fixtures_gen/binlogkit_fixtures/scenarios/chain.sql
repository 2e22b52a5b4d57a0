-- @ story A source, a middle server that follows it, and a replica of the middle one. What the
-- @ story source commits goes through both; the middle server adds what monitoring writes there,
-- @ story which the source never sees. For ten minutes the replica does not listen; then it gets
-- @ story what it has missed. Its relay logs are small, so that they change on the way.
-- @ databases shop watch
-- @ requires version>=5.7
-- @ server source
-- @ server middle
-- @ server replica max-relay-log-size=4096
-- @ keep source
-- @ keep middle
-- @ keep replica relay
-- @ start 2024-03-04T08:00:00
-- @ follow middle of source
-- @ follow replica of middle
CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE shop.orders (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, customer VARCHAR(40) NOT NULL,
  total DECIMAL(8,2) NOT NULL, note TEXT, placed TIMESTAMP NULL
);
INSERT INTO shop.orders VALUES
  (1, 'Ada', 12.50, NULL, '2024-03-04 07:59:00'), (2, 'Björn', 80.00, 'gift', '2024-03-04 07:59:30');
-- @ await middle
-- @ await replica
-- @ mark opened

-- @ session watcher on middle
CREATE DATABASE watch;
CREATE TABLE watch.beats (source VARCHAR(20) PRIMARY KEY, seen DATETIME(6) NOT NULL);
INSERT INTO watch.beats VALUES ('middle', NOW(6));
-- @ session main
BEGIN;
INSERT INTO shop.orders (customer, total, placed) VALUES ('Chloé', 7.25, NOW());
UPDATE shop.orders SET total = total - 2.50, note = 'rebate' WHERE customer = 'Ada';
COMMIT;
-- @ await middle
-- @ session watcher
UPDATE watch.beats SET seen = NOW(6);
-- @ await middle
-- @ await replica
-- @ mark watched

-- @ unfollow replica
-- @ session main
-- @ wait 300
ALTER TABLE shop.orders ADD packed TINYINT(1) NOT NULL DEFAULT 0;
BEGIN;
INSERT INTO shop.orders (customer, total, note) VALUES ('Emre', 19.00, REPEAT('long ', 300));
INSERT INTO shop.orders (customer, total, note) VALUES ('Fátima', 21.00, REPEAT('longer ', 300));
INSERT INTO shop.orders (customer, total, note) VALUES ('花子', 23.00, REPEAT('longest ', 300));
COMMIT;
DELETE FROM shop.orders WHERE id = 2;
-- @ await middle
-- @ mark behind
FLUSH BINARY LOGS;
-- @ wait 300
UPDATE shop.orders SET packed = 1 WHERE total < 20;
BEGIN;
DELETE FROM shop.orders;
ROLLBACK;
-- @ follow replica of middle
-- @ await middle
-- @ await replica
-- @ mark caught-up
