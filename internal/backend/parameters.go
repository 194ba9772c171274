package backend

import (
	"context"
	"fmt"
)

// oldestVersion is the oldest main that dpproxy works with, as server_version_num: the predefined role pg_read_all_data
// and SQL-standard function bodies, which privilege checks and view definitions count on, came with it.
const oldestVersion = 140000

// checkVersion refuses a main that is too old.
func (b *Backend) checkVersion(ctx context.Context) error {
	var version int
	err := b.main.pool.QueryRow(ctx, "SELECT pg_catalog.current_setting('server_version_num')::int").Scan(&version)
	if err != nil {
		return fmt.Errorf("databases.main: asking for the server's version: %w", err)
	}
	if version < oldestVersion {
		return fmt.Errorf("databases.main: PostgreSQL %d is too old: dpproxy needs %d or later", version/10000,
			oldestVersion/10000)
	}
	return nil
}

// parametersSQL lists the settings that new sessions report or show as the server's (libpq's ParameterStatus, and what
// drivers ask for with SHOW).
const parametersSQL = `SELECT name, CASE WHEN name = 'TimeZone' THEN reset_val ELSE setting END
FROM pg_catalog.pg_settings
WHERE name IN ('server_version', 'server_version_num', 'server_encoding', 'integer_datetimes', 'TimeZone',
  'lc_collate', 'lc_ctype', 'lc_messages', 'lc_monetary', 'lc_numeric', 'lc_time', 'max_identifier_length',
  'max_index_keys', 'block_size', 'segment_size', 'max_function_args', 'default_text_search_config')`

// ServerParameters returns the shadow's settings by PostgreSQL's spelling: server_version, server_encoding, TimeZone,
// ….
func (b *Backend) ServerParameters(ctx context.Context) (map[string]string, error) {
	rows, err := b.Shadow(ctx, Request{SQL: parametersSQL})
	if err != nil {
		return nil, err
	}
	parameters := map[string]string{}
	err = rows.Each(func(row [][]byte) { parameters[string(row[0])] = string(row[1]) })
	return parameters, err
}
