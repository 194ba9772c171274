package profile

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/ask"
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
	Quantile float64 // of rows, values and sums, over units, where there are enough of them
	Groups   bool    // of a unit's rows in one group, too
	// Agree is asked before anything is charged; false ends the profile. nil agrees.
	Agree func(Price) bool
}

// Result is what was found.
type Result struct {
	Keys    []policy.Key
	Remarks []string // what was not found, and why
	Balance ledger.Balance
	TooFew  error // there are too few units for anything; nil: there are enough
	Failed  error // something that was charged could not be measured, or could not be charged any more
}

// Run profiles. Where nothing is charged it returns an error, or, where Agree did not, no result.
func Run(ctx context.Context, p *policy.Policy, l ask.Ledger, o Options, log *slog.Logger) (*Result, error) {
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
	a, err := ask.New(ctx, policy.ProfileAccount, w, b, l)
	if err != nil {
		return nil, err
	}
	return (&asker{a}).profile(ctx, p, schema, tables, o)
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

// profile counts units, asks for what so many of them allow, and then which part of rows and sums is beyond what was
// found.
func (a *asker) profile(ctx context.Context, p *policy.Policy, s *rewrite.Schema, tables []*policy.Table, o Options) (
	*Result, error,
) {
	var all, counts []*question
	for _, t := range tables {
		if of := questionsOf(p, s, t, o.Groups); len(of) > 0 {
			all, counts = append(all, of...), append(counts, unitsOf(p, s, t, of)...)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("nothing to profile: no unit has several rows, and there are no numbers, times or texts")
	}
	for _, q := range all {
		q.fraction = o.Quantile
	}
	c := &course{asker: a, price: shares{p, o.Epsilon}, most: o.Quantile, findings: newFindings(&Result{})}
	first, err := a.plan(ctx, counts, c.price.among(counts, countPart))
	if err != nil {
		return nil, err
	}
	if o.Agree != nil {
		whole, err := c.quote(ctx, first, all)
		if err != nil || !o.Agree(whole) {
			return nil, err
		}
	}
	if c.result.Balance, err = a.ask(ctx, first); err != nil {
		return nil, err
	}
	if err := c.follow(ctx, first, all); err != nil {
		c.result.Failed = errors.Join(c.result.Failed, err)
	}
	c.order(tables)
	return c.result, nil
}

// course is a profile on its way.
type course struct {
	*asker
	*findings
	price shares
	most  float64 // the quantile that is asked for where there are units enough
}

// follow goes on from the numbers of units: what is asked next, and whether anything is, follows from what was
// released.
func (c *course) follow(ctx context.Context, counted planned, all []*question) error {
	for _, at := range counted.answers {
		c.takeUnits(at)
	}
	if c.result.Failed != nil {
		return nil
	}
	chosen, err := c.choose(ctx, all)
	if err != nil || len(chosen.answers) == 0 {
		return err
	}
	if err := c.pay(ctx, chosen); err != nil {
		return err
	}
	for _, at := range chosen.answers {
		c.take(at)
	}
	list := c.later(c.price.policy)
	if len(list) == 0 {
		return nil
	}
	last, err := c.plan(ctx, list, c.price.among(list, 1-countPart-c.price.taken(chosen.answers)))
	if err == nil {
		err = c.pay(ctx, last)
	}
	if err == nil {
		c.takeLater(last.answers)
	}
	return err
}

// pay asks what is planned; the error is the ledger's.
func (c *course) pay(ctx context.Context, plan planned) error {
	if len(plan.charges()) == 0 {
		return nil
	}
	balance, err := c.ask(ctx, plan)
	if err == nil {
		c.result.Balance = balance
	}
	return err
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
