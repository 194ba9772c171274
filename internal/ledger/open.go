package ledger

import (
	"context"
	"fmt"
	"strings"
)

// Open opens the ledger that dsn names: "file:PATH" or "postgres://…". A file is made if there is none, and checked to
// the last record if there is one; it stays locked until Close. A PostgreSQL ledger must have been set up (SetupSQL).
func Open(ctx context.Context, dsn string, c Config) (Store, error) {
	r, err := newRules(c)
	if err != nil {
		return nil, err
	}
	switch path, table := FilePath(dsn), isPostgres(dsn); {
	case table:
		return openTable(ctx, dsn, r)
	case path != "":
		return openFile(path, r)
	}
	return nil, fmt.Errorf("ledger %q is neither file:PATH nor postgres://…", dsn)
}

// FilePath is the path of a "file:" ledger, empty for any other.
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

func isPostgres(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}
