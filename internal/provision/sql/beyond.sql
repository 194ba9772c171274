-- $1: a role; $2: the policy's relations as in shadow.sql. Runs on main; returns what a role that setup made was granted
-- beyond them: tables, and columns of listed ones.
WITH listed AS (SELECT r ->> 'schema' AS nsp, r ->> 'name' AS rel, r -> 'columns' AS columns FROM pg_catalog.jsonb_array_elements($2::text::jsonb) r),
granted AS (
  SELECT n.nspname, c.relname, c.oid, c.relacl, r.oid AS role
  FROM pg_catalog.pg_roles r
  CROSS JOIN pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE r.rolname = $1::text AND pg_catalog.shobj_description(r.oid, 'pg_authid') LIKE 'dpproxy:%' AND c.relkind IN ('r', 'p', 'f', 'v', 'm'))
SELECT pg_catalog.format('%I.%I', g.nspname, g.relname) FROM granted g
WHERE NOT EXISTS (SELECT FROM listed l WHERE l.nsp = g.nspname AND l.rel = g.relname)
  AND (EXISTS (SELECT FROM pg_catalog.aclexplode(g.relacl) a WHERE a.grantee = g.role)
    OR EXISTS (SELECT FROM pg_catalog.pg_attribute t CROSS JOIN LATERAL pg_catalog.aclexplode(t.attacl) a WHERE t.attrelid = g.oid AND a.grantee = g.role))
UNION
SELECT pg_catalog.format('%I.%I.%I', g.nspname, g.relname, t.attname) FROM granted g
JOIN listed l ON l.nsp = g.nspname AND l.rel = g.relname
JOIN pg_catalog.pg_attribute t ON t.attrelid = g.oid
WHERE EXISTS (SELECT FROM pg_catalog.aclexplode(t.attacl) a WHERE a.grantee = g.role)
  AND pg_catalog.jsonb_typeof(l.columns) = 'array'
  AND NOT EXISTS (SELECT FROM pg_catalog.jsonb_array_elements(l.columns) c WHERE c ->> 'name' = t.attname)
ORDER BY 1
