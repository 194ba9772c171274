package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
)

type budgetCommand struct {
	policyFlag
	Show   budgetShow   `cmd:"" help:"What every analyst has spent and has left."`
	Reset  budgetReset  `cmd:"" help:"Open a new period for an analyst, with the whole budget."`
	Clear  budgetClear  `cmd:"" help:"Forget an analyst's failures: statements that failed on the main database may be asked again."`
	Verify budgetVerify `cmd:"" help:"Derive every total from the records, and compare."`
	Export budgetExport `cmd:"" help:"Write every record as one line of JSON."`
}

// Help returns what --help adds to the list of commands.
func (budgetCommand) Help() string {
	return "Works while the proxy runs: through its socket next to a ledger file, or directly in a shared ledger."
}

// open opens the ledger for its administrator.
func (c *budgetCommand) open(ctx context.Context) (ledger.Admin, error) {
	p, err := c.load("ledger")
	if err != nil {
		return nil, err
	}
	return admin.Open(ctx, p.Ledger, ledger.ConfigOf(p))
}

// with opens the ledger, runs do and closes it.
func (c *budgetCommand) with(ctx context.Context, do func(ledger.Admin) error) error {
	l, err := c.open(ctx)
	if err != nil {
		return err
	}
	if err := do(l); err != nil {
		l.Close()
		return err
	}
	return l.Close()
}

type budgetReset struct {
	Analyst string `arg:"" help:"Name of the analyst; * means the budget of all together."`
}

func (r *budgetReset) Run(ctx context.Context, c *cli, s *streams) error {
	return c.Budget.with(ctx, func(l ledger.Admin) error {
		a, err := l.Reset(ctx, r.Analyst)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: a new period, %s left\n", a.Analyst, ledger.PercentLeft(a.ShareLeft))
		if a.FailuresAllowed > 0 && a.FailuresUsed >= uint64(a.FailuresAllowed) {
			fmt.Fprintf(s.out, "%s: the failures stay used up until dpproxy budget clear %s\n", a.Analyst, a.Analyst)
		}
		return nil
	})
}

type budgetClear struct {
	Analyst string `arg:"" help:"Name of the analyst."`
}

func (r *budgetClear) Run(ctx context.Context, c *cli, s *streams) error {
	return c.Budget.with(ctx, func(l ledger.Admin) error {
		n, err := l.Clear(ctx, r.Analyst)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: %d statements may be asked again; failures count from 0\n", r.Analyst, n)
		return nil
	})
}

type budgetVerify struct{}

func (budgetVerify) Run(ctx context.Context, c *cli, s *streams) error {
	return c.Budget.with(ctx, func(l ledger.Admin) error {
		report, err := l.Verify(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "ok: %d records of %d accounts give the stored totals and %d checkpoints\n", report.Records,
			report.Accounts, report.Checkpoints)
		return nil
	})
}

type budgetExport struct{}

func (budgetExport) Run(ctx context.Context, c *cli, s *streams) error {
	return c.Budget.with(ctx, func(l ledger.Admin) error { return l.Export(ctx, s.out) })
}

type budgetShow struct {
	JSON bool `name:"json" help:"As a JSON array."`
}

func (b *budgetShow) Run(ctx context.Context, c *cli, s *streams) error {
	return c.Budget.with(ctx, func(l ledger.Admin) error {
		accounts, err := l.Show(ctx)
		if err != nil {
			return err
		}
		if b.JSON {
			out := json.NewEncoder(s.out)
			out.SetIndent("", "  ")
			return out.Encode(accounts)
		}
		return writeAccounts(s.out, accounts)
	})
}
