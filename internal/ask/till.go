package ask

import (
	"context"
	"errors"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// till implements the engine's ledger: it collects the charges of statements, to be paid together. It keeps nothing
// else.
type till struct {
	charges []ledger.Charge
	kept    map[string][]byte // secrets of the engine
}

func (t *till) Spend(_ context.Context, _ string, charges []ledger.Charge) (ledger.Balance, error) {
	t.charges = append(t.charges, charges...)
	return ledger.Balance{Shares: make([]float64, len(charges))}, nil
}

func (t *till) Preview(context.Context, string, []ledger.Charge) (ledger.Balance, error) {
	return ledger.Balance{}, errors.New("nothing is explained here")
}

func (*till) Balance(context.Context, string) (ledger.Balance, error) { return ledger.Balance{}, nil }

func (*till) History(context.Context, string, int) ([]ledger.HistoryEntry, error) {
	return nil, nil
}

func (t *till) Answer(_ context.Context, key string) ([]byte, bool, error) {
	value, ok := t.kept[key]
	return value, ok, nil
}

func (t *till) PutAnswer(_ context.Context, key string, value []byte, _ time.Duration) ([]byte, error) {
	t.kept[key] = value
	return value, nil
}
func (*till) GiveUp(string)                                        {}
func (*till) Fail(context.Context, string, string) error           { return nil }
func (*till) Releasable(context.Context, string) error             { return nil }
func (*till) Failed(context.Context, string, string) (bool, error) { return false, nil }
func (*till) Close() error                                         { return nil }

// unmeasured counts nothing.
type unmeasured struct{}

func (unmeasured) Statement(string)            {}
func (unmeasured) Stage(string, time.Duration) {}
func (unmeasured) Charged(float64, float64)    {}
func (unmeasured) Uncertified()                {}
