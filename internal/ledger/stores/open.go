// Package stores opens the ledger that a policy names, in the store that keeps it.
package stores

import (
	"context"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/bolt"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/postgres"
)

// Open opens the ledger that dsn names: "file:PATH" or "postgres://…". It creates a file if there is none, and proves
// the totals of an existing one by its latest checkpoints and the records after them; the file stays locked until
// Close. A PostgreSQL ledger must have been set up (postgres.SetupSQL).
func Open(ctx context.Context, dsn string, c ledger.Config) (ledger.Store, error) {
	if ledger.IsPostgres(dsn) {
		s, err := postgres.Open(ctx, dsn, c)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	if path := ledger.FilePath(dsn); path != "" {
		s, err := bolt.Open(path, c)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	return nil, fmt.Errorf("ledger %q is neither file:PATH nor postgres://…", dsn)
}
