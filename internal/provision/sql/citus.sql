-- Runs on a main that has the extension Citus. How it keeps each table, and the unique indexes that are valid on the coordinator.
SELECT n.nspname, c.relname, p.partmethod::text, p.repmodel::text, p.colocationid::int8, COALESCE(pg_catalog.column_to_column_name(c.oid, p.partkey), ''),
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid)
FROM pg_catalog.pg_dist_partition p
JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
