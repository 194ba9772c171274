-- $1: a role. What lets it out of its grants: attributes, and predefined roles that it is a member of.
SELECT p.power FROM pg_catalog.pg_roles me
CROSS JOIN LATERAL (
  SELECT 'is superuser' WHERE me.rolsuper
  UNION ALL SELECT 'may create roles' WHERE me.rolcreaterole AND NOT me.rolsuper
  UNION ALL SELECT 'may replicate' WHERE me.rolreplication AND NOT me.rolsuper
  UNION ALL SELECT 'is a member of ' || r.rolname FROM pg_catalog.pg_roles r
    WHERE NOT me.rolsuper AND pg_catalog.pg_has_role(me.oid, r.oid, 'MEMBER') AND r.oid <> me.oid
      AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication
        OR r.rolname IN ('pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files',
                         'pg_execute_server_program', 'pg_read_all_stats', 'pg_monitor', 'pg_signal_backend'))
) p(power)
WHERE me.rolname = $1
ORDER BY 1
