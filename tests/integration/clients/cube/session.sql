-- cube: PostgresDriver at connect; recorded with @cubejs-backend/postgres-driver 1.7.43 on 22 November 2026

-- $1 = '1'
SELECT $1::int AS number
;

SET TIME ZONE 'UTC'
;

SET statement_timeout TO 600000
;

SELECT
            t.oid,
            CASE
                WHEN t.typcategory = 'E' THEN 'varchar'
                WHEN t.typcategory = 'A' THEN 'text'
                ELSE t.typname
            END AS typname
        FROM
            pg_type t
        WHERE
            t.typcategory in ('U', 'E')
            OR (
                t.typcategory = 'A'
                AND NOT EXISTS (
                    SELECT 1
                    FROM pg_type e
                    JOIN pg_class c ON c.oid = e.typrelid
                    WHERE e.oid = t.typelem AND e.typtype = 'c' AND c.relkind <> 'c'
                )
            )
;
