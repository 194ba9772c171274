-- $1: a role. Functions that run with their owner's rights and that the role may call.
SELECT p.oid::pg_catalog.regprocedure::text
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_roles me ON me.rolname = $1
WHERE p.prosecdef AND p.oid >= 16384 AND pg_catalog.has_function_privilege(me.oid, p.oid, 'EXECUTE')
ORDER BY 1
