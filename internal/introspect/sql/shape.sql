-- $1, $2: a table's schema and name; $3: names of columns of it. What a plan takes for granted of the table besides its indexes, and behind
-- it what it does of each of the columns, in their order: 32 characters for each. Of the table that is what kind of relation it is, whether
-- row-level security applies to us, whether we may read any of it, and its foreign keys with how many of their triggers are enabled. Of a
-- column it is its number, type, collation and nullability, whether we may read it, what domains demand if it is of one, and the labels of the
-- enum that it is of, or an array of; of a domain, those of all enums. Runs on main, in each measure: what it joins takes time to plan, so
-- columns that no plan relies on cost nothing. No setting of a session may change it, so constraints with constants are compared as they are
-- stored, and names are quoted as strings.
SELECT pg_catalog.concat(pg_catalog.md5(pg_catalog.concat_ws(' ', c.relkind, EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE c.relkind = 'r' AND h.inhparent = c.oid),
  pg_catalog.row_security_active(c.oid), pg_catalog.has_schema_privilege(n.oid, 'USAGE'), pg_catalog.has_any_column_privilege(c.oid, 'SELECT'),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', pg_catalog.pg_get_constraintdef(k.oid),
     (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled IN ('O', 'A'))), ', ' ORDER BY k.conname)
   FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f'))),
  (SELECT pg_catalog.string_agg((SELECT pg_catalog.md5(pg_catalog.concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, a.attnotnull, a.attcollation,
     (SELECT co.collisdeterministic FROM pg_catalog.pg_collation co WHERE co.oid = a.attcollation), pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'),
     CASE WHEN ty.typtype = 'd' THEN
       (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', d.oid, d.typbasetype, d.typtypmod, d.typnotnull,
          (SELECT pg_catalog.string_agg(k.conbin::text, ' ' ORDER BY k.conname) FROM pg_catalog.pg_constraint k WHERE k.contypid = d.oid)), ' ' ORDER BY d.oid)
        FROM pg_catalog.pg_type d WHERE d.typtype = 'd') END,
     (SELECT pg_catalog.string_agg(pg_catalog.format('%L %L %L', s.nspname, en.typname, e.enumlabel), ' ' ORDER BY en.oid, e.enumsortorder)
      FROM pg_catalog.pg_enum e JOIN pg_catalog.pg_type en ON en.oid = e.enumtypid JOIN pg_catalog.pg_namespace s ON s.oid = en.typnamespace
      WHERE e.enumtypid = ANY (CASE ty.typtype WHEN 'd' THEN ARRAY(SELECT o.oid FROM pg_catalog.pg_type o WHERE o.typtype = 'e') ELSE ARRAY[ty.oid, ty.typelem] END))))
     FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type ty ON ty.oid = a.atttypid WHERE a.attrelid = c.oid AND a.attname = r.name::name AND a.attnum > 0 AND NOT a.attisdropped), '' ORDER BY r.at)
   FROM pg_catalog.unnest($3::text[]) WITH ORDINALITY r(name, at)))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname = $2::text
