-- $1: relations' OIDs. Unique indexes that hold for every row: valid, ready, immediate, neither partial nor over
-- expressions. Over several columns, one that may be NULL would let equal combinations in: such an index counts only if
-- it treats NULLs as equal.
SELECT i.indrelid, i.indisprimary,
       ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, at)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE k.at <= i.indnkeyatts ORDER BY k.at)
FROM pg_catalog.pg_index i
WHERE i.indrelid = ANY ($1::oid[])
  AND i.indisunique AND i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate
  AND i.indpred IS NULL AND i.indexprs IS NULL
  AND (i.indnkeyatts = 1 OR COALESCE((pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct')::bool, false)
       OR NOT EXISTS (SELECT FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, at)
                      JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                      WHERE k.at <= i.indnkeyatts AND NOT a.attnotnull))
ORDER BY 1, i.indisprimary DESC, i.indexrelid
