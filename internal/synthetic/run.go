package synthetic

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/dpproxy/dpproxy/internal/ask"
	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
)

// Options say what to make, and for how much.
type Options struct {
	Tables []string      // with what they refer to, and what refers to these; nil: every private table
	Budget policy.Budget // of everything together
	Seed   uint64        // of what is drawn
}

// Result is what was charged, and what was made of it.
type Result struct {
	Statements int
	Balance    ledger.Balance
	Tables     []Made
}

// Made is a table of the twin: public ones come behind those that were drawn.
type Made struct {
	Name   policy.Name
	Rows   int
	Left   int // rows that it would not take: they broke a constraint
	Public bool
	Pairs  []Pair
}

// Pair is a column that was drawn by another one of the row, or of the row that it hangs on.
type Pair struct {
	From, To string
	OfParent bool
}

// Run asks for counts and hands the tables that are drawn by them to a sink. Where asking fails, what was charged
// stays charged, and the sink is left as it is.
func Run(ctx context.Context, p *policy.Policy, l ask.Ledger, o Options, to Sink, log *slog.Logger) (*Result, error) {
	w := ask.As(policy.SyntheticAccount, p, o.Budget, o.Budget.Epsilon)
	w.Tables = nil
	for _, t := range p.Tables {
		c := *t
		c.Epsilon, c.EpsilonMax, c.MaxGroupsPerUnit = o.Budget.Epsilon, o.Budget.Epsilon, 0
		if p.Accounting.Method == policy.RDP { // of one kind: parts of the budget add up
			c.Mechanism = mechanism.Choice{Noise: mechanism.Gaussian}
		}
		w.Tables = append(w.Tables, &c)
	}
	s, b, err := begin(ctx, w, o, to, log)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	a, err := ask.New(ctx, policy.SyntheticAccount, w, b, l)
	if err != nil {
		return nil, err
	}
	var done charges
	s.ask = asking(a, s.price, &done)
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	made, err := s.write(ctx, o.Seed, s.public(ctx, w, b, o.Tables != nil), to, b)
	return &Result{Statements: done.statements, Balance: done.balance, Tables: made}, err
}

// write draws the rows and hands them to the sink, behind those of public tables.
func (s *survey) write(ctx context.Context, seed uint64, public []Rows, to Sink, b *backend.Backend) ([]Made, error) {
	if err := s.readKeys(ctx, b); err != nil {
		return nil, err
	}
	all := s.draw(seed)
	rows, err := s.rows(all)
	if err != nil {
		return nil, err
	}
	written, err := to.Replace(ctx, append(rows, public...))
	if err != nil {
		return nil, err
	}
	var list []Made
	for _, t := range s.tables {
		if t.relation != nil {
			w := written[t.name]
			list = append(list, Made{Name: t.name, Rows: w.Rows, Left: w.Left + all[t].left, Pairs: s.chosen(t)})
		}
	}
	for _, t := range public {
		if w, ok := written[t.Table]; ok {
			list = append(list, Made{Name: t.Table, Rows: w.Rows, Left: w.Left, Public: true})
		}
	}
	return list, nil
}

// begin compares the databases with the policy, as serve does, and reads their catalogs. No private row is read.
func begin(ctx context.Context, p *policy.Policy, o Options, to Sink, log *slog.Logger) (
	*survey, *backend.Backend, error,
) {
	b, err := backend.Open(ctx, p, log)
	if err != nil {
		return nil, nil, err
	}
	s, err := func() (*survey, error) {
		found, err := provision.CheckLive(ctx, p, b)
		if err != nil {
			return nil, err
		}
		if err := found.Err(); err != nil {
			return nil, err
		}
		schema, err := b.Schema(ctx)
		if err != nil {
			return nil, err
		}
		var names []policy.Name
		for _, t := range p.Tables {
			names = append(names, t.Name)
		}
		holding, err := to.References(ctx, names)
		if err != nil {
			return nil, err
		}
		plan, err := newPlan(p, schema, o.Tables, holding)
		if err != nil {
			return nil, err
		}
		return &survey{plan: plan, price: priceOf(p, o.Budget), found: map[*table]*findings{}, left: 1}, nil
	}()
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return s, b, nil
}

// Outline says what would be asked, a line for each round, with the price of each statement. It asks nothing: pairs
// of the tree are among those that are named, and what they cost follows from how many rows there are.
func Outline(ctx context.Context, p *policy.Policy, o Options, to Sink, log *slog.Logger) ([]string, error) {
	s, b, err := begin(ctx, p, o, to, log)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	lines := []string{fmt.Sprintf("epsilon %g, delta %g, for all of it together", o.Budget.Epsilon, o.Budget.Delta)}
	for _, c := range s.look() {
		lines = append(lines, fmt.Sprintf("%s, at epsilon %.3g", c.what, s.price.at(c.part)))
	}
	lines = append(lines, fmt.Sprintf("and for %.0f %% of the budget, in parts that follow from these numbers of rows:",
		100*(1-lookPart)))
	for _, t := range s.tables {
		for _, a := range t.attributes {
			lines = append(lines, fmt.Sprintf("%s by %s", t, a.name()))
		}
		given := s.given(t)
		if n := s.pairsOf(t); n > 0 {
			lines = append(lines, fmt.Sprintf(
				"%s by each of %d pairs of these and of %d columns of what it hangs on; then up to %d of the pairs more finely, with sums by some",
				t, n, len(given), len(t.attributes)-1+min(1, len(given))))
		}
	}
	return lines, nil
}
