package ledger

import "strings"

// FilePath returns the path of a "file:" ledger, and "" for any other DSN.
func FilePath(dsn string) string {
	path, ok := strings.CutPrefix(dsn, "file:")
	if !ok {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "//"); ok { // file:///absolute
		path = rest
	}
	return path
}

// IsPostgres reports whether a DSN names a ledger in PostgreSQL.
func IsPostgres(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}
