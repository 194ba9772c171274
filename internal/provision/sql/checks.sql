-- $1: the policy's relations as JSON. Runs on main; returns the text of the DDL that gives the twin's tables the CHECK
-- constraints that are about listed columns alone, and that name nothing of main's own but the types of these.
SELECT COALESCE(pg_catalog.string_agg(pg_catalog.format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s;', n.nspname, c.relname, k.conname,
         pg_catalog.pg_get_constraintdef(k.oid)), E'\n' ORDER BY n.nspname, c.relname, k.conname), '') AS dpproxy_checks
FROM pg_catalog.jsonb_array_elements($1::jsonb) e(r)
JOIN pg_catalog.pg_namespace n ON n.nspname = e.r ->> 'schema'
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = e.r ->> 'name' AND c.relkind IN ('r', 'p', 'f')
JOIN pg_catalog.pg_constraint k ON k.conrelid = c.oid AND k.contype = 'c' AND k.convalidated
WHERE NOT EXISTS (SELECT FROM pg_catalog.unnest(k.conkey) key(attnum)
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = key.attnum AND a.attnum > 0
    WHERE a.attnum IS NULL OR e.r -> 'columns' <> 'null' AND NOT EXISTS (
      SELECT FROM pg_catalog.jsonb_array_elements(CASE e.r -> 'columns' WHEN 'null' THEN '[]' ELSE e.r -> 'columns' END) x WHERE x ->> 'name' = a.attname))
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
    WHERE d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = k.oid AND d.refclassid <> 'pg_catalog.pg_class'::pg_catalog.regclass
      AND NOT (d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.refobjid IN (
        SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY (k.conkey))))
