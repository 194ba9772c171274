-- $1: a role; $2: OIDs of private tables. Runs on main. Whatever of them the role can read, itself or as a member of
-- another role: the tables, their partitions and inheritance children, and views and materialised views over those.
WITH RECURSIVE private(oid) AS (
  SELECT pg_catalog.unnest($2::oid[])
  UNION
  SELECT next.oid FROM private
  CROSS JOIN LATERAL (
    SELECT h.inhrelid FROM pg_catalog.pg_inherits h WHERE h.inhparent = private.oid
    UNION ALL
    SELECT r.ev_class FROM pg_catalog.pg_depend d
    JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
    WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = private.oid
  ) next(oid)
)
SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), pg_catalog.min(r.rolname)
FROM private
JOIN pg_catalog.pg_class c ON c.oid = private.oid AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles me ON me.rolname = $1
JOIN pg_catalog.pg_roles r ON pg_catalog.pg_has_role(me.oid, r.oid, 'MEMBER')
WHERE pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT')
GROUP BY 1
ORDER BY 1
