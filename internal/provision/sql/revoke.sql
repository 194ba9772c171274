-- Runs on main; returns REVOKEs that take from a role that setup made whatever it may read, so that the GRANTs which
-- follow are all that is left. $1: the role. A role that dpproxy did not make keeps what it has.
SELECT pg_catalog.format('REVOKE ALL ON TABLE %I.%I FROM %I', n.nspname, c.relname, r.rolname)
FROM pg_catalog.pg_roles r
CROSS JOIN pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE r.rolname = $1::text AND pg_catalog.shobj_description(r.oid, 'pg_authid') LIKE 'dpproxy:%'
  AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
  AND (EXISTS (SELECT FROM pg_catalog.aclexplode(c.relacl) a WHERE a.grantee = r.oid)
    OR EXISTS (SELECT FROM pg_catalog.pg_attribute t CROSS JOIN LATERAL pg_catalog.aclexplode(t.attacl) a WHERE t.attrelid = c.oid AND a.grantee = r.oid))
