package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/synthetic"
)

type synthesizeCommand struct {
	policyFlag
	databaseFlag
	Table   []string `placeholder:"T" help:"Make this table, with those that it refers to, and that have rows which refer to these; without it, every private one."`
	Epsilon *float64 `placeholder:"E" help:"All of it together is differentially private with this epsilon; without it, with all of synthetic.epsilon."`
	Due     bool     `help:"Only if nothing of its budget is spent in this period, synthetic.every: what a timer says that comes more often."`
	DryRun  bool     `help:"Say what would be asked at first, and which parts of the price there are, and end."`
}

// Help is shown by --help.
func (synthesizeCommand) Help() string {
	return "Releases counts by one column and by two of the private tables, and draws tables that have about these counts and nobody's rows. It is " +
		"charged to the account *synthetic, and to the budget of all analysts together, before anything is read."
}

func (c *synthesizeCommand) Run(ctx context.Context, s *streams) error {
	p, err := c.prepare()
	if err != nil {
		return err
	}
	o := synthetic.Options{
		Tables: c.Table, Budget: policy.Budget{Epsilon: p.Synthetic.Epsilon, Delta: p.Synthetic.Delta},
	}
	if c.Epsilon != nil {
		o.Budget.Epsilon = *c.Epsilon
	}
	to := synthetic.Database{DSN: p.Databases.Synthesize}
	if c.DryRun {
		list, err := synthetic.Outline(ctx, p, o, to, newLog(s.err))
		for _, line := range list {
			fmt.Fprintln(s.out, line)
		}
		return err
	}
	if c.Due {
		switch balance, err := spentOnTwin(ctx, p); {
		case err != nil:
			return err
		case balance.ShareSpent > 0:
			s.say("synthesize: not due%s", until(balance.PeriodEnds))
			return nil
		}
	}
	made, err := synthesized(ctx, p, o, to, s)
	var over *pgconn.PgError
	if errors.As(err, &over) && over.Code == pgerr.BudgetExceeded {
		return hinted(err, "take a lower --epsilon, or raise synthetic: in the policy; synthetic.every is the period of its budget, and twins "+
			"that are made within one share it: dpproxy budget show says when the next begins")
	}
	if err != nil {
		return err
	}
	s.say("synthesize: %d statements asked; %s of its budget is spent, %s left", made.Statements,
		ledger.Percent(made.Balance.ShareSpent), ledger.PercentLeft(made.Balance.ShareLeft))
	for _, t := range made.Tables {
		fmt.Fprintf(s.out, "%s: %d rows", t.Name, t.Rows)
		if t.Public {
			fmt.Fprint(s.out, " in all, as it is public")
		}
		if t.Left > 0 {
			fmt.Fprintf(s.out, "; %d were left out, as they break a constraint", t.Left)
		}
		fmt.Fprintln(s.out)
	}
	return nil
}

// synthesized makes a twin, at the charge of the account for it.
func synthesized(ctx context.Context, p *policy.Policy, o synthetic.Options, to synthetic.Sink, s *streams) (
	*synthetic.Result, error,
) {
	l, err := admin.OpenAccount(ctx, p.Ledger, policy.SyntheticAccount, ledger.ConfigOf(p))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return synthetic.Run(ctx, p, l, o, to, newLog(s.err))
}

// spentOnTwin is the balance of that account.
func spentOnTwin(ctx context.Context, p *policy.Policy) (ledger.Balance, error) {
	l, err := admin.OpenAccount(ctx, p.Ledger, policy.SyntheticAccount, ledger.ConfigOf(p))
	if err != nil {
		return ledger.Balance{}, err
	}
	defer l.Close()
	return l.Preview(ctx, nil)
}

// until says when a period ends, or why it has no end.
func until(t time.Time) string {
	if t.IsZero() {
		return ": synthetic.every gives its budget a period"
	}
	return " until " + t.UTC().Format(time.RFC3339)
}

// prepare reads the policy and checks the flags.
func (c *synthesizeCommand) prepare() (*policy.Policy, error) {
	p, err := c.one(c.policyFlag)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Epsilon != nil && (!(*c.Epsilon > 0) || math.IsInf(*c.Epsilon, 0)):
		return nil, &failure{code: exitUsage, err: fmt.Errorf("--epsilon must be above 0")}
	case p.Synthetic == nil:
		return nil, &failure{code: exitUsage, err: fmt.Errorf("the policy has no twin: add `synthetic: {epsilon: 3, delta: %g}`",
			p.Accounting.Delta)}
	}
	return p, nil
}
