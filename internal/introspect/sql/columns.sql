-- $1: relations' OIDs. Types are spelled under search_path = pg_catalog, so that every other one is qualified.
SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, pg_catalog.format_type(a.atttypid, a.atttypmod),
       a.attnotnull, t.typtype = 'd' AND t.typnotnull,
       CASE WHEN a.attcollation IN (0, 100) THEN ''
            ELSE pg_catalog.format('%I.%I', cn.nspname, co.collname) END,
       COALESCE(co.collisdeterministic, true),
       COALESCE((SELECT pg_catalog.max(s.avg_width) FROM pg_catalog.pg_stats s JOIN pg_catalog.pg_class c ON c.relname = s.tablename
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = s.schemaname WHERE c.oid = a.attrelid AND s.attname = a.attname), 0)::bigint,
       NOT (pg_catalog.has_schema_privilege(r.relnamespace, 'USAGE') AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'))
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class r ON r.oid = a.attrelid
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace
WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY 1, 2
