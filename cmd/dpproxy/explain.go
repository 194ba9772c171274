package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/server"
)

type explainCommand struct {
	policyFlag
	databaseFlag
	Analyst string  `placeholder:"NAME" help:"Explain for this analyst; without it, for the first of the policy by name."`
	Epsilon float64 `placeholder:"E" help:"Explain at this epsilon, as after SET dpproxy.epsilon."`
	SQL     string  `arg:"" name:"statement" help:"One SELECT."`
}

// Help is shown by --help.
func (explainCommand) Help() string {
	return "Prints plan, sensitivity, mechanisms, cost and expected error, as EXPLAIN does. It needs the shadow and main's " +
		"catalogs, and reads no row. A statement that the proxy would refuse: exit 1."
}

func (c *explainCommand) Run(ctx context.Context, s *streams) error {
	p, err := c.one(c.policyFlag)
	if err != nil {
		return err
	}
	if c.Analyst == "" {
		c.Analyst = p.AnyAnalyst()
	}
	if p.Analysts[c.Analyst] == nil && p.GroupOf(c.Analyst) == "" {
		return fmt.Errorf("analyst %q is not in the policy", c.Analyst)
	}
	lines, err := server.Explain(ctx, p, newLog(s.err), c.Analyst, c.Epsilon, c.SQL)
	if err != nil {
		return explained(err)
	}
	for _, line := range lines {
		fmt.Fprintln(s.out, line)
	}
	return nil
}

// explained shows a refusal as a client would see it: code, message, hint.
func explained(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err
	}
	refusal := fmt.Errorf("%s (SQLSTATE %s)", e.Message, e.Code)
	if e.Position > 0 {
		refusal = fmt.Errorf("%s at character %d (SQLSTATE %s)", e.Message, e.Position, e.Code)
	}
	if e.Detail != "" {
		refusal = fmt.Errorf("%w: %s", refusal, e.Detail)
	}
	if e.Hint == "" {
		return refusal
	}
	return hinted(refusal, "%s", e.Hint)
}
