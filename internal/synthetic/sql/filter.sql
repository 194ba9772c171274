-- $1: a table. Statements that make pg_temp.dpproxy_rows, which takes rows that break constraints, and that take out of it
-- those that the table would not take. What a domain says of VALUE is asked of a column of that name.
WITH RECURSIVE type AS ( -- of each column, and what its domain is over
  SELECT a.attname, a.attnum, a.atttypid AS oid, a.atttypmod AS typmod, a.attnotnull AS filled
  FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT type.attname, type.attnum, t.typbasetype, t.typtypmod, t.typnotnull
  FROM type JOIN pg_catalog.pg_type t ON t.oid = type.oid WHERE t.typtype = 'd'
), made(place, sql) AS (
  SELECT 0, pg_catalog.format('CREATE TEMPORARY TABLE dpproxy_rows ON COMMIT DROP AS SELECT %s FROM %s WITH NO DATA',
    pg_catalog.string_agg(pg_catalog.format('%I::%s AS %1$I', type.attname, pg_catalog.format_type(type.oid, type.typmod)), ', ' ORDER BY attnum),
    $1::pg_catalog.regclass)
  FROM type JOIN pg_catalog.pg_type t ON t.oid = type.oid WHERE t.typtype <> 'd'
  UNION ALL
  SELECT 1, pg_catalog.format('DELETE FROM pg_temp.dpproxy_rows WHERE %I IS NULL', attname) FROM type WHERE filled
  UNION ALL
  SELECT 2, pg_catalog.format('DELETE FROM pg_temp.dpproxy_rows t WHERE EXISTS (SELECT FROM (SELECT t.%I AS value) d WHERE NOT (%s))', type.attname,
    pg_catalog.pg_get_expr(k.conbin, 0))
  FROM type JOIN pg_catalog.pg_constraint k ON k.contypid = type.oid AND k.contype = 'c'
  UNION ALL
  SELECT 3, pg_catalog.format('DELETE FROM pg_temp.dpproxy_rows WHERE NOT (%s)', pg_catalog.pg_get_expr(k.conbin, k.conrelid))
  FROM pg_catalog.pg_constraint k WHERE k.conrelid = $1::pg_catalog.regclass AND k.contype = 'c'
  UNION ALL
  SELECT 4, pg_catalog.format('DELETE FROM pg_temp.dpproxy_rows t WHERE %s AND NOT EXISTS (SELECT FROM %s r WHERE %s)',
    pg_catalog.string_agg(pg_catalog.format('t.%I IS NOT NULL', a.attname), ' AND '),
    CASE WHEN k.confrelid = k.conrelid THEN 'pg_temp.dpproxy_rows' ELSE k.confrelid::pg_catalog.regclass::text END,
    pg_catalog.string_agg(pg_catalog.format('r.%I = t.%I', r.attname, a.attname), ' AND '))
  FROM pg_catalog.pg_constraint k
  CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey)) c(own, other)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c.own
  JOIN pg_catalog.pg_attribute r ON r.attrelid = k.confrelid AND r.attnum = c.other
  WHERE k.conrelid = $1::pg_catalog.regclass AND k.contype = 'f' GROUP BY k.oid, k.confrelid, k.conrelid
)
SELECT sql FROM made ORDER BY place, sql
