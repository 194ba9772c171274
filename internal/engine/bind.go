package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// call is one statement with its values and everything that it runs under.
type call struct {
	engine        *Engine
	state         *state
	scope         session.Scope
	analysis      *analysed
	sql           string // the analyst's text
	formats       []int16
	values        [][]byte
	resultFormats []int16
}

// columns describes the result with the formats that Bind asked for.
func (c *call) columns() []pgconn.FieldDescription {
	out := make([]pgconn.FieldDescription, len(c.analysis.columns))
	for i, f := range c.analysis.columns {
		f.Format = formatAt(c.resultFormats, i)
		out[i] = f
	}
	if c.analysis.columns == nil {
		return nil
	}
	return out
}

// formatAt applies Bind's rule: no code means text, one code means all.
func formatAt(formats []int16, i int) int16 {
	switch len(formats) {
	case 0:
		return 0
	case 1:
		return formats[0]
	}
	return formats[i]
}

// Bind plans the statement with its values. It costs nothing and reads no private row.
func (p *prepared) Bind(ctx context.Context, scope session.Scope, formats []int16, values [][]byte, resultFormats []int16) (session.Bound, error) {
	bound, err := p.bind(ctx, scope, formats, values, resultFormats)
	if errors.Is(err, errChanged) { // the catalogs have been read again
		bound, err = p.bind(ctx, scope, formats, values, resultFormats)
	}
	if err != nil {
		p.engine.metrics.Statement("refused")
	}
	return bound, err
}

func (p *prepared) bind(ctx context.Context, scope session.Scope, formats []int16, values [][]byte, resultFormats []int16) (session.Bound, error) {
	s := p.engine.state.Load()
	if s.policy.Analysts[scope.Analyst] == nil {
		return nil, errRemoved()
	}
	a, err := p.engine.analyse(ctx, s, scope, p.statement, p.types)
	if err != nil {
		return nil, err
	}
	if !p.still(a) { // in PostgreSQL's words, upon which drivers prepare again
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type",
			pgerr.Hint("The database has changed since the statement was prepared. Prepare it again."))
	}
	c := &call{p.engine, s, scope, a, p.statement.SQL, formats, values, resultFormats}
	if explain := p.statement.Explain(); explain != nil {
		return c.bindExplain(ctx, explain)
	}
	if a.Route != rewrite.RoutePrivate {
		return c.bindOpen(ctx)
	}
	return c.bindPrivate(ctx)
}

// calibrate computes what depends on the values, with a mechanism for each release.
func (c *call) calibrate(ctx context.Context) (*priced, error) {
	defer c.engine.stage("plan", time.Now())
	values, err := c.state.backend.Read(ctx, c.values, c.formats, c.analysis.parameters, backendSettings(c.scope))
	if err != nil {
		return nil, err
	}
	lookup := lookup{ctx, c.state, backendSettings(c.scope)}
	plan, err := c.analysis.Plan(values, lookup, rewrite.Options{HashKey: c.state.secret, Version: c.state.version})
	if err != nil {
		return nil, err
	}
	allowed, err := c.allowance(plan)
	if err != nil {
		return nil, err
	}
	p, err := price(plan, allowed)
	var own *pgconn.PgError
	if errors.As(err, &own) {
		return nil, err
	}
	if err != nil {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "no mechanism answers this within the rules: "+err.Error(),
			pgerr.Hint("Ask for fewer aggregates or raise dpproxy.epsilon; if the mechanism is at fault, the administrator can change it in the policy."))
	}
	if p.epsilon > plan.EpsilonMax {
		return nil, pgerr.New(pgerr.InvalidParameterValue,
			fmt.Sprintf("this statement would cost epsilon %s; at most %s is allowed", number(p.epsilon), number(plan.EpsilonMax)),
			pgerr.Hint("SET dpproxy.epsilon to a smaller value, or ask for a wider dpproxy.margin."))
	}
	p.charge.Query, p.charge.Policy = c.sql, c.state.policy.Version
	return p, nil
}

// allowance is what the statement costs: SET dpproxy.epsilon or dpproxy.margin, else what the policy says.
func (c *call) allowance(plan *rewrite.Plan) (allowance, error) {
	p := c.state.policy
	a := allowance{epsilon: plan.Epsilon}
	if p.Accounting.Method == policy.RDP {
		a.delta = p.Accounting.Delta
		a.selectionDelta = ledger.ConfigOf(p).SelectionDelta(c.scope.Analyst)
	}
	if set := c.scope.Settings.Epsilon(); set > 0 {
		a.epsilon = set
	}
	if text := c.scope.Settings.Margin(); text != "" {
		wanted, err := parseMargin(text)
		if err != nil {
			return a, err
		}
		if a.epsilon, err = wanted.epsilonFor(plan, a); err != nil {
			return a, err
		}
	}
	return a, nil
}
