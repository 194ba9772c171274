-- psycopg3: EnumInfo

-- $1 = 'severity'
SELECT name, oid, array_oid, array_agg(label) AS labels
FROM (
    SELECT
        t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
        e.enumlabel AS label
    FROM pg_type t
    LEFT JOIN  pg_enum e
    ON e.enumtypid = t.oid
    WHERE t.oid = $1::regtype
    ORDER BY e.enumsortorder
) x
GROUP BY name, oid, array_oid
;
