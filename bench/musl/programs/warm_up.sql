-- A small part of what bench/loads/programs/sqlite_job.sql does.
CREATE TABLE t AS
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) SELECT i, hex(i) FROM n;
