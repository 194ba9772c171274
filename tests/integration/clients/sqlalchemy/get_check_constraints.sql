-- sqlalchemy: get_check_constraints

SELECT
                cons.conname as name,
                pg_get_constraintdef(cons.oid) as src
            FROM
                pg_catalog.pg_constraint cons
            WHERE
                cons.conrelid = {class:patients} AND
                cons.contype = 'c'
;
