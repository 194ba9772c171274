-- $1, $2: schemas and names of the policy's relations. Runs on main, and on the shadow.
SELECT w.at - 1, n.nspname, c.relname, c.oid, c.relkind::text,
       c.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid),
       CASE WHEN c.relkind = 'v' THEN pg_catalog.pg_get_viewdef(c.oid) ELSE '' END,
       pg_catalog.row_security_active(c.oid)
FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) WITH ORDINALITY w(schema, name, at)
JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
ORDER BY 1
