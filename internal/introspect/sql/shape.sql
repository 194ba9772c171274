-- $1, $2: a table's schema and name. What a plan takes for granted of it besides its indexes: what kind of relation it is, whether
-- row-level security applies to us, whether we may read each column, the name, type, collation and nullability of every column, what domains demand if it has a column of
-- one, and its foreign keys with how many of their triggers are enabled. Runs on main, in each measure: what it joins takes time to plan,
-- and no setting of a session may change it, so constraints with constants are compared as they are stored.
SELECT pg_catalog.md5(pg_catalog.concat_ws(' ', c.relkind, EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE c.relkind = 'r' AND h.inhparent = c.oid),
  pg_catalog.row_security_active(c.oid), pg_catalog.has_schema_privilege(n.oid, 'USAGE'),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', pg_catalog.quote_ident(a.attname), a.atttypid, a.atttypmod, a.attnotnull, a.attcollation,
     (SELECT co.collisdeterministic FROM pg_catalog.pg_collation co WHERE co.oid = a.attcollation), pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'), CASE WHEN ty.typtype = 'd' THEN
     (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', d.oid, d.typbasetype, d.typtypmod, d.typnotnull,
        (SELECT pg_catalog.string_agg(k.conbin::text, ' ' ORDER BY k.conname) FROM pg_catalog.pg_constraint k WHERE k.contypid = d.oid)), ' ' ORDER BY d.oid)
      FROM pg_catalog.pg_type d WHERE d.typtype = 'd') END), ', ' ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type ty ON ty.oid = a.atttypid
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', pg_catalog.pg_get_constraintdef(k.oid),
     (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled IN ('O', 'A'))), ', ' ORDER BY k.conname)
   FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f')))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname = $2::text
