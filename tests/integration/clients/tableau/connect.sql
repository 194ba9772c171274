-- tableau: connection and metadata through psqlODBC (modelled; temporary tables are refused)

SELECT 1
;

SELECT "patients"."age" AS "age" FROM "public"."patients" "patients" LIMIT 0
;

SELECT * FROM "public"."patients" WHERE 1=0
;

SELECT n.nspname, c.relname, c.relkind FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1') ORDER BY nspname, relname
;

SELECT NULL AS "TABLE_CAT", NULL AS "TABLE_SCHEM", CURRENT_DATABASE() AS "DB", CURRENT_USER AS "USER", CURRENT_SCHEMA AS "SCHEMA"
;
