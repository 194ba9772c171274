-- $1: relations' OIDs. Foreign keys of one column that hold for every row: validated, checked at the end of each statement, with
-- all four triggers that enforce one (of both tables) enabled. shape.sql changes with each of these.
SELECT k.conrelid, a.attname, n.nspname, c.relname, r.attname
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
JOIN pg_catalog.pg_class c ON c.oid = k.confrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute r ON r.attrelid = k.confrelid AND r.attnum = k.confkey[1]
WHERE k.conrelid = ANY ($1::oid[]) AND k.contype = 'f' AND pg_catalog.cardinality(k.conkey) = 1 AND k.convalidated AND NOT k.condeferrable
  AND (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled IN ('O', 'A')) = 4
ORDER BY 1, 2, 3, 4, 5
