-- sqlalchemy: get_pk_constraint

SELECT a.attname
                FROM pg_attribute a JOIN (
                    SELECT unnest(ix.indkey) attnum,
                           generate_subscripts(ix.indkey, 1) ord
                    FROM pg_index ix
                    WHERE ix.indrelid = {class:patients} AND ix.indisprimary
                    ) k ON a.attnum=k.attnum
                WHERE a.attrelid = {class:patients}
                ORDER BY k.ord
;

SELECT conname
           FROM  pg_catalog.pg_constraint r
           WHERE r.conrelid = {class:patients} AND r.contype = 'p'
           ORDER BY 1
;
