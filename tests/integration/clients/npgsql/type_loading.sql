-- npgsql: type loading at connect (modelled: the relations, functions and columns that it asks for)

SELECT version()
;

SELECT ns.nspname, k.oid, k.typname, k.kind AS typtype, k.typnotnull, k.element AS elemtypoid
FROM (
    -- a type that array_recv reads is an array
    SELECT t.oid, t.typname, t.typnamespace, t.typnotnull, cls.relkind,
        CASE WHEN recv.proname = 'array_recv' THEN 'a' ELSE t.typtype END AS kind,
        CASE
            WHEN recv.proname = 'array_recv' THEN t.typelem
            WHEN t.typtype = 'r' THEN pg_range.rngsubtype
            WHEN t.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = t.oid)
            WHEN t.typtype = 'd' THEN t.typbasetype
        END AS element
    FROM pg_type AS t
    LEFT JOIN pg_class AS cls ON cls.oid = t.typrelid
    LEFT JOIN pg_proc AS recv ON recv.oid = t.typreceive
    LEFT JOIN pg_range ON pg_range.rngtypid = t.oid
) AS k
JOIN pg_namespace AS ns ON ns.oid = k.typnamespace
LEFT JOIN pg_type AS e ON e.oid = k.element
LEFT JOIN pg_class AS ecls ON ecls.oid = e.typrelid
WHERE k.kind IN ('b', 'r', 'm', 'e', 'd') OR k.kind = 'c' AND k.relkind = 'c' OR k.kind = 'p' AND k.typname IN ('record', 'void')
    OR k.kind = 'a' AND (e.typtype IN ('b', 'r', 'm', 'e', 'd') OR e.typtype = 'p' AND e.typname IN ('record', 'void') OR e.typtype = 'c' AND ecls.relkind = 'c')
ORDER BY CASE WHEN k.kind IN ('b', 'e', 'p') THEN 0 WHEN k.kind = 'r' THEN 1 WHEN k.kind = 'm' THEN 2 WHEN k.kind = 'c' THEN 3 WHEN k.kind = 'a' THEN 5 ELSE 4 END
;

SELECT typ.oid, att.attname, att.atttypid
FROM pg_type AS typ
JOIN pg_namespace AS ns ON (ns.oid = typ.typnamespace)
JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
JOIN pg_attribute AS att ON (att.attrelid = typ.typrelid)
WHERE (typ.typtype = 'c' AND cls.relkind='c') AND attnum > 0 AND NOT attisdropped
ORDER BY typ.oid, att.attnum
;

SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid=enumtypid ORDER BY oid, enumsortorder
;
