package provision

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// CheckDrift looks, while the proxy runs, for what has changed in main since CheckLive: public tables that lead to
// people now, private rows that public's role can read, both of which expose people, and what it may not read any more.
// What statements rest on is in the schema, which the engine compares. It reads no row.
func CheckDrift(ctx context.Context, p *policy.Policy) (*Findings, error) {
	c := &liveCheck{policy: p, found: &Findings{policy: p}}
	if !p.HasPublicTable() {
		return c.found, nil
	}
	defer c.close()
	var err error
	if c.main, err = open(ctx, "main", p.Databases.Main); err != nil {
		return nil, err
	}
	if c.public, err = open(ctx, "public", p.Databases.Public); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{c.checkPeople, c.checkPublicReach} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	c.found.Exposed = len(c.found.Problems) > 0
	return c.found, c.checkReadable(ctx)
}

// checkPublicReach makes sure that public's role still reads no private row.
func (c *liveCheck) checkPublicReach(ctx context.Context) error {
	private, err := c.privateOIDs(ctx)
	if err != nil {
		return err
	}
	d, err := parseDSNs(c.policy)
	if err != nil {
		return err
	}
	return c.checkReach(ctx, "public", d.public.User, private)
}

func open(ctx context.Context, name, dsn string) (*connection, error) {
	conn, err := backend.Connect(ctx, name, dsn, "")
	if err != nil {
		return nil, err
	}
	return &connection{name, conn}, nil
}
