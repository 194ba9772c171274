-- npgsql: DbConnection.GetSchema() (modelled)

SELECT d.datname AS database_name, u.usename AS owner, pg_catalog.pg_encoding_to_char(d.encoding) AS encoding
FROM pg_catalog.pg_database d LEFT JOIN pg_catalog.pg_user u ON d.datdba = u.usesysid
;

SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'FOREIGN', 'FOREIGN TABLE') AND table_schema NOT IN ('pg_catalog', 'information_schema')
;

SELECT table_catalog, table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, udt_name::regtype::text AS data_type,
  character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision,
  character_set_catalog, character_set_schema, character_set_name, collation_catalog
FROM information_schema.columns WHERE table_schema = 'pg_catalog' AND table_name = 'pg_class'
;

SELECT current_database() AS constraint_catalog, pgn.nspname AS constraint_schema, pgc.conname AS constraint_name,
  current_database() AS table_catalog, pgtn.nspname AS table_schema, pgt.relname AS table_name, "constraint_type", pgc.condeferrable AS is_deferrable, pgc.condeferred AS initially_deferred
FROM pg_catalog.pg_constraint pgc
INNER JOIN pg_catalog.pg_namespace pgn ON pgc.connamespace = pgn.oid
INNER JOIN pg_catalog.pg_class pgt ON pgc.conrelid = pgt.oid
INNER JOIN pg_catalog.pg_namespace pgtn ON pgt.relnamespace = pgtn.oid
INNER JOIN (SELECT 'PRIMARY KEY' AS "constraint_type", 'p' AS "contype" UNION ALL SELECT 'FOREIGN KEY', 'f' UNION ALL SELECT 'UNIQUE KEY', 'u') mapping_table ON mapping_table.contype = pgc.contype
;

SELECT current_database() AS table_catalog, n.nspname AS table_schema, t.relname AS table_name, i.relname AS index_name, '' AS type_desc
FROM pg_catalog.pg_class i JOIN pg_catalog.pg_index ix ON ix.indexrelid = i.oid JOIN pg_catalog.pg_class t ON ix.indrelid = t.oid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace
WHERE i.relkind = 'i' AND n.nspname NOT IN ('pg_catalog', 'pg_toast') AND t.relkind = 'r'
;
