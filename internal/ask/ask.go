// Package ask asks statements through the engine as an account that no analyst has, for the commands that release
// something of their own: all that is asked at once is charged by one transaction before the first of it is measured.
package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/engine"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Ledger charges an account durably, and says before what that would leave. admin.OpenAccount opens one.
type Ledger interface {
	Charge(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
	Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
}

// As returns a copy of a policy under which the account alone asks, at up to an ε for each statement.
func As(account string, p *policy.Policy, budget policy.Budget, epsilon float64) *policy.Policy {
	w := *p
	w.Analysts = map[string]*policy.Analyst{account: {Name: account, Budget: budget}}
	w.Auth.DefaultGroup, w.Access = "", nil
	w.Defaults.Epsilon, w.Defaults.EpsilonMax = epsilon, epsilon
	w.Defaults.EmptyGroups, w.Defaults.Intervals = policy.DropEmptyGroups, false
	w.AnswersTTL, w.Views = 0, nil
	return &w
}

// Asker asks statements under the policy of As.
type Asker struct {
	engine *engine.Engine
	scope  session.Scope
	till   *till
	ledger Ledger
}

// New returns one for the account of a policy that As made.
func New(ctx context.Context, account string, w *policy.Policy, b *backend.Backend, l Ledger) (*Asker, error) {
	a := &Asker{till: &till{kept: map[string][]byte{}}, ledger: l}
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
	a.scope = session.Scope{Analyst: account, User: account, Database: info.Database, Settings: settings}
	return a, nil
}

// Statement is one to ask.
type Statement struct {
	SQL      string
	Types    []uint32 // of its parameters
	Values   [][]byte
	Epsilon  float64
	Settings map[string]string // of dpproxy.*, for this one
}

// Answer is what came of a statement: rows of text, or why there are none.
type Answer struct {
	Rows   [][][]byte // nil is NULL
	Charge ledger.Charge
	Err    error
	Paid   bool // else it was refused, free of charge

	bound session.Bound // nil: it was refused
}

// Plan plans statements and says what each would be charged. It costs nothing and reads no private row.
func (a *Asker) Plan(ctx context.Context, list []Statement) ([]*Answer, error) {
	var out []*Answer
	a.till.charges = nil
	for _, s := range list {
		at := &Answer{}
		out = append(out, at)
		bound, scope, err := a.bind(ctx, s)
		before := len(a.till.charges)
		if err == nil {
			err = a.engine.Charge(ctx, scope, bound)
		}
		if at.Err = err; err != nil {
			continue
		}
		if len(a.till.charges) != before+1 {
			return nil, fmt.Errorf("%s would not be charged", s.SQL)
		}
		at.Charge, at.bound = a.till.charges[before], bound
	}
	return out, nil
}

func (a *Asker) bind(ctx context.Context, s Statement) (session.Bound, session.Scope, error) {
	scope := a.scope
	scope.Settings = scope.Settings.With("dpproxy.epsilon", strconv.FormatFloat(s.Epsilon, 'g', -1, 64))
	for name, value := range s.Settings {
		scope.Settings = scope.Settings.With(name, value)
	}
	list, err := a.engine.Parse(s.SQL)
	if err != nil {
		return nil, scope, err
	}
	prepared, err := list[0].Parsed.Prepare(ctx, scope, s.Types)
	if err != nil {
		return nil, scope, err
	}
	bound, err := prepared.Bind(ctx, scope, nil, s.Values, nil)
	return bound, scope, err
}

// Charges are those of the statements that are not refused.
func Charges(planned []*Answer) []ledger.Charge {
	var list []ledger.Charge
	for _, at := range planned {
		if at.bound != nil {
			list = append(list, at.Charge)
		}
	}
	return list
}

// Preview says what charges would leave. The error is the ledger's where they are not admitted.
func (a *Asker) Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return a.ledger.Preview(ctx, charges)
}

// Ask asks what is planned. All of it is charged together, durably, before the first is measured (docs/privacy.md P29).
// The error is the ledger's; nothing was measured then.
func (a *Asker) Ask(ctx context.Context, planned []*Answer) (ledger.Balance, error) {
	charges := Charges(planned)
	if len(charges) == 0 {
		return ledger.Balance{}, nil
	}
	balance, err := a.ledger.Charge(ctx, charges)
	if err != nil {
		return ledger.Balance{}, err
	}
	for _, at := range planned {
		if at.bound != nil {
			at.Paid = true
			at.Rows, at.Err = read(ctx, at.bound)
		}
	}
	return balance, nil
}

// read measures a statement, which is charged, and reads its answer.
func read(ctx context.Context, bound session.Bound) ([][][]byte, error) {
	rows, err := bound.Execute(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][][]byte
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		kept := make([][]byte, len(row))
		for i, v := range row {
			if v != nil {
				kept[i] = append([]byte{}, v...)
			}
		}
		out = append(out, kept)
	}
}

// Divide returns the ε of up to most at which a statement takes a share of what share measures, which grows with ε.
func Divide(share func(epsilon float64) float64, most, want float64) float64 {
	low, high := 0.0, most
	for range 60 {
		middle := (low + high) / 2
		if share(middle) <= want {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
