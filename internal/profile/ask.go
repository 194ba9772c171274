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
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Ledger charges a profile durably. admin.OpenProfiler opens one.
type Ledger interface {
	Profile(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
}

// till implements the engine's ledger: it collects the charges of statements, to be paid together. It keeps nothing else.
type till struct {
	charges []ledger.Charge
	kept    map[string][]byte // secrets of the engine
}

func (t *till) Spend(_ context.Context, _ string, charges []ledger.Charge) (ledger.Balance, error) {
	t.charges = append(t.charges, charges...)
	return ledger.Balance{Falls: make([]float64, len(charges))}, nil
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
func (unmeasured) Charged(float64)             {}

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
	a.scope = session.Scope{Analyst: policy.ProfileAccount, User: policy.ProfileAccount, Database: info.Database, Settings: settings}
	return a, nil
}

// answer is what came of a question: rows of text, or why there are none.
type answer struct {
	*question
	rows   [][]string // NULL is ""
	charge ledger.Charge
	err    error
	paid   bool // else it was refused, free of charge
}

// bind plans a question at an ε. It costs nothing and reads no private row.
func (a *asker) bind(ctx context.Context, q *question, epsilon float64) (session.Bound, session.Scope, error) {
	scope := a.scope
	scope.Settings = scope.Settings.With("dpproxy.epsilon", strconv.FormatFloat(epsilon, 'g', -1, 64))
	list, err := a.engine.Parse(q.sql)
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

// ask asks questions, each at its ε. All that are not refused are charged together, durably, before the first is measured
// (docs/privacy.md P29). The error is the ledger's; nothing was measured then.
func (a *asker) ask(ctx context.Context, list []*question, epsilon func(*question) float64) ([]*answer, ledger.Balance, error) {
	var answers []*answer
	bounds := map[*answer]session.Bound{}
	a.till.charges = nil
	for _, q := range list {
		at := &answer{question: q}
		answers = append(answers, at)
		bound, scope, err := a.bind(ctx, q, epsilon(q))
		before := len(a.till.charges)
		if err == nil {
			err = a.engine.Charge(ctx, scope, bound)
		}
		if at.err = err; err != nil {
			continue
		}
		if len(a.till.charges) != before+1 {
			return nil, ledger.Balance{}, fmt.Errorf("%s %s would not be charged", q.table.Name, q.column)
		}
		at.charge, bounds[at] = a.till.charges[before], bound
	}
	if len(bounds) == 0 {
		return answers, ledger.Balance{}, nil
	}
	balance, err := a.ledger.Profile(ctx, a.till.charges)
	if err != nil {
		return nil, ledger.Balance{}, err
	}
	for _, at := range answers {
		if bound := bounds[at]; bound != nil {
			at.paid = true
			at.rows, at.err = read(ctx, bound)
		}
	}
	return answers, balance, nil
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

// divide returns the ε at which a statement takes a part of what one at epsilon takes of the account's budget, so that
// statements whose parts add up to 1 cost what that one does (docs/budget.md, «What a statement costs»).
func divide(p *policy.Policy, epsilon, part float64) float64 {
	if p.Accounting.Method == policy.Pure {
		return epsilon * part
	}
	room := accounting.RoomOf(ledger.ConfigOf(p), policy.ProfileAccount)
	whole, _ := room.Share(mechanism.LaplaceCurve(epsilon))
	low, high := 0.0, epsilon
	for range 60 {
		middle := (low + high) / 2
		if share, _ := room.Share(mechanism.LaplaceCurve(middle)); share <= part*whole {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
