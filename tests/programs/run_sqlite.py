"""run_sqlite.py: sqlite3 builds tables in memory, indexes, joins, sorts and deletes them."""

from service import Trial, libraries_from_arguments, need

SCRIPT = """
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, amount REAL, kind INTEGER, payload BLOB);
CREATE TABLE kind(id INTEGER PRIMARY KEY, title TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
  INSERT INTO item SELECT i, printf('%08x-%s', i * 2654435761 % 4294967296, substr('abcdefghijklmnop', i % 11, i % 7)), i * 0.37, i % 97, zeroblob(i % 300) FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 96) INSERT INTO kind SELECT i, 'kind ' || (i * 31 % 97) FROM n;
CREATE INDEX by_name ON item(name);
CREATE INDEX by_kind ON item(kind, amount);
SELECT kind.title, count(*), sum(amount), max(name), group_concat(substr(name, 1, 3), '') FROM item JOIN kind ON kind.id = item.kind
  WHERE item.id % 13 = 0 GROUP BY kind.title ORDER BY kind.title;
DELETE FROM item WHERE id % 3 = 0;
UPDATE item SET name = upper(name) || kind, payload = zeroblob(length(payload) * 2) WHERE id % 5 = 0;
SELECT a.name, b.name FROM item a JOIN item b ON a.kind = b.kind AND a.id < b.id AND b.id - a.id < 500 ORDER BY a.name DESC, b.name LIMIT 2000;
SELECT count(*), sum(length(payload)), total(amount) FROM item;
SELECT json_group_array(name) FROM (SELECT name FROM item WHERE kind < 5 ORDER BY amount DESC LIMIT 400);
VACUUM;
PRAGMA integrity_check;
"""


def main() -> None:
    trial = Trial(libraries_from_arguments())
    sqlite = need("sqlite3")
    trial.expect_equal("output", {allocator.name: allocator.run(sqlite, ":memory:", text=SCRIPT) for allocator in trial.all})
    trial.expect_service(("sqlite3",))
    trial.close()


main()
