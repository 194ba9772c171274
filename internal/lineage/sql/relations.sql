-- Every relation with rows that is not PostgreSQL's own, with its columns: names; families of types whose values may be one key
-- (integers of any size, texts of any length; a domain counts as what it is over); how many characters of text a value may have
-- (0: it is no text, or one of a list; -1: without end); and whether a unique index has the column. At last the column of a key of one.
SELECT c.oid, n.nspname, c.relname, c.relkind::text, c.relispartition,
       a.names, a.families, a.lengths, a.indexed,
       COALESCE((SELECT k.attname::text FROM pg_catalog.pg_index i
                 JOIN pg_catalog.pg_attribute k ON k.attrelid = c.oid AND k.attnum = i.indkey[0]
                 WHERE i.indrelid = c.oid AND i.indisunique AND i.indnkeyatts = 1 AND i.indpred IS NULL
                 ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1), '')
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
    SELECT COALESCE(pg_catalog.array_agg(a.attname::text ORDER BY a.attnum), '{}') AS names,
           COALESCE(pg_catalog.array_agg(CASE
               WHEN b.oid IN ('int2'::pg_catalog.regtype, 'int4'::pg_catalog.regtype, 'int8'::pg_catalog.regtype) THEN 'integer'
               WHEN b.typcategory = 'S' THEN 'text' ELSE pg_catalog.format_type(b.oid, NULL) END ORDER BY a.attnum), '{}') AS families,
           COALESCE(pg_catalog.array_agg(CASE
               WHEN b.typname IN ('json', 'jsonb', 'xml', 'bytea', 'tsvector', 'hstore') THEN -1
               WHEN b.typcategory <> 'S' OR b.oid = 'name'::pg_catalog.regtype
                 OR EXISTS (SELECT FROM pg_catalog.pg_constraint k
                            WHERE k.contype = 'c' AND (k.contypid = t.oid OR k.conrelid = c.oid AND k.conkey = ARRAY[a.attnum])
                              AND pg_catalog.pg_get_constraintdef(k.oid) LIKE '% = ANY (%') THEN 0
               WHEN b.oid IN ('varchar'::pg_catalog.regtype, 'bpchar'::pg_catalog.regtype) AND COALESCE(NULLIF(a.atttypmod, -1), t.typtypmod) > 4
                 THEN COALESCE(NULLIF(a.atttypmod, -1), t.typtypmod) - 4
               ELSE -1 END ORDER BY a.attnum), '{}')::int4[] AS lengths,
           COALESCE(pg_catalog.array_agg(EXISTS (SELECT FROM pg_catalog.pg_index i
               WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey::int2[])) ORDER BY a.attnum), '{}') AS indexed
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) a
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
ORDER BY n.nspname, c.relname
