-- $1, $2: schemas and names of the policy's relations. Runs on main, and on the shadow. A table that was never analysed is taken
-- for as many rows as fit its pages; a foreign one for a million.
SELECT w.at - 1, n.nspname, c.relname, c.oid, c.relkind::text,
       c.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid),
       CASE WHEN c.relkind = 'v' THEN pg_catalog.pg_get_viewdef(c.oid) ELSE '' END,
       pg_catalog.row_security_active(c.oid),
       (SELECT COALESCE(pg_catalog.sum(CASE WHEN p.reltuples >= 0 THEN p.reltuples WHEN p.relkind = 'f' THEN 1e6 ELSE pg_catalog.pg_relation_size(p.oid) / 28 END), 0)::bigint
        FROM pg_catalog.pg_class p
        WHERE p.relkind IN ('r', 'f', 'm')
          AND p.oid = ANY (CASE c.relkind WHEN 'p' THEN ARRAY(SELECT t.relid::oid FROM pg_catalog.pg_partition_tree(c.oid) t) ELSE ARRAY[c.oid] END))
FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) WITH ORDINALITY w(schema, name, at)
JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
ORDER BY 1
