-- sqlalchemy: has_schema

select nspname from pg_namespace where lower(nspname)='public'
;
