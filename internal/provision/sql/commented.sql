-- Comments of tables and columns that may have keys of a policy.
SELECT n.nspname, c.relname, coalesce(a.attname, ''), d.description
FROM pg_catalog.pg_description d
JOIN pg_catalog.pg_class c ON d.classoid = 'pg_catalog.pg_class'::regclass AND c.oid = d.objoid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0
WHERE d.description LIKE '%dpproxy:%'
ORDER BY n.nspname, c.relname, d.objsubid
