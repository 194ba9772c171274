-- $1, $2: a table's schema and name. What a plan takes for granted of it besides its indexes: what kind of relation it is, whether
-- row-level security applies to us, and the name, type, collation and nullability of every column. Runs on main.
SELECT pg_catalog.md5(pg_catalog.concat_ws(' ', c.relkind, EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE c.relkind = 'r' AND h.inhparent = c.oid),
  pg_catalog.row_security_active(c.oid),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', pg_catalog.quote_ident(a.attname), a.atttypid, a.atttypmod, a.attnotnull, a.attcollation, co.collisdeterministic), ', ' ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname = $2::text
