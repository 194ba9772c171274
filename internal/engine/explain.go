package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// explanation answers EXPLAIN of a statement over private rows. Everything in it follows from the statement, the policy and
// what the analyst has done before; no private row has a part in it.
type explanation struct {
	Epsilon  float64       `json:"epsilon"`
	Delta    float64       `json:"delta"`
	Left     *float64      `json:"epsilon_left_after,omitempty"` // nil: Refused
	Refused  string        `json:"refused,omitempty"`            // by the ledger: over budget, or failed before
	Cached   bool          `json:"cached"`
	Releases []releaseInfo `json:"releases"`
	Plan     []string      `json:"plan"`
	LeftOut  string        `json:"left_out,omitempty"` // which rows the answer leaves out
	Measure  []string      `json:"measure"`
	Blocks   []blockInfo   `json:"blocks"`
	Finish   string        `json:"finish"`
}

type releaseInfo struct {
	Name        string                `json:"name"`
	Kind        mechanism.Kind        `json:"kind"`
	Epsilon     float64               `json:"epsilon"`
	Sensitivity float64               `json:"sensitivity"` // in the value's own units
	Groups      int                   `json:"groups_per_unit"`
	Range       string                `json:"valid_range"`
	Mechanism   string                `json:"mechanism"`
	Scale       float64               `json:"scale"`
	Margin      *float64              `json:"margin,omitempty"` // nil: depends on a released count, or there is none
	Candidates  []mechanism.Candidate `json:"candidates,omitempty"`
	uses        []int
}

// explainColumns describes EXPLAIN's result.
func explainColumns(e *rewrite.Explain) []pgconn.FieldDescription {
	oid := uint32(pgtype.TextOID)
	if e.JSON {
		oid = pgtype.JSONOID
	}
	return []pgconn.FieldDescription{{Name: "QUERY PLAN", DataTypeOID: oid, DataTypeSize: -1, TypeModifier: -1}}
}

