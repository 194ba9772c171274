package engine

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// call is one statement with its values and everything that it runs under.
type call struct {
	engine        *Engine
	state         *state
	scope         session.Scope
	analysis      *analysed
	prepared      *prepared // nil: it is only looked at
	sql           string    // the analyst's text
	formats       []int16
	values        [][]byte
	resultFormats []int16
	entered       bool // it keeps the connections of its state
	account       session.Account

	// What columns of dpproxy.budget and dpproxy.history are taken from: one moment.
	budgeted *ledger.Balance
	past     []ledger.HistoryEntry
}

// Account implements session.Accounted.
func (c *call) Account() session.Account { return c.account }

// Bytes implements session.Sized.
func (c *call) Bytes() int { return session.TreeBytes * len(c.sql) }

// counted says how the statement is answered.
func (c *call) counted(verdict string) {
	c.account.Verdict = verdict
	c.engine.metrics.Statement(verdict)
}

// charged adds to what the statement was charged.
func (c *call) charged(epsilon, share float64) {
	c.account.Epsilon += epsilon
	c.engine.metrics.Charged(epsilon, share)
}

// private is a bound statement over private rows.
type private struct {
	*call
	*calibrated

	stages [][][]*rewrite.Canonical // what the stages have answered so far: [stage][row][column]

	// What answerCache knows of the statement (answercache.go).
	key        string        // of the answer; empty: answers are not kept
	answer     []released    // kept, or measured just now; nil: to be measured
	from       origins       // what the answer is made of, by block; nil: it is one that is kept, or was measured
	table      *askedTable   // it is asked as that; nil: as itself
	claimed    bool          // in the ledger, and not answered yet
	shared     *sharedAnswer // another analyst's answer to the same question; nil: it is charged for one of its own
	flightDone func()        // ends the question's time in flight; nil: it is not in flight

	unkept   bool   // the answer is for this statement alone
	reserved func() // gives back the memory that it works with; nil: it has none

	receipt *gate.Receipt // of what it was charged for, and has not drawn yet

	// What the charge has left behind, for the NOTICE.
	spent   spending
	balance ledger.Balance

	// What is known once it is answered.
	figured []estimate.Figure // how far each aggregate may be off
	// of released values: groups that are not shown, sums of those that are, places that are certain; empty where there is
	// nothing to say
	said   []string
	placed estimate.Places
}

// Bind plans the statement with its values. It costs nothing and reads no private row.
func (p *prepared) Bind(ctx context.Context, scope session.Scope, formats []int16, values [][]byte,
	resultFormats []int16,
) (session.Bound, error) {
	bound, err := p.bind(ctx, scope, formats, values, resultFormats)
	// the catalogs, or the policy, have been read again
	if errors.Is(err, errChanged) || errors.Is(err, ledger.ErrReplanned) {
		bound, err = p.bind(ctx, scope, formats, values, resultFormats)
	}
	if err != nil {
		p.engine.metrics.Statement("refused")
		return nil, p.placed(err)
	}
	return bound, nil
}

func (p *prepared) bind(ctx context.Context, scope session.Scope, formats []int16, values [][]byte,
	resultFormats []int16,
) (session.Bound, error) {
	s, err := p.engine.enter()
	if err != nil {
		return nil, err
	}
	defer s.databases.Leave()
	if err := p.engine.knows(s, scope.Analyst); err != nil {
		return nil, err
	}
	settings := s.rewriteSettings(scope)
	a, err := p.engine.analyse(ctx, s, scope, p.statement, p.types, settings)
	if err != nil {
		return nil, s.offered(scope, err)
	}
	if !p.sameTypes(a) { // in PostgreSQL's words: drivers prepare again when they read them
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type",
			pgerr.Hint("The database has changed since the statement was prepared. Prepare it again."))
	}
	c := &call{
		engine: p.engine, state: s, scope: scope, analysis: a, prepared: p, sql: p.statement.SQL, formats: formats,
		values: values, resultFormats: resultFormats,
	}
	bound, err := c.bound(ctx)
	if settings.SyntheticRows && !settings.Synthetic && refusal.OfRows(err) { // by the value of a parameter
		settings.Synthetic = true
		if c.analysis, err = p.engine.analyse(ctx, s, scope, p.statement, p.types, settings); err != nil {
			return nil, err
		}
		bound, err = c.bound(ctx)
	}
	return bound, s.offered(scope, err)
}

// bound binds the statement as what its analysis says that it is.
func (c *call) bound(ctx context.Context) (session.Bound, error) {
	switch {
	case c.analysis.explain != nil:
		return c.bindExplain(ctx, *c.analysis.explain)
	case c.analysis.Route == rewrite.RoutePrivate:
		return c.bindPrivate(ctx)
	case c.analysis.Route == rewrite.RouteSynthetic:
		return c.bindSynthetic(ctx)
	}
	o, err := c.bindOpen(ctx)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// bindPrivate plans and calibrates the statement, and has the shadow and main take the queries before anything is
// charged. Main is not asked where the answer is known.
func (c *call) bindPrivate(ctx context.Context) (session.Bound, error) {
	cal, err := c.calibratedPlan(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.checkFinish(ctx, cal.Plan); err != nil {
		return nil, err
	}
	c.account.Fingerprint = cal.Plan.Fingerprint
	p := &private{call: c, calibrated: cal}
	if err := p.findAnswer(ctx); err != nil {
		return nil, err
	}
	if p.answer == nil {
		p.findTable(ctx, p.workload())
	}
	if p.answer == nil && p.table == nil {
		if err := c.certified(cal); err != nil {
			return nil, err
		}
		if err := c.checkMeasure(ctx, cal); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// keepsEmpty says whether groups without rows are answers too: as the session says, else as the policy.
func (c *call) keepsEmpty() bool {
	wanted := c.scope.Settings.EmptyGroups()
	if wanted == "" {
		wanted = c.state.policy.Defaults.EmptyGroups
	}
	return wanted == policy.KeepEmptyGroups
}

// enter keeps the connections that the statement was bound to until leave: what is charged is answered under the policy
// that it is charged under. What was bound before a reload is to be bound again, since a portal or a cursor may wait
// for long.
func (c *call) enter() error {
	now := c.engine.state.Load()
	if err := c.engine.knows(now, c.scope.Analyst); err != nil {
		return err
	}
	if now.databases != c.state.databases || !now.databases.Use() {
		return session.ErrReloaded
	}
	c.entered = true
	return nil
}

// leave may be called more than once.
func (c *call) leave() {
	if c.entered {
		c.entered = false
		c.state.databases.Leave()
	}
}

// Void implements session.Voider.
func (c *call) Void() { c.leave() }

// columns describes the result with the formats that Bind asked for.
func (c *call) columns() []pgconn.FieldDescription {
	if c.analysis.columns == nil {
		return nil
	}
	out := make([]pgconn.FieldDescription, len(c.analysis.columns))
	for i, f := range c.analysis.columns {
		f.Format = backend.FormatAt(c.resultFormats, i)
		out[i] = f
	}
	return out
}
