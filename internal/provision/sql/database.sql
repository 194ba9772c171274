-- What decides how a database compares and prints text: the same in main and shadow.
SELECT name, COALESCE(value, '') FROM (
  SELECT pg_catalog.to_jsonb(d) AS d FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()) x
CROSS JOIN LATERAL (VALUES
  ('major version', (pg_catalog.current_setting('server_version_num')::int / 10000)::text),
  ('encoding', pg_catalog.pg_encoding_to_char((d ->> 'encoding')::int)),
  ('LC_COLLATE', d ->> 'datcollate'),
  ('LC_CTYPE', d ->> 'datctype'),
  ('locale provider', COALESCE(d ->> 'datlocprovider', 'c')),
  ('locale', COALESCE(d ->> 'datlocale', d ->> 'daticulocale'))) v(name, value)