// bindExplain answers EXPLAIN: nothing is charged, and main parses what it would run.
func (c *call) bindExplain(ctx context.Context, asJSON bool) (session.Bound, error) {
	if c.analysis.Route != rewrite.RoutePrivate {
		return explained{c, []string{"dpproxy: this statement reads nothing private; it costs no budget"}}, nil
	}
	p, err := c.calibratedPlan(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.checkMeasure(ctx, p); err != nil {
		return nil, err
	}
	x, err := c.explain(ctx, p)
	if err != nil {
		return nil, err
	}
	if !asJSON {
		return explained{c, x.lines()}, nil
	}
	text, err := json.MarshalIndent([]explanation{x}, "", "  ")
	if err != nil {
		return nil, err
	}
	return explained{c, []string{string(text)}}, nil
}

// explained implements session.Bound for EXPLAIN.
type explained struct {
	*call
	lines []string
}

func (e explained) Execute(context.Context) (session.Rows, error) {
	e.engine.metrics.Statement("explain")
	rows := session.NewStored(e.columns())
	for _, line := range e.lines {
		rows.Add([][]byte{[]byte(line)})
	}
	rows.Complete("EXPLAIN")
	return rows, nil
}

func (c *call) explain(ctx context.Context, p *calibrated) (explanation, error) {
	x := explanation{Plan: p.plan.Explain, LeftOut: leftOut(p.plan), Finish: p.plan.Finish.SQL}
	if p.releases() {
		x.Epsilon = p.epsilon
	}
	if x.Epsilon > 0 && c.state.policy.Accounting.Method == policy.RDP {
		x.Delta = c.state.policy.Accounting.Delta
	}
	if err := c.explainBudget(ctx, p, &x); err != nil {
		return x, err
	}
	budget := c.state.policy.Analysts[c.scope.Analyst].Budget
	for i, block := range p.plan.Blocks {
		x.Blocks = append(x.Blocks, describeBlock(&block))
		if block.Measure.Text != "" {
			x.Measure = append(x.Measure, block.Measure.Text)
		}
		for _, h := range block.Histograms {
			x.Measure = append(x.Measure, h.Measure.Text)
		}
		if block.Select != nil {
			x.Releases = append(x.Releases, describe(*block.Select, p.blocks[i].selection, budget))
		}
		for j, r := range block.Releases {
			x.Releases = append(x.Releases, describe(r, p.blocks[i].releases[j], budget))
		}
	}
	return x, nil
}

// explainBudget says what would be left, and whether the answer is known. If the ledger would refuse the statement, it says why.
func (c *call) explainBudget(ctx context.Context, p *calibrated, x *explanation) error {
	answer, err := c.storedAnswer(ctx, c.answerKey(p))
	if err != nil {
		return err
	}
	x.Cached = answer != nil && c.state.policy.AnswersTTL > 0
	var after ledger.Balance
	if x.Cached || !p.releases() {
		after, err = c.engine.ledger.Balance(ctx, c.scope.Analyst)
	} else {
		after, err = c.engine.ledger.Preview(ctx, c.scope.Analyst, []ledger.Charge{p.charge})
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code != pgerr.IOError {
		x.Refused = refused.Message
		return nil
	}
	x.Left = &after.EpsilonLeft
	return err
}

func describe(r mechanism.Release, p *mechanism.Prepared, budget policy.Budget) releaseInfo {
	step := r.Grid.Step
	if step == 0 {
		step = 1
	}
	info := releaseInfo{
		Name: r.Name, Kind: r.Kind, Epsilon: p.Epsilon(), Sensitivity: float64(r.Sensitivity) * step, Groups: max(r.Groups, 1),
		Range: rangeText(r, step),
	}
	switch r.Kind {
	case mechanism.Selection:
		half, always := p.SelectThreshold()
		info.Mechanism = fmt.Sprintf("partition selection: a group of %d units appears with probability 1/2, one of %d always", half, always)
		return info
	case mechanism.Quantile:
		info.Mechanism = "exponential mechanism on ranks"
		return info
	}
	chosen := p.Chosen()
	info.Mechanism, info.Scale = string(chosen.Noise)+" "+string(chosen.Bounding), chosen.Scale*step
	info.Candidates = p.Candidates()
	for _, candidate := range info.Candidates {
		info.uses = append(info.uses, candidate.Uses(budget.Epsilon, budget.Delta))
	}
	if r.Kind == mechanism.Scalar {
		margin := p.PlannedMargin() * step
		info.Margin = &margin
	}
	return info
}

// rangeText prints the valid range in the value's own units.
func rangeText(r mechanism.Release, step float64) string {
	if r.Kind == mechanism.Selection {
		return "groups with enough units"
	}
	end := func(z int64) string {
		switch z {
		case mechanism.NoLower:
			return "-∞"
		case mechanism.NoUpper:
			return "∞"
		}
		return strconv.FormatFloat(r.Grid.Origin+step*float64(z), 'g', 15, 64)
	}
	if r.Kind == mechanism.SumGivenCount {
		return fmt.Sprintf("[n·%s, n·%s], n the released count", number(step*float64(r.PerRow.Lo)), number(step*float64(r.PerRow.Hi)))
	}
	text := ""
	for i, v := range r.Range {
		if i > 0 {
			text += " ∪ "
		}
		text += "[" + end(v.Lo) + ", " + end(v.Hi) + "]"
	}
	return text
}

// lines prints the explanation.
func (x explanation) lines() []string {
	out := []string{"epsilon: " + number(x.Epsilon)}
	if x.Delta > 0 {
		out[0] += ", delta: " + number(x.Delta)
	}
	if x.Left != nil {
		out = append(out, "epsilon left after it: "+number(*x.Left))
	}
	if x.Refused != "" {
		out = append(out, "it would be refused: "+x.Refused)
	}
	if x.Cached {
		out = append(out, "cached: the answer is known and would cost nothing")
	}
	for _, r := range x.Releases {
		out = append(out, "release: "+r.Name,
			"its epsilon: "+number(r.Epsilon),
			fmt.Sprintf("sensitivity: %s in each of at most %d groups per unit", number(r.Sensitivity), r.Groups),
			"valid range: "+r.Range,
			"mechanism: "+r.mechanismLine())
		switch {
		case r.Margin != nil:
			out = append(out, "margin: ±"+number(*r.Margin)+" (95%)")
		case r.Kind == mechanism.SumGivenCount:
			out = append(out, "margin: follows from the released values")
		}
		for i, c := range r.Candidates {
			out = append(out, fmt.Sprintf("  considered: %s %s, rmse %s steps, budget for %d such releases", c.Noise, c.Bounding, number(c.RMSEAverage), r.uses[i]))
		}
	}
	out = append(out, "plan:")
	for _, line := range x.Plan {
		out = append(out, "  "+line)
	}
	for i, block := range x.Blocks {
		out = append(out, fmt.Sprintf("work of block %d: at most %d steps for the rows of one unit", i+1, block.Steps))
	}
	if x.LeftOut != "" {
		out = append(out, "left out: "+x.LeftOut)
	}
	return out
}

func (r releaseInfo) mechanismLine() string {
	if r.Scale == 0 {
		return r.Mechanism
	}
	return fmt.Sprintf("%s, scale %s", r.Mechanism, number(r.Scale))
}

// Explain is `dpproxy explain`: the text that EXPLAIN would give to an analyst, without a ledger.
func (e *Engine) Explain(ctx context.Context, scope session.Scope, sql string) ([]string, error) {
	statement, err := e.parseOne(sql)
	if err != nil {
		return nil, err
	}
	s := e.state.Load()
	a, err := e.analyse(ctx, s, scope, statement.statement, nil)
	if err != nil {
		return nil, err
	}
	c := &call{engine: e, state: s, scope: scope, analysis: a, sql: sql}
	bound, err := c.bindExplain(ctx, false)
	if err != nil {
		return nil, err
	}
	return bound.(explained).lines, nil
}
