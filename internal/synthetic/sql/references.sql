-- Foreign keys between two tables: which refers to which.
SELECT fn.nspname, f.relname, tn.nspname, t.relname
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class f ON f.oid = k.conrelid JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace
JOIN pg_catalog.pg_class t ON t.oid = k.confrelid JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0 AND k.conrelid <> k.confrelid
ORDER BY 1, 2, 3, 4
