-- psqlodbc: rowIdColumns

select c.relhasrules, c.relkind, 0 as relhasoids from pg_catalog.pg_namespace u, pg_catalog.pg_class c where u.oid = c.relnamespace and c.relname = 'patients' and u.nspname = 'public'
;
