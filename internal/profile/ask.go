package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/engine"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Ledger charges a profile durably, and says before what that would leave. admin.OpenProfiler opens one.
type Ledger interface {
	Profile(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
	Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
}

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
	return ledger.Balance{}, errors.New("a profile explains nothing")
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

// asker asks statements under a wide policy.
type asker struct {
	engine *engine.Engine
	scope  session.Scope
	till   *till
	ledger Ledger
}

func newAsker(ctx context.Context, w *policy.Policy, b *backend.Backend, l Ledger) (*asker, error) {
	a := &asker{till: &till{kept: map[string][]byte{}}, ledger: l}
	var err error
	if a.engine, err = engine.New(ctx, w, b, a.till, unmeasured{}, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	info, err := a.engine.Info(ctx)
	if err != nil {
		return nil, err
	}
	settings := session.Settings{}.With("timezone", "UTC").With("datestyle", "ISO, MDY").With("intervalstyle", "postgres").
		With("extra_float_digits", "1").With("bytea_output", "hex").With("dpproxy.notices", "off")
	a.scope = session.Scope{
		Analyst: policy.ProfileAccount, User: policy.ProfileAccount, Database: info.Database,
		Settings: settings,
	}
	return a, nil
}

// answer is what came of a question: rows of text, or why there are none.
type answer struct {
	*question
	rows   [][]string // NULL is ""
	charge ledger.Charge
	off    float64 // how many units it needs beyond its quantile (measureOff)
	err    error
	paid   bool // else it was refused, free of charge
}

// bind plans a question at an ε. It costs nothing and reads no private row.
func (a *asker) bind(ctx context.Context, q *question, epsilon float64) (session.Bound, session.Scope, error) {
	scope := a.scope
	scope.Settings = scope.Settings.With("dpproxy.epsilon", strconv.FormatFloat(epsilon, 'g', -1, 64))
	list, err := a.engine.Parse(q.text())
	if err != nil {
		return nil, scope, err
	}
	prepared, err := list[0].Parsed.Prepare(ctx, scope, q.types)
	if err != nil {
		return nil, scope, err
	}
	bound, err := prepared.Bind(ctx, scope, nil, q.values, nil)
	return bound, scope, err
}

// planned are questions with their charges, none of which is made yet.
type planned struct {
	answers []*answer
	bounds  map[*answer]session.Bound // of those that are not refused
	charges []ledger.Charge
}

// plan plans questions, each at its ε. It costs nothing and reads no private row.
func (a *asker) plan(ctx context.Context, list []*question, epsilon func(*question) float64) (planned, error) {
	p := planned{bounds: map[*answer]session.Bound{}}
	a.till.charges = nil
	for _, q := range list {
		at := &answer{question: q}
		p.answers = append(p.answers, at)
		bound, scope, err := a.bind(ctx, q, epsilon(q))
		before := len(a.till.charges)
		if err == nil {
			err = a.engine.Charge(ctx, scope, bound)
		}
		if at.err = err; err != nil {
			continue
		}
		if len(a.till.charges) != before+1 {
			return p, fmt.Errorf("%s %s would not be charged", q.table.Name, q.column)
		}
		at.charge, p.bounds[at] = a.till.charges[before], bound
	}
	p.charges = a.till.charges
	return p, nil
}

// ask asks what is planned. All of it is charged together, durably, before the first is measured (docs/privacy.md P29).
// The error is the ledger's; nothing was measured then.
func (a *asker) ask(ctx context.Context, p planned) (ledger.Balance, error) {
	if len(p.charges) == 0 {
		return ledger.Balance{}, nil
	}
	balance, err := a.ledger.Profile(ctx, p.charges)
	if err != nil {
		return ledger.Balance{}, err
	}
	for _, at := range p.answers {
		if bound := p.bounds[at]; bound != nil {
			at.paid = true
			at.rows, at.err = read(ctx, bound)
		}
	}
	return balance, nil
}

// read measures a statement, which is charged, and reads its answer.
func read(ctx context.Context, bound session.Bound) ([][]string, error) {
	rows, err := bound.Execute(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]string
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(row))
		for i, v := range row {
			texts[i] = string(v)
		}
		out = append(out, texts)
	}
}
