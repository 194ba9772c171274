-- $1: how the comment of a database begins that setup made. Empties it, and refuses any other. A shadow holds no rows by
-- construction: one that does is refused, too.
DO $dpproxy$
DECLARE
  s text;
  r regclass;
  rows bool;
  ours bool := COALESCE(pg_catalog.shobj_description((SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()), 'pg_database'), '') LIKE pg_catalog.split_part($1, ':', 1) || '%';
BEGIN
  FOR r IN SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'm') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
  LOOP
    IF NOT ours THEN
      RAISE EXCEPTION 'database % has tables and was not made by dpproxy', pg_catalog.current_database()
        USING HINT = 'The policy must name a database of its own: one that does not exist yet, or an empty one.';
    END IF;
    EXECUTE pg_catalog.format('SELECT EXISTS (SELECT FROM %s)', r) INTO rows;
    IF rows AND $1 LIKE 'dpproxy shadow%' THEN
      RAISE EXCEPTION 'table % of the shadow database % has rows', r, pg_catalog.current_database()
        USING HINT = 'A shadow holds the schema only. Find out who wrote them, and empty the table.';
    END IF;
  END LOOP;
  FOR s IN SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
    EXECUTE pg_catalog.format('DROP SCHEMA %I CASCADE', s);
  END LOOP;
  CREATE SCHEMA public;
END
$dpproxy$
