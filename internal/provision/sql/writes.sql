-- $1: a role; $2: OIDs of tables. Those that the role may change.
SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles me ON me.rolname = $1
WHERE c.oid = ANY ($2::oid[]) AND pg_catalog.has_table_privilege(me.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
ORDER BY 1
