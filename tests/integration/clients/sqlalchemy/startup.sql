-- sqlalchemy: startup

BEGIN
;

SELECT t.oid, typarray
FROM pg_type t JOIN pg_namespace ns
    ON typnamespace = ns.oid
WHERE typname = 'hstore'
;

ROLLBACK
;

select pg_catalog.version()
;

select current_schema()
;

show transaction isolation level
;

show standard_conforming_strings
;
