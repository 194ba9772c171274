package engine

import (
	"context"
	"errors"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// checkedSize is the number of plans that are remembered as checked. Each takes the 64 bytes of its fingerprint.
const checkedSize = 8192

// check has PostgreSQL refuse, before anything is charged, what it would refuse afterwards: main parses the measure queries and
// proves what they rest on, and the finish query is prepared where it will run.
func (c *call) check(ctx context.Context, p *priced) error {
	if err := c.checkFinish(ctx, p.plan.Finish); err != nil {
		return err
	}
	return c.checkMeasure(ctx, p)
}

// checkMeasure asks main once for each plan; the proofs are made again where the plan measures, in its own snapshot.
func (c *call) checkMeasure(ctx context.Context, p *priced) error {
	m := p.measurement(c.scope)
	if _, known := c.state.checked.Get(p.plan.Fingerprint); known || len(m.Queries) == 0 {
		return nil
	}
	err := c.state.backend.CheckMeasure(ctx, m)
	if err == nil {
		c.state.checked.Add(p.plan.Fingerprint, struct{}{})
		return nil
	}
	var unproven *backend.ProofError
	var refused *backend.RefusedError
	switch {
	case errors.As(err, &unproven) && unproven.Proof.Of != "":
		return pgerr.New(pgerr.FeatureNotSupported, "the database compares as equal some of "+unproven.Proof.Of+", which have to differ",
			pgerr.Hint("Name each value once, or compare under another collation: write COLLATE \"C\". Nothing was charged."))
	case errors.As(err, &unproven):
		c.engine.reread(ctx, c.state)
		return pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type",
			pgerr.Hint("A unique index of the main database has gone. Ask again: the statement is then planned without it. Nothing was charged."))
	case errors.As(err, &refused):
		c.engine.log.Error("a measure query is not taken", "analyst", c.scope.Analyst, "fingerprint", p.plan.Fingerprint, "error", refused.Error())
		return pgerr.New(pgerr.FeatureNotSupported, "the main database does not take this form of the query",
			pgerr.Hint("Nothing was charged. Write the query in another form, or tell the administrator: the proxy's log has the reason."))
	}
	return err
}
