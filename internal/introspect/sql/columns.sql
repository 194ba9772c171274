-- $1: relations' OIDs; $2: their names. Types are spelled under search_path = pg_catalog, so that every other one is qualified. The
-- statistics are read once and not by column: pg_stats asks for a privilege on each of its rows.
SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, pg_catalog.format_type(a.atttypid, a.atttypmod),
       a.attnotnull, t.typtype = 'd' AND t.typnotnull,
       CASE WHEN a.attcollation IN (0, 100) THEN ''
            ELSE pg_catalog.format('%I.%I', cn.nspname, co.collname) END,
       COALESCE(co.collisdeterministic, true),
       COALESCE(s.width, 0)::bigint,
       NOT (pg_catalog.has_schema_privilege(r.relnamespace, 'USAGE') AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'))
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class r ON r.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace
LEFT JOIN (SELECT schemaname, tablename, attname, pg_catalog.max(avg_width) AS width FROM pg_catalog.pg_stats
           WHERE tablename = ANY ($2::name[]) GROUP BY schemaname, tablename, attname) s
  ON s.schemaname = n.nspname AND s.tablename = r.relname AND s.attname = a.attname
WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY 1, 2
