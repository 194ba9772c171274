package main

import (
	"context"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
)

type setupCommand struct {
	policyFlag
	Print bool `help:"Print what it would do as a script for psql, with verifiers in place of passwords; connect to nothing."`
}

// Help is shown by --help.
func (setupCommand) Help() string {
	return "Creates or updates the roles that the policy's databases name, their grants, the shadow database, and the schema " +
		"of a ledger in PostgreSQL. It may be run at any time, and changes no role that it did not make."
}

func (c *setupCommand) Run(ctx context.Context, s *streams) error {
	p, err := c.load()
	if err != nil {
		return err
	}
	needs := server.Needs(p)
	if !c.Print {
		needs = append(needs, "admin.main", "admin.shadow")
	}
	if err := p.Need(needs...); err != nil {
		return err
	}
	if c.Print {
		script, err := provision.SetupScript(p)
		if err != nil {
			return err
		}
		fmt.Fprint(s.out, script)
		return nil
	}
	if err := provision.Setup(ctx, p, s.err); err != nil {
		return err
	}
	s.say("setup: done")
	return nil
}
