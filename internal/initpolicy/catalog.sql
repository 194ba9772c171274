-- One JSON object per table or view in a schema that the role may use: see catalog.go. No row and no statistics are read.
SELECT json_build_object(
    'oid', c.oid::int8,
    'kind', c.relkind::text,
    'schema', n.nspname,
    'name', c.relname,
    'comment', coalesce(obj_description(c.oid, 'pg_class'), ''),
    'columns', (
        SELECT coalesce(json_agg(json_build_object(
            'Name', a.attname,
            'Type', format_type(a.atttypid, a.atttypmod),
            'Base', b.oid::int8,
            'Class', CASE
                WHEN b.typtype = 'e' THEN 'enum'
                WHEN b.typtype = 'c' THEN 'composite'
                WHEN b.oid = 'date'::regtype THEN 'date'
                WHEN b.oid IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN 'timestamp'
                WHEN b.typcategory = 'T' THEN 'interval'
                WHEN b.oid IN ('int4range'::regtype, 'int8range'::regtype, 'numrange'::regtype, 'daterange'::regtype, 'tsrange'::regtype, 'tstzrange'::regtype) THEN 'range'
                WHEN b.oid = 'oid'::regtype OR b.typname LIKE 'reg%' THEN 'other'
                WHEN b.typcategory = 'N' AND b.oid <> 'money'::regtype THEN 'number'
                WHEN b.typcategory = 'B' THEN 'boolean'
                WHEN b.typcategory = 'S' THEN 'text'
                ELSE 'other' END,
            'Comment', coalesce(col_description(c.oid, a.attnum), ''),
            'NotNull', a.attnotnull,
            'Generated', a.attgenerated <> '',
            'Labels', (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = b.oid)
        ) ORDER BY a.attnum), '[]')
        FROM pg_attribute a
        JOIN pg_type t ON t.oid = a.atttypid
        JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    'primary_key', (
        SELECT json_agg(a.attname ORDER BY k.n)
        FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k (attnum, n), pg_attribute a
        WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.attnum),
    'unique', (
        SELECT coalesce(json_agg((
            SELECT json_agg(a.attname ORDER BY k.n)
            FROM unnest(i.indkey) WITH ORDINALITY k (attnum, n), pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum = k.attnum AND k.n <= i.indnkeyatts)
            ORDER BY i.indisprimary DESC, i.indexrelid), '[]')
        FROM pg_index i
        WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
          AND i.indpred IS NULL AND i.indexprs IS NULL),
    'checks', (
        SELECT coalesce(json_agg(pg_get_constraintdef(k.oid) ORDER BY k.conname), '[]')
        FROM pg_constraint k
        WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.convalidated)
)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT c.relispartition
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
  AND n.nspname NOT IN ('information_schema', 'dpproxy', 'dpproxy_ledger') AND n.nspname NOT LIKE 'pg\_%'
  AND has_schema_privilege(n.oid, 'USAGE')
ORDER BY n.nspname, c.relname
