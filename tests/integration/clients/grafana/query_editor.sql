-- grafana: data source check and query editor (modelled: the relations, functions and columns that it asks for)

SELECT 1
;

SELECT current_setting('server_version_num')::int/100 as version
;

SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'
;

SELECT quote_ident(table_name) as "table" FROM information_schema.tables
WHERE quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
  FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as i,
    string_to_array(current_setting('search_path'),',') s)
ORDER BY table_name
;

SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
    FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as i,
      string_to_array(current_setting('search_path'),',') s)
  THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
FROM information_schema.tables
WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog', '_timescaledb_cache', 'timescaledb_information')
ORDER BY 1
;

SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
WHERE CASE WHEN array_length(parse_ident('public.patients'),1) = 2
    THEN quote_ident(table_schema) = (parse_ident('public.patients'))[1] AND quote_ident(table_name) = (parse_ident('public.patients'))[2]
    ELSE quote_ident(table_name) = 'public.patients' AND quote_ident(table_schema) IN ('public') END
;

SELECT DISTINCT quote_ident(schema_name) FROM information_schema.schemata WHERE schema_name NOT LIKE 'pg_%'
;
