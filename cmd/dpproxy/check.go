package main

import (
	"context"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
)

type checkCommand struct {
	policyFlag
	Live bool `help:"Compare the policy with the databases too, and print what a DBA may want to revoke or index."`
}

func (c *checkCommand) Run(ctx context.Context, s *streams) error {
	p, err := c.load()
	if err != nil {
		return err
	}
	for _, note := range p.Notes {
		fmt.Fprintf(s.err, "note: %s\n", note)
	}
	if c.Live {
		if err := s.checkLive(ctx, p); err != nil {
			return err
		}
	}
	fmt.Fprintln(s.out, "ok")
	return nil
}

// checkLive reads catalogs and no private row.
func (s *streams) checkLive(ctx context.Context, p *policy.Policy) error {
	if err := p.Need(server.Needs(p)...); err != nil {
		return err
	}
	b, err := backend.Open(ctx, p, newLog(s.err))
	if err != nil {
		return err
	}
	defer b.Close()
	found, err := provision.CheckLive(ctx, p, b)
	if err != nil {
		return err
	}
	for _, line := range found.Advice {
		fmt.Fprintf(s.out, "advice: %s\n", line)
	}
	if err := found.Err(); err != nil {
		return err
	}
	refused, err := server.CheckViews(ctx, p, newLog(s.err))
	for _, v := range p.Views {
		if why := refused[v]; why != nil {
			fmt.Fprintf(s.out, "advice: views: %s cannot be asked: %s\n", v, explained(why))
		}
	}
	return err
}
