-- $1: a table. Statements that make pg_temp.dpproxy_rows, which takes rows that break constraints, and that take out of it
-- those that the table would not take. What a domain says of VALUE is asked of a column of that name. carefully is for a
-- check that raises an error: rows for which it does are taken out too.
WITH RECURSIVE type AS ( -- of each column, and what its domain is over
  SELECT a.attname, a.attnum, a.atttypid AS oid, a.atttypmod AS typmod, a.attnotnull AS filled
  FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT type.attname, type.attnum, t.typbasetype, t.typtypmod, t.typnotnull
  FROM type JOIN pg_catalog.pg_type t ON t.oid = type.oid WHERE t.typtype = 'd'
), checked(place, columns, condition) AS (
  SELECT 2, pg_catalog.format('t.%I AS value', type.attname), pg_catalog.pg_get_expr(k.conbin, 0)
  FROM type JOIN pg_catalog.pg_constraint k ON k.contypid = type.oid AND k.contype = 'c'
  UNION ALL
  SELECT 3, 't.*', pg_catalog.pg_get_expr(k.conbin, k.conrelid)
  FROM pg_catalog.pg_constraint k WHERE k.conrelid = $1::pg_catalog.regclass AND k.contype = 'c'
), made(place, sql, carefully) AS (
  SELECT 0, pg_catalog.format('CREATE TEMPORARY TABLE dpproxy_rows ON COMMIT DROP AS SELECT %s FROM %s WITH NO DATA',
    pg_catalog.string_agg(pg_catalog.format('%I::%s AS %1$I', type.attname, pg_catalog.format_type(type.oid, type.typmod)), ', ' ORDER BY attnum),
    $1::pg_catalog.regclass), NULL
  FROM type JOIN pg_catalog.pg_type t ON t.oid = type.oid WHERE t.typtype <> 'd'
  UNION ALL
  SELECT 1, pg_catalog.format('DELETE FROM pg_temp.dpproxy_rows WHERE %I IS NULL', attname), NULL FROM type WHERE filled
  UNION ALL
  SELECT place, pg_catalog.format('DELETE FROM pg_temp.dpproxy_rows t WHERE %s', breaks),
    pg_catalog.format('CREATE OR REPLACE FUNCTION pg_temp.dpproxy_breaks(pg_temp.dpproxy_rows) RETURNS boolean LANGUAGE plpgsql AS %L;
      DELETE FROM pg_temp.dpproxy_rows t WHERE pg_temp.dpproxy_breaks(t)',
      pg_catalog.format('#variable_conflict use_column
        BEGIN RETURN (SELECT %s FROM (SELECT ($1).*) t); EXCEPTION WHEN OTHERS THEN RETURN true; END', breaks))
  FROM checked CROSS JOIN LATERAL pg_catalog.format('(SELECT NOT (%s) FROM (SELECT %s) d)', condition, columns) breaks
  UNION ALL
  SELECT 4, pg_catalog.format('DELETE FROM pg_temp.dpproxy_rows t WHERE %s AND NOT EXISTS (SELECT FROM %s r WHERE %s)',
    pg_catalog.string_agg(pg_catalog.format('t.%I IS NOT NULL', a.attname), ' AND '),
    CASE WHEN k.confrelid = k.conrelid THEN 'pg_temp.dpproxy_rows' ELSE k.confrelid::pg_catalog.regclass::text END,
    pg_catalog.string_agg(pg_catalog.format('r.%I = t.%I', r.attname, a.attname), ' AND ')), NULL
  FROM pg_catalog.pg_constraint k
  CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey)) c(own, other)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c.own
  JOIN pg_catalog.pg_attribute r ON r.attrelid = k.confrelid AND r.attnum = c.other
  WHERE k.conrelid = $1::pg_catalog.regclass AND k.contype = 'f' GROUP BY k.oid, k.confrelid, k.conrelid
  UNION ALL
  SELECT 4, pg_catalog.format('DELETE FROM pg_temp.dpproxy_rows WHERE pg_catalog.num_nulls(%s) BETWEEN 1 AND %s',
    pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', '), pg_catalog.count(*) - 1), NULL
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
  WHERE k.conrelid = $1::pg_catalog.regclass AND k.contype = 'f' AND k.confmatchtype = 'f' GROUP BY k.oid
)
SELECT sql, carefully FROM made ORDER BY place, sql
