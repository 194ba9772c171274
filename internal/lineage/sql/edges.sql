-- What ties relations to each other. Foreign keys count also where they are not validated or enforced: they say what is meant.
SELECT 'key', k.conrelid, k.confrelid, k.conname::text,
       ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(k.conkey) WITH ORDINALITY u(attnum, at)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.attnum ORDER BY u.at),
       ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(k.confkey) WITH ORDINALITY u(attnum, at)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.attnum ORDER BY u.at)
FROM pg_catalog.pg_constraint k
WHERE k.contype = 'f'
UNION ALL
-- a partition or child, and its parent
SELECT 'child', h.inhrelid, h.inhparent, '', '{}', '{}'
FROM pg_catalog.pg_inherits h
UNION ALL
-- a view or materialised view, and what it reads
SELECT DISTINCT 'reads', r.ev_class, d.refobjid, '', '{}'::text[], '{}'::text[]
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = r.oid
     AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.ev_class
WHERE r.ev_type = '1'
UNION ALL
-- a foreign table whose server has a database of this one's name, and what has the remote name here: where the server is cannot be told
-- from its address
SELECT 'reads', f.ftrelid, c.oid, '', '{}', '{}'
FROM pg_catalog.pg_foreign_table f
JOIN pg_catalog.pg_foreign_server s ON s.oid = f.ftserver
JOIN pg_catalog.pg_class l ON l.oid = f.ftrelid
JOIN pg_catalog.pg_namespace ln ON ln.oid = l.relnamespace
JOIN pg_catalog.pg_namespace n ON n.nspname = COALESCE((SELECT o.option_value FROM pg_catalog.pg_options_to_table(f.ftoptions) o WHERE o.option_name = 'schema_name'), ln.nspname)
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
     AND c.relname = COALESCE((SELECT o.option_value FROM pg_catalog.pg_options_to_table(f.ftoptions) o WHERE o.option_name = 'table_name'), l.relname)
WHERE c.oid <> f.ftrelid
  AND COALESCE((SELECT o.option_value FROM pg_catalog.pg_options_to_table(s.srvoptions) o WHERE o.option_name = 'dbname'), pg_catalog.current_database()) = pg_catalog.current_database()
ORDER BY 1, 4, 2, 3
