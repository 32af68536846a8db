-- SQLite in memory: a shop's orders are filled in, indexed, changed, joined, searched and thinned out.
--
--     sqlite3 -batch -bail :memory: '.read bench/loads/programs/sqlite_job.sql'
--
-- Every page of the database, its cache's entries, each prepared statement and each row of a sort is a block of malloc.
-- What is inserted depends on arithmetic alone. Each row of `checks` states what a stage must have come to; a wrong one
-- breaks a constraint, and the shell ends with an error.
PRAGMA cache_size = -200000;
PRAGMA temp_store = MEMORY;

CREATE TABLE checks (stage TEXT PRIMARY KEY, found, wanted, CHECK (found = wanted));
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, amount INTEGER NOT NULL, note TEXT);

INSERT INTO customers
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  SELECT i, printf('customer %d %s', i * 7919 % 20011, hex(i * 104729)), 'city ' || (i * 31 % 97) FROM n;
INSERT INTO orders
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 560000)
  SELECT i, 1 + i * 7907 % 20000, i * 48271 % 1000, substr('a note that is of another length in each order', 1, i % 46) FROM n;
CREATE INDEX orders_of_customer ON orders (customer, amount);
CREATE INDEX customers_of_city ON customers (city, name);
INSERT INTO checks SELECT 'filled', (SELECT count(*) FROM orders) + (SELECT count(*) FROM customers), 580000;

CREATE TABLE sums AS
  SELECT city, count(*) AS orders, sum(amount) AS amount, group_concat(note, '') AS notes
  FROM customers JOIN orders ON orders.customer = customers.id GROUP BY city;
INSERT INTO checks SELECT 'joined', sum(amount), (SELECT sum(amount) FROM orders) FROM sums;
INSERT INTO checks SELECT 'notes', sum(length(notes)), (SELECT sum(length(note)) FROM orders) FROM sums;

UPDATE orders SET note = note || note || ' changed', amount = amount + 1 WHERE id % 3 = 0;
INSERT INTO checks SELECT 'changed', (SELECT count(*) FROM orders WHERE note LIKE '% changed'), 186666;

DELETE FROM orders WHERE customer % 5 < 3;
INSERT INTO orders (customer, amount, note)
  SELECT customer, amount * 2, upper(note) FROM orders WHERE id % 2 = 0 ORDER BY amount, note;
INSERT INTO checks SELECT 'replaced', (SELECT count(*) FROM orders WHERE customer % 5 < 3), 0;

CREATE TABLE words AS
  SELECT DISTINCT substr(name, 1 + id % 9) AS word FROM customers UNION SELECT DISTINCT note FROM orders ORDER BY 1;
INSERT INTO checks SELECT 'words', count(*), count(DISTINCT word) FROM words;
INSERT INTO checks SELECT 'searched', (SELECT count(*) FROM words WHERE word GLOB '*[0-9A]*'),
                          (SELECT count(*) FROM words) - (SELECT count(*) FROM words WHERE NOT word GLOB '*[0-9A]*');

WITH RECURSIVE documents(i, text) AS (
  SELECT 1, '[]' UNION ALL
  SELECT i + 1, json_insert(CASE WHEN i % 40 = 0 THEN '[]' ELSE text END, '$[#]', json_object('id', i, 'name', 'n' || i))
  FROM documents WHERE i < 40000)
INSERT INTO checks SELECT 'documents', sum(json_array_length(text)), 780 + 999 * 820 FROM documents;

DROP TABLE sums;
DROP TABLE words;
VACUUM;
PRAGMA integrity_check;
SELECT stage || ': ' || found FROM checks;
