-- sqlalchemy: has_type

SELECT EXISTS (
                SELECT * FROM pg_catalog.pg_type t
                WHERE t.typname = 'severity'
                AND pg_type_is_visible(t.oid)
                )
;
