package main

import (
	"context"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
)

type setupCommand struct {
	policyFlag
	Print bool `help:"Print what it would do as a script for psql, with verifiers in place of passwords; connect to nothing."`
}

// Help is shown by --help.
func (setupCommand) Help() string {
	return "Creates or updates the roles that the policy's databases name, their grants, the shadow database and its synthetic twin, and the schema " +
		"of a ledger in PostgreSQL. It may be run at any time, and changes no role that it did not make."
}

func (c *setupCommand) Run(ctx context.Context, s *streams) error {
	p, err := c.load()
	if err != nil {
		return err
	}
	var admins []string
	if !c.Print {
		admins = []string{"admin.main", "admin.shadow"}
	}
	if err := server.Need(p, admins...); err != nil {
		return err
	}
	if err := provision.CheckApart(p); err != nil {
		return err
	}
	for _, one := range p.Each() {
		if one.Name != "" && !c.Print {
			s.say("setup: database %s", one.Name)
		}
		if err := c.setup(ctx, s, one); err != nil {
			return err
		}
	}
	if !c.Print {
		s.say("setup: done")
	}
	return nil
}

// setup does one database.
func (c *setupCommand) setup(ctx context.Context, s *streams, p *policy.Policy) error {
	if !c.Print {
		return provision.Setup(ctx, p, s.err)
	}
	script, err := provision.SetupScript(p)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(s.out, script)
	return err
}
