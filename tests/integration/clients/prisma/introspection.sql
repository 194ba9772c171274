-- prisma: connection and db pull (modelled: the relations, functions and columns that it asks for)

-- $1 = 'public'
SELECT EXISTS(SELECT 1 FROM pg_namespace WHERE nspname = $1), version(), current_setting('server_version_num')::integer as numeric_version
;

SELECT namespace.nspname as namespace_name FROM pg_namespace as namespace WHERE namespace.nspname !~ '^pg_' AND namespace.nspname <> 'information_schema' ORDER BY namespace.nspname
;

-- $1 = '{public}'
SELECT tbl.relname AS table_name, namespace.nspname as namespace, (tbl.relhassubclass and tbl.relkind = 'p') as is_partition, (tbl.relhassubclass and tbl.relkind = 'r') as has_subclass, tbl.relrowsecurity as has_row_level_security, reloptions, obj_description(tbl.oid, 'pg_class') as description
FROM pg_class AS tbl INNER JOIN pg_namespace AS namespace ON namespace.oid = tbl.relnamespace
WHERE (tbl.relkind = 'r' AND tbl.relispartition = 'f' OR tbl.relkind = 'p') AND namespace.nspname = ANY ($1) ORDER BY namespace, table_name
;

-- $1 = '{public}'
-- $2 = '{patients,wards}'
SELECT oid.namespace, info.table_name, info.column_name, format_type(att.atttypid, att.atttypmod) as formatted_type, info.numeric_precision, info.numeric_scale, info.numeric_precision_radix, info.datetime_precision,
  info.data_type, info.udt_schema as type_schema_name, info.udt_name as full_data_type, pg_get_expr(attdef.adbin, attdef.adrelid) AS column_default, info.is_nullable, info.is_identity, info.character_maximum_length, col_description(att.attrelid, ordinal_position) AS description
FROM information_schema.columns info JOIN pg_attribute att ON att.attname = info.column_name
JOIN (SELECT pg_class.oid, relname, pg_namespace.nspname as namespace FROM pg_class JOIN pg_namespace on pg_namespace.oid = pg_class.relnamespace AND pg_namespace.nspname = ANY ($1) WHERE reltype > 0) as oid on oid.oid = att.attrelid AND relname = info.table_name AND namespace = info.table_schema
LEFT OUTER JOIN pg_attrdef attdef ON attdef.adrelid = att.attrelid AND attdef.adnum = att.attnum AND table_schema = namespace
WHERE table_schema = ANY ($1) AND table_name = ANY ($2) ORDER BY namespace, table_name, ordinal_position
;

-- $1 = '{public}'
WITH rawindex AS (
  SELECT indrelid, indexrelid, indisunique, indisprimary, unnest(indkey) AS indkeyid, generate_subscripts(indkey, 1) AS indkeyidx, unnest(indclass) AS indclass, unnest(indoption) AS indoption
  FROM pg_index WHERE indpred IS NULL AND NOT indisexclusion)
SELECT schemainfo.nspname AS namespace, indexinfo.relname AS index_name, tableinfo.relname AS table_name, columninfo.attname AS column_name, rawindex.indisunique AS is_unique, rawindex.indisprimary AS is_primary_key, rawindex.indkeyidx AS column_index,
  opclass.opcname AS opclass, opclass.opcdefault AS opcdefault, indexaccess.amname AS index_algo, CASE rawindex.indoption & 1 WHEN 1 THEN 'DESC' ELSE 'ASC' END AS column_order, CASE rawindex.indoption & 2 WHEN 2 THEN true ELSE false END AS nulls_first, pc.condeferrable AS condeferrable
FROM rawindex INNER JOIN pg_class AS tableinfo ON tableinfo.oid = rawindex.indrelid INNER JOIN pg_class AS indexinfo ON indexinfo.oid = rawindex.indexrelid INNER JOIN pg_namespace AS schemainfo ON schemainfo.oid = tableinfo.relnamespace
LEFT JOIN pg_attribute AS columninfo ON columninfo.attrelid = tableinfo.oid AND columninfo.attnum = rawindex.indkeyid INNER JOIN pg_am AS indexaccess ON indexaccess.oid = indexinfo.relam LEFT JOIN pg_opclass AS opclass ON opclass.oid = rawindex.indclass
LEFT JOIN pg_constraint pc ON rawindex.indexrelid = pc.conindid AND pc.contype <> 'f' WHERE schemainfo.nspname = ANY ($1) ORDER BY namespace, table_name, index_name, column_index
;

-- $1 = '{public}'
SELECT t.typname as name, e.enumlabel as value, n.nspname as namespace, obj_description(t.oid, 'pg_type') as description FROM pg_type t JOIN pg_enum e ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = ANY ($1) ORDER BY e.enumsortorder
;

SELECT p.proname AS name, n.nspname as namespace, CASE WHEN l.lanname = 'internal' THEN p.prosrc ELSE pg_get_functiondef(p.oid) END as definition FROM pg_proc p LEFT JOIN pg_namespace n ON p.pronamespace = n.oid LEFT JOIN pg_language l ON p.prolang = l.oid WHERE n.nspname = 'public'
;

SELECT views.viewname AS view_name, views.definition AS view_sql, views.schemaname AS namespace, obj_description(class.oid, 'pg_class') AS description FROM pg_catalog.pg_views views INNER JOIN pg_catalog.pg_namespace ns ON views.schemaname = ns.nspname INNER JOIN pg_catalog.pg_class class ON class.relnamespace = ns.oid AND class.relname = views.viewname WHERE schemaname = 'public'
;

SELECT sequencename AS sequence_name, schemaname AS namespace, start_value, min_value, max_value, increment_by, cycle, cache_size FROM pg_sequences WHERE schemaname = 'public'
;

SELECT ext.extname AS extension_name, ext.extversion AS extension_version, ext.extrelocatable AS extension_relocatable, pn.nspname AS extension_schema FROM pg_extension ext INNER JOIN pg_namespace pn ON ext.extnamespace = pn.oid ORDER BY ext.extname ASC
;
