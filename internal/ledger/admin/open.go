package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
)

// Open opens a ledger for its administrator: a shared ledger directly; a file through the proxy that holds it, or
// directly if none runs. It does not create a file: as long as there is none, all budgets are whole.
func Open(ctx context.Context, dsn string, c ledger.Config) (ledger.Admin, error) {
	path := ledger.FilePath(dsn)
	if path == "" {
		return stores.Open(ctx, dsn, c)
	}
	client, unreachable := Dial(ctx, SocketPath(dsn))
	if unreachable == nil {
		return client, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		r, err := accounting.NewRules(c)
		if err != nil {
			return nil, err
		}
		return emptyLedger{r}, nil
	}
	s, err := stores.Open(ctx, dsn, c)
	if err != nil {
		return nil, fmt.Errorf("%w (and no running dpproxy answers: %w)", err, unreachable)
	}
	return s, nil
}

// emptyLedger stands in for a ledger that does not exist yet.
type emptyLedger struct{ rules *accounting.Rules }

var errEmpty = errors.New("there is no ledger yet: dpproxy serve creates it")

func (e emptyLedger) Show(context.Context) ([]ledger.AccountSummary, error) {
	return e.rules.Show(make(map[string]accounting.Account), e.rules.Time(time.Now())), nil
}

func (emptyLedger) Reset(context.Context, string) (ledger.AccountSummary, error) {
	return ledger.AccountSummary{}, errEmpty
}
func (emptyLedger) Clear(context.Context, string) (int, error)    { return 0, errEmpty }
func (emptyLedger) Verify(context.Context) (ledger.Report, error) { return ledger.Report{}, nil }
func (emptyLedger) Export(context.Context, io.Writer) error       { return nil }
func (emptyLedger) Close() error                                  { return nil }
