package main

import (
	"context"
	"errors"
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
		if err := s.checkAllLive(ctx, p); err != nil {
			return err
		}
	}
	fmt.Fprintln(s.out, "ok")
	return nil
}

// checkAllLive looks at every database, also when one is not what the policy says.
func (s *streams) checkAllLive(ctx context.Context, p *policy.Policy) error {
	if err := server.Need(p); err != nil {
		return err
	}
	if err := provision.CheckApart(p); err != nil {
		return err
	}
	var failed []error
	var all []*provision.Findings
	for _, one := range p.Each() {
		found, err := s.checkLive(ctx, one)
		if failed = append(failed, one.In(err)); found != nil {
			all = append(all, found)
		}
	}
	return errors.Join(append(failed, provision.SameMain(all))...)
}

// checkLive reads catalogs and no private row.
func (s *streams) checkLive(ctx context.Context, p *policy.Policy) (*provision.Findings, error) {
	b, err := backend.Open(ctx, p, newLog(s.err))
	if err != nil {
		return nil, err
	}
	defer b.Close()
	found, err := provision.CheckLive(ctx, p, b)
	if err != nil {
		return nil, err
	}
	for _, line := range found.Advice {
		fmt.Fprintf(s.out, "advice: %s\n", line)
	}
	if err := found.Err(); err != nil {
		return found, err
	}
	refused, err := server.CheckViews(ctx, p, newLog(s.err))
	for _, v := range p.Views {
		if why := refused[v]; why != nil {
			fmt.Fprintln(s.out, "advice:", p.Titled(fmt.Sprintf("views: %s cannot be asked: %s", v, explained(why))))
		}
	}
	return found, err
}
