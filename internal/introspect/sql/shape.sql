-- $1, $2: a table's schema and name. What a plan takes for granted of it besides its indexes: what kind of relation it is, whether
-- row-level security applies to us, the name, type, collation and nullability of every column, its domains, and the foreign keys of foreign.sql.
-- Runs on main.
SELECT pg_catalog.md5(pg_catalog.concat_ws(' ', c.relkind, EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE c.relkind = 'r' AND h.inhparent = c.oid),
  pg_catalog.row_security_active(c.oid),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', pg_catalog.quote_ident(a.attname), a.atttypid, a.atttypmod, a.attnotnull, a.attcollation, co.collisdeterministic, CASE WHEN ty.typtype = 'd' THEN
     (WITH RECURSIVE d(oid) AS (SELECT ty.oid UNION ALL SELECT below.typbasetype FROM d JOIN pg_catalog.pg_type below ON below.oid = d.oid AND below.typtype = 'd')
      SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.oid, t.typbasetype, t.typtypmod, t.typnotnull,
        (SELECT pg_catalog.string_agg(pg_catalog.pg_get_constraintdef(k.oid), ' ' ORDER BY k.conname) FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid)), ' ')
      FROM d JOIN pg_catalog.pg_type t ON t.oid = d.oid AND t.typtype = 'd') END), ', ' ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type ty ON ty.oid = a.atttypid LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT pg_catalog.string_agg(pg_catalog.format('%I REFERENCES %I.%I (%I)', a.attname, fn.nspname, f.relname, r.attname), ', ' ORDER BY a.attname, fn.nspname, f.relname, r.attname)
   FROM pg_catalog.pg_constraint k
   JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
   JOIN pg_catalog.pg_class f ON f.oid = k.confrelid JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace
   JOIN pg_catalog.pg_attribute r ON r.attrelid = k.confrelid AND r.attnum = k.confkey[1]
   WHERE k.conrelid = c.oid AND k.contype = 'f' AND pg_catalog.cardinality(k.conkey) = 1 AND k.convalidated AND NOT k.condeferrable
     AND (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled IN ('O', 'A')) = 4)))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname = $2::text
