-- psql: \sf+ information_schema._pg_truetypid

SELECT 'information_schema._pg_truetypid'::pg_catalog.regproc::pg_catalog.oid
;
