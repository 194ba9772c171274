-- Runs on main; returns the CREATE DATABASE that gives the shadow main's encoding, locale and locale provider.
SELECT pg_catalog.format('CREATE DATABASE %I TEMPLATE template0 ENCODING %L%s LC_COLLATE %L LC_CTYPE %L%s', $1::text,
  pg_catalog.pg_encoding_to_char((d ->> 'encoding')::int),
  CASE d ->> 'datlocprovider' WHEN 'i' THEN ' LOCALE_PROVIDER icu' WHEN 'b' THEN ' LOCALE_PROVIDER builtin' ELSE '' END,
  d ->> 'datcollate', d ->> 'datctype',
  CASE d ->> 'datlocprovider'
    WHEN 'i' THEN pg_catalog.format(' ICU_LOCALE %L', COALESCE(d ->> 'datlocale', d ->> 'daticulocale'))
    WHEN 'b' THEN pg_catalog.format(' BUILTIN_LOCALE %L', d ->> 'datlocale')
    ELSE '' END) AS dpproxy_create
FROM (SELECT pg_catalog.to_jsonb(x) AS d FROM pg_catalog.pg_database x WHERE x.datname = pg_catalog.current_database()) main
