-- $1: the policy's relations as JSON. Runs on main; returns the text of the DDL that makes the shadow's types, tables and
-- views. Everything is read from the catalogs; types are spelled under search_path = pg_catalog.
WITH RECURSIVE wanted AS (
  SELECT e.r ->> 'schema' AS schema, e.r ->> 'name' AS name, e.r ->> 'comment' AS comment, e.r -> 'columns' AS columns, e.at
  FROM pg_catalog.jsonb_array_elements($1::jsonb) WITH ORDINALITY e(r, at)
), rel AS (
  SELECT w.*, c.oid, c.relkind, pg_catalog.format('%I.%I', w.schema, w.name) AS called
  FROM wanted w
  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name AND c.relkind IN ('r', 'p', 'f', 'v')
), col AS (
  SELECT r.oid AS relation, r.at, r.called, r.relkind, a.attname, a.attnum, a.atttypid, a.attnotnull, t.typcollation, a.attcollation,
         pg_catalog.format_type(a.atttypid, a.atttypmod) AS spelled, x.e ->> 'comment' AS comment,
         CASE WHEN a.attcollation <> t.typcollation THEN pg_catalog.format(' COLLATE %I.%I', cn.nspname, co.collname) ELSE '' END AS collate_clause
  FROM rel r
  JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
  LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace
  LEFT JOIN LATERAL (SELECT e FROM pg_catalog.jsonb_array_elements(CASE r.columns WHEN 'null' THEN '[]' ELSE r.columns END) e WHERE e ->> 'name' = a.attname) x ON true
  WHERE r.columns = 'null' OR x.e IS NOT NULL
), below_column AS ( -- types that are not built in, with how deep they lie below a column
  SELECT c.atttypid AS oid, 0 AS depth FROM col c
  UNION
  SELECT below.oid, below_column.depth + 1 FROM below_column
  JOIN pg_catalog.pg_type t ON t.oid = below_column.oid
  CROSS JOIN LATERAL (VALUES (t.typbasetype), (CASE WHEN t.typcategory = 'A' THEN t.typelem END)) below(oid)
  WHERE below.oid <> 0
), own AS (
  SELECT t.oid, n.nspname, t.typname, t.typtype, t.typbasetype, t.typtypmod, t.typnotnull, t.typcollation, pg_catalog.max(below_column.depth) AS depth, x.extname, xn.nspname AS extschema
  FROM below_column JOIN pg_catalog.pg_type t ON t.oid = below_column.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objid = t.oid AND d.deptype = 'e'
  LEFT JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid
  LEFT JOIN pg_catalog.pg_namespace xn ON xn.oid = x.extnamespace
  WHERE t.oid >= 16384
  GROUP BY t.oid, n.nspname, t.typname, t.typtype, t.typbasetype, t.typtypmod, t.typnotnull, t.typcollation, x.extname, xn.nspname
), coll AS (
  SELECT DISTINCT n.nspname, pg_catalog.to_jsonb(c) AS c
  FROM (SELECT attcollation FROM col UNION SELECT typcollation FROM own) used(oid)
  JOIN pg_catalog.pg_collation c ON c.oid = used.oid AND c.oid >= 16384
  JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
), unique_key AS ( -- unique indexes and keys whose columns are all listed
  SELECT i.indexrelid, i.indrelid, r.at, r.called, x.relname AS index, con.conname, con.contype,
         pg_catalog.string_agg(pg_catalog.quote_ident(col.attname), ', ' ORDER BY k.at) AS columns
  FROM rel r
  JOIN pg_catalog.pg_index i ON i.indrelid = r.oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
  JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
  CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, at)
  LEFT JOIN col ON col.relation = r.oid AND col.attnum = k.attnum
  LEFT JOIN pg_catalog.pg_constraint con ON con.conindid = i.indexrelid AND con.conrelid = r.oid AND con.contype IN ('p', 'u')
  WHERE k.at <= i.indnkeyatts
  GROUP BY i.indexrelid, i.indrelid, r.at, r.called, x.relname, con.conname, con.contype
  HAVING pg_catalog.bool_and(col.attnum IS NOT NULL)
), foreign_key AS ( -- whose columns are all listed, and whose target's key is
  SELECT r.called, con.conname, pg_catalog.pg_get_constraintdef(con.oid) AS definition
  FROM rel r
  JOIN pg_catalog.pg_constraint con ON con.conrelid = r.oid AND con.contype = 'f' AND con.conparentid = 0
  CROSS JOIN LATERAL pg_catalog.unnest(con.conkey) k(attnum)
  LEFT JOIN col ON col.relation = r.oid AND col.attnum = k.attnum
  WHERE con.conindid = ANY (ARRAY(SELECT indexrelid FROM unique_key))
  GROUP BY r.called, con.oid, con.conname
  HAVING pg_catalog.bool_and(col.attnum IS NOT NULL)
), ddl(phase, at, sql) AS (
  SELECT DISTINCT 10, 0::bigint, pg_catalog.format('CREATE SCHEMA IF NOT EXISTS %I;', s)
  FROM (SELECT schema FROM rel UNION SELECT nspname FROM own UNION SELECT nspname FROM coll UNION SELECT extschema FROM own WHERE extschema IS NOT NULL) used(s)
  UNION ALL
  SELECT DISTINCT 20, 0, pg_catalog.format('CREATE EXTENSION IF NOT EXISTS %I WITH SCHEMA %I;', extname, extschema) FROM own WHERE extname IS NOT NULL
  UNION ALL
  SELECT 30, 0, pg_catalog.format('CREATE COLLATION %I.%I (PROVIDER = %s, DETERMINISTIC = %s, %s);', nspname, c ->> 'collname',
           CASE c ->> 'collprovider' WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END, c ->> 'collisdeterministic',
           CASE WHEN c ->> 'collcollate' IS NOT NULL THEN pg_catalog.format('LC_COLLATE = %L, LC_CTYPE = %L', c ->> 'collcollate', c ->> 'collctype')
                ELSE pg_catalog.format('LOCALE = %L', COALESCE(c ->> 'colllocale', c ->> 'colliculocale')) END)
  FROM coll
  UNION ALL
  SELECT 40, -depth, CASE typtype
    WHEN 'e' THEN pg_catalog.format('CREATE TYPE %I.%I AS ENUM (%s);', nspname, typname,
      (SELECT pg_catalog.string_agg(pg_catalog.quote_literal(enumlabel), ', ' ORDER BY enumsortorder) FROM pg_catalog.pg_enum WHERE enumtypid = own.oid))
    ELSE pg_catalog.format('CREATE DOMAIN %I.%I AS %s%s%s%s;', nspname, typname, pg_catalog.format_type(typbasetype, typtypmod),
      (SELECT pg_catalog.format(' COLLATE %I.%I', n.nspname, c.collname) FROM pg_catalog.pg_type b
         JOIN pg_catalog.pg_collation c ON c.oid = own.typcollation JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
         WHERE b.oid = own.typbasetype AND b.typcollation <> own.typcollation),
      CASE WHEN typnotnull THEN ' NOT NULL' END,
      -- A check that calls a user-defined function cannot be copied; main still makes it.
      (SELECT pg_catalog.string_agg(pg_catalog.format(' CONSTRAINT %I %s', conname, pg_catalog.pg_get_constraintdef(con.oid)), '' ORDER BY conname)
         FROM pg_catalog.pg_constraint con WHERE con.contypid = own.oid AND con.contype = 'c'
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = con.oid
                         AND d.refclassid IN ('pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass)))) END
  FROM own WHERE typtype IN ('e', 'd') AND extname IS NULL
  UNION ALL
  SELECT 50, at, pg_catalog.format('CREATE TABLE %s (%s);', called, pg_catalog.string_agg(part, ', ' ORDER BY place, number))
  FROM (SELECT relation, at, called, 0, attnum::bigint,
               pg_catalog.format('%I %s%s%s', attname, spelled, collate_clause, CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END)
        FROM col WHERE relkind <> 'v'
        UNION ALL
        SELECT indrelid, at, called, 1, indexrelid::bigint,
               pg_catalog.format('CONSTRAINT %I %s (%s)', conname, CASE contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END, columns)
        FROM unique_key WHERE conname IS NOT NULL) parts(relation, at, called, place, number, part)
  GROUP BY relation, at, called
  UNION ALL
  SELECT 60, indexrelid::bigint, pg_catalog.format('CREATE UNIQUE INDEX %I ON %s (%s);', index, called, columns)
  FROM unique_key WHERE conname IS NULL
  UNION ALL
  SELECT 70, 0, pg_catalog.format('ALTER TABLE %s ADD CONSTRAINT %I %s;', called, conname, definition) FROM foreign_key
  UNION ALL
  SELECT 80, at, pg_catalog.format('CREATE VIEW %s AS SELECT %s WHERE false;', called,
           pg_catalog.string_agg(pg_catalog.format('NULL::%s%s AS %I', spelled, collate_clause, attname), ', ' ORDER BY attnum))
  FROM col WHERE relkind = 'v' GROUP BY at, called
  UNION ALL
  SELECT 90, at, pg_catalog.format('COMMENT ON %s %s IS %L;', CASE WHEN relkind = 'v' THEN 'VIEW' ELSE 'TABLE' END, called, comment) FROM rel
  UNION ALL
  SELECT 91, at, pg_catalog.format('COMMENT ON COLUMN %s.%I IS %L;', called, attname, comment) FROM col WHERE comment IS NOT NULL
)
SELECT COALESCE(pg_catalog.string_agg(sql, E'\n' ORDER BY phase, at, sql), '') AS dpproxy_shadow FROM ddl
