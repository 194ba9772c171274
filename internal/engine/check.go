package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// checkFinish has PostgreSQL prepare the finish query before anything is charged: its types must be those that the
// client knows. So must those of the stages be what main will read.
func (c *call) checkFinish(ctx context.Context, p *rewrite.Plan) error {
	if err := c.engine.mayRead(p.Finish.On); err != nil {
		return err
	}
	for _, s := range p.Stages {
		if err := c.engine.mayRead(s.Query.On); err != nil {
			return err
		}
		if err := c.checkTypes(ctx, s.Query, s.Types); err != nil {
			return err
		}
	}
	types := make([]uint32, len(c.analysis.answer))
	for i, column := range c.analysis.answer {
		types[i] = column.DataTypeOID
	}
	return c.checkTypes(ctx, p.Finish, types)
}

// checkTypes holds a query over released values to the types of its columns. Texts repeat, so each is checked once for
// an analysis.
func (c *call) checkTypes(ctx context.Context, f rewrite.Finish, columns []uint32) error {
	if _, checked := c.analysis.finished.Load(f.SQL); checked {
		return nil
	}
	types := make([]uint32, len(f.Args))
	for i, arg := range f.Args {
		types[i] = arg.Type
	}
	described, err := c.state.databases.DescribeOn(ctx, f.On, f.SQL, types, backendSettings(c.scope))
	if err != nil {
		if !refusesForm(err) { // nobody has looked at the query
			return err
		}
		c.engine.log.Error("finish query refused", "analyst", c.scope.Analyst, "error", err.Error())
		return errFinish()
	}
	if !slices.EqualFunc(described.Fields, columns, func(a pgconn.FieldDescription, oid uint32) bool {
		return a.DataTypeOID == oid
	}) {
		c.engine.log.Error("finish query has other types than the statement", "analyst", c.scope.Analyst)
		return errFinish()
	}
	c.analysis.finished.Store(f.SQL, true)
	return nil
}

// refusesForm says whether PostgreSQL has looked at a query and does not take it: it knows no such syntax, name, type
// or feature, a constant is none of its type, or the query is too large. Everything else, a lost connection, a limit or
// a cancel, says nothing of the query.
func refusesForm(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && len(refused.Code) == 5 &&
		slices.Contains([]string{"0A", "22", "42", "54"}, refused.Code[:2])
}

// errFinish refuses what rewrite planned and PostgreSQL does not take. Nothing has been charged.
func errFinish() error {
	return refusal.New(refusal.AnotherForm, "this form of the query cannot be finished over released values",
		pgerr.Hint("Put the aggregates into a subquery and compute on its columns. Nothing was charged."))
}

// errChanged says that main is not as it was when the plan was made.
var errChanged = refusal.New(refusal.Database, "a table of the main database has changed and cannot be used as it was",
	pgerr.Hint("Nothing was charged. Ask again later, or tell the administrator: the proxy's log says what has changed."))

// checkMeasure has main refuse, before anything is charged, what it would refuse afterwards (docs/privacy.md P27): main
// parses the measure queries and proves what they rest on. It does so before every charge, since it may have changed
// since the last one. The measure proves the same again in its own snapshot.
func (c *call) checkMeasure(ctx context.Context, p *calibrated) error {
	m := gate.Measurement(p.Plan, backendSettings(c.scope))
	if len(m.Queries) == 0 {
		return nil
	}
	err := c.state.databases.CheckMeasure(ctx, m)
	var unproven *backend.ProofError
	var refused *backend.RefusedError
	switch {
	case errors.As(err, &unproven) && unproven.Proof.Of != "":
		return refusal.New(refusal.EqualValues, "the database compares as equal some of "+unproven.Proof.Of+
			", which have to differ",
			pgerr.Hint("Name each value once, or compare under another collation: write COLLATE \"C\". Nothing was charged."))
	case errors.As(err, &unproven):
		c.engine.log.Warn("main has changed since its catalogs were read", "reason", unproven.Error())
		c.engine.reread(ctx, c.state)
		return errChanged
	case errors.As(err, &refused):
		c.engine.log.Error("a measure query is not taken", "analyst", c.scope.Analyst, "fingerprint", p.Plan.Fingerprint,
			"error", err.Error())
		return refusal.New(refusal.AnotherForm, "the main database does not take this form of the query",
			pgerr.Hint(
				"Nothing was charged. Write the query in another form, or tell the administrator: the proxy's log has the reason."))
	}
	return err
}

// certified refuses a statement that asks main what is not certified, unless the policy has it run all the same. The
// reason is for the administrator.
func (c *call) certified(p *calibrated) error {
	reason := p.certificate.Err()
	if reason == nil {
		return nil
	}
	if p.certificate.Refuses() {
		return c.notCertified(p.Plan, reason)
	}
	c.engine.metrics.Uncertified()
	c.engine.log.Warn("a query for main is not certified, and runs", "analyst", c.scope.Analyst, "fingerprint",
		p.Plan.Fingerprint, "reason", reason.Error())
	return nil
}

// notCertified is the refusal.
func (c *call) notCertified(plan *rewrite.Plan, reason error) error {
	c.engine.metrics.Uncertified()
	c.engine.log.Error("a query for main is not certified", "analyst", c.scope.Analyst, "fingerprint", plan.Fingerprint,
		"reason", reason.Error())
	return refusal.New(refusal.NotCertified, "what this statement asks of the main database is not certified")
}
