package profile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Options say what to profile, and for how much.
type Options struct {
	Table    string  // empty: every private table
	Epsilon  float64 // of everything together
	Quantile float64 // of rows, values and sums, over units
	// Agree is asked before anything is charged; false ends the profile. nil agrees.
	Agree func(Price) bool
}

// Result is what was found.
type Result struct {
	Keys    []policy.Key
	Remarks []string // what was not found, and why
	Balance ledger.Balance
	Failed  error // something that was charged could not be measured
}

// Run profiles. Where nothing is charged it returns an error, or, where Agree did not, no result.
func Run(ctx context.Context, p *policy.Policy, l Ledger, o Options, log *slog.Logger) (*Result, error) {
	tables, err := chosen(p, o.Table)
	if err != nil {
		return nil, err
	}
	schema, err := checked(ctx, p, log)
	if err != nil {
		return nil, err
	}
	w := wide(p, schema, o.Epsilon)
	b, err := backend.Open(ctx, w, log)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	a, err := newAsker(ctx, w, b, l)
	if err != nil {
		return nil, err
	}
	return a.profile(ctx, p, schema, tables, o)
}

// checked compares the databases with the policy, as serve does, and reads their catalogs. No private row is read.
func checked(ctx context.Context, p *policy.Policy, log *slog.Logger) (*rewrite.Schema, error) {
	b, err := backend.Open(ctx, p, log)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	found, err := provision.CheckLive(ctx, p, b)
	if err != nil {
		return nil, err
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	return b.Schema(ctx)
}

// chosen are the tables to profile.
func chosen(p *policy.Policy, name string) ([]*policy.Table, error) {
	var list []*policy.Table
	for _, t := range p.Tables {
		if !t.Public && (name == "" || name == t.Name.String() || t.Name.Schema == "public" && name == t.Name.Relation) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		if name != "" {
			return nil, unknownTable(name)
		}
		return nil, errors.New("the policy has no private table")
	}
	return list, nil
}

// profile asks in two phases: for bounds, and then which part of rows and sums is beyond them.
func (a *asker) profile(ctx context.Context, p *policy.Policy, s *rewrite.Schema, tables []*policy.Table, o Options) (*Result, error) {
	var first []*question
	for _, t := range tables {
		first = append(first, questionsOf(p, s, t, o.Quantile)...)
	}
	if len(first) == 0 {
		return nil, errors.New("nothing to profile: no unit has several rows, and there are no numbers, times or texts")
	}
	parts := share(first)
	epsilon := func(q *question) float64 { return divide(p, o.Epsilon, parts.of(q)) }
	plan, err := a.plan(ctx, first, epsilon)
	if err != nil {
		return nil, err
	}
	if o.Agree != nil && len(plan.charges) > 0 {
		price, err := a.priceOf(ctx, p, plan, o.Epsilon, parts)
		if err != nil || !o.Agree(price) {
			return nil, err
		}
	}
	balance, err := a.ask(ctx, plan)
	if err != nil {
		return nil, err
	}
	r := &Result{Balance: balance}
	found := newFindings(r)
	for _, at := range plan.answers {
		found.take(at, o.Quantile)
	}
	a.beyond(ctx, p, tables, found, epsilon)
	found.order(tables)
	return r, nil
}

// beyond is the second phase. Its questions follow from what the first has released.
func (a *asker) beyond(ctx context.Context, p *policy.Policy, tables []*policy.Table, found *findings, epsilon func(*question) float64) {
	var list []*question
	for _, t := range tables {
		if rows, ok := found.rows[t]; ok {
			list = append(list, beyond(p, t, rows, found.sums[t]))
		}
	}
	if len(list) == 0 {
		return
	}
	plan, err := a.plan(ctx, list, epsilon)
	var balance ledger.Balance
	if err == nil {
		balance, err = a.ask(ctx, plan)
	}
	if err != nil {
		found.result.Failed = errors.Join(found.result.Failed, fmt.Errorf("left_out: %w", err))
		return
	}
	found.result.Balance = balance
	for _, at := range plan.answers {
		found.takeBeyond(at)
	}
}

// rankError is by how many units a quantile may be beside its rank, 95 % of the time: the exponential mechanism on points
// values at ε (docs/mechanisms.md, section 9).
func rankError(epsilon, fraction float64, points int) int {
	kappa := epsilon / (2 * math.Max(fraction, 1-fraction))
	return int(math.Ceil(math.Log(float64(points)/0.05) / kappa))
}

// atMost prints a share with two digits, rounded up; false for one that no policy can have.
func atMost(x float64) (string, bool) {
	if !(x < 0.99) {
		return "", false
	}
	if x <= 0 {
		return "0", true
	}
	digits := math.Pow(10, math.Floor(math.Log10(x))-1)
	return strconv.FormatFloat(math.Ceil(x/digits-1e-9)*digits, 'g', 2, 64), true
}
