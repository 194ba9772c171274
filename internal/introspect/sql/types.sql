-- $1: types' OIDs. Those types, and the base types and element types below them.
WITH RECURSIVE used(oid) AS (
  SELECT pg_catalog.unnest($1::oid[])
  UNION
  SELECT below.oid FROM used
  JOIN pg_catalog.pg_type t ON t.oid = used.oid
  CROSS JOIN LATERAL (VALUES (t.typbasetype), (CASE WHEN t.typcategory = 'A' THEN t.typelem END)) below(oid)
  WHERE below.oid <> 0
)
SELECT t.oid, n.nspname, t.typname, t.typtype::text, t.typbasetype, t.typtypmod, pg_catalog.format_type(NULLIF(t.typbasetype, 0), t.typtypmod),
       t.typtype = 'd' AND (t.typnotnull OR EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid)),
       t.typtype = 'd' AND t.typcollation <> (SELECT b.typcollation FROM pg_catalog.pg_type b WHERE b.oid = t.typbasetype),
       CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END,
       ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM used
JOIN pg_catalog.pg_type t ON t.oid = used.oid
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
ORDER BY 1
