package ledger

import (
	"context"
	"fmt"
)

// Open opens the ledger that dsn names: "file:PATH" or "postgres://…". It creates a file if there is none, and checks an
// existing one to the last record; the file stays locked until Close. A PostgreSQL ledger must have been set up (SetupSQL).
func Open(ctx context.Context, dsn string, c Config) (Store, error) {
	switch path := FilePath(dsn); {
	case IsPostgres(dsn):
		return openTable(ctx, dsn, c)
	case path != "":
		return openFile(path, c)
	}
	return nil, fmt.Errorf("ledger %q is neither file:PATH nor postgres://…", dsn)
}
