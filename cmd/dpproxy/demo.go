package main

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/demo"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/synthetic"
)

type demoCommand struct {
	Check    bool   `help:"Run the queries, look at the answers, and end: the exit code is the verdict."`
	Install  bool   `help:"Install PostgreSQL with the system's package manager if it is missing."`
	Listen   string `placeholder:"ADDR" help:"Address of the proxy; without it, 127.0.0.1:6432, or a free port if that is taken."`
	Console  string `placeholder:"ADDR" help:"Address of the console; without it, 127.0.0.1:6480, or a free port if that is taken."`
	Patients int    `placeholder:"N" help:"Size of the data set; without it, 120000."`
	Load     string `placeholder:"DSN" help:"Only load the data set into this database, unless it is there already."`
}

// Help is shown by --help.
func (demoCommand) Help() string {
	return "Starts a PostgreSQL of its own with a data set, a policy and the proxy, all in a temporary folder, and prints a psql " +
		"line to paste. Ctrl-C ends it and leaves nothing behind."
}

func (c *demoCommand) Run(ctx context.Context, s *streams) error {
	if c.Load != "" {
		return demo.LoadOnce(ctx, c.Load, c.Patients)
	}
	return demo.Run(ctx, demo.Options{
		Check: c.Check, Install: c.Install, Listen: c.Listen, Console: c.Console,
		Patients: c.Patients,
		Synthesize: func(ctx context.Context, p *policy.Policy, table string, epsilon float64) error {
			o := synthetic.Options{Tables: []string{table}, Budget: policy.Budget{Epsilon: epsilon, Delta: p.Synthetic.Delta}}
			_, err := synthesized(ctx, p, o, synthetic.Database{DSN: p.Databases.Synthesize}, s)
			return err
		},
	}, s.out, s.err)
}
