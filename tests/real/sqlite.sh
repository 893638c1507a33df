#!/bin/bash
# SPDX-License-Identifier: MIT
# sqlite.sh BUILD_DIR -- sqlite3: 300,000 rows, indices, joins, deletes, an integrity check.
. "$(dirname "$0")/lib.sh"
need sqlite3

cat >"$work/load.sql" <<'END'
PRAGMA journal_mode = WAL;
PRAGMA cache_size = 20000;
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, amount INTEGER, note BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO item SELECT i, 'name' || (i * 7919 % 100003), i * 31 % 1009, zeroblob(i % 97) FROM n;
CREATE INDEX by_name ON item(name);
CREATE INDEX by_amount ON item(amount, name);
CREATE TABLE total AS SELECT amount, count(*) AS n, sum(id) AS ids, group_concat(name) AS names
    FROM item WHERE id % 5 = 0 GROUP BY amount;
DELETE FROM item WHERE id % 3 = 0;
UPDATE item SET name = upper(name) || '!' WHERE amount < 300;
SELECT count(*), sum(id), sum(length(note)), min(name), max(name) FROM item;
SELECT sum(n), sum(ids), sum(length(names)) FROM total;
SELECT a.name, count(*) FROM item a JOIN item b ON a.amount = b.amount AND b.id < 2000
    GROUP BY a.name ORDER BY 2 DESC, 1 LIMIT 20;
VACUUM;
PRAGMA integrity_check;
.sha3sum
END
same sqlite sqlite3 -batch file.db ".read $work/load.sql"
