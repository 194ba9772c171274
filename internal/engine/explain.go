package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// explanation answers EXPLAIN of a statement over private rows. Everything in it follows from the statement, the policy
// and what the analyst has done before; no private row has a part in it.
type explanation struct {
	Epsilon   float64       `json:"epsilon"`
	Delta     float64       `json:"delta"`                // of the partition selections
	Price     *priceInfo    `json:"price,omitempty"`      // nil: nothing is released
	Budget    *budgetInfo   `json:"budget,omitempty"`     // nil: Refused
	Averages  string        `json:"averages,omitempty"`   // how sums of averages with a margin are charged
	Look      string        `json:"look,omitempty"`       // what is charged first, and what decides about the rest
	Refused   string        `json:"refused,omitempty"`    // over budget, failed before, or too large for limits.memory
	Fits      string        `json:"still_fits,omitempty"` // Refused, and what would not be
	Cached    bool          `json:"cached"`
	Kept      string        `json:"kept,omitempty"`     // which other answers it follows from
	Workload  string        `json:"workload,omitempty"` // as what it is asked, and what all of its workload take
	Certified string        `json:"certified"`          // yes, or no where the policy warns of it only
	Releases  []releaseInfo `json:"releases"`
	Plan      []string      `json:"plan"`
	nothing   []string      // lines of the plan that the short explanation says, too
	LeftOut   string        `json:"left_out,omitempty"`     // which rows the answer leaves out
	Empty     string        `json:"empty_groups,omitempty"` // dropped or kept; of declared keys
	// groups of about fewer units are not shown; 0: keys are declared
	Selected int64       `json:"group_threshold,omitempty"`
	Groups   []string    `json:"groups,omitempty"` // hints
	Wide     string      `json:"wide,omitempty"`   // what is bounded by more than most values need
	Measure  []string    `json:"measure"`
	Blocks   []blockInfo `json:"blocks"`
	Finish   string      `json:"finish"`
}

// budgetInfo says what the statement would take of the analyst's budget as it is now.
type budgetInfo struct {
	Share  float64 `json:"share"`      // from 0 to 1
	Left   float64 `json:"share_left"` // before it
	Enough int     `json:"enough_for"` // such statements
	// Share is, and Enough at least, as it is charged in parts; if Enough is 0, Share is that of the first
	AtMost bool `json:"at_most,omitempty"`
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
func (c *call) bindExplain(ctx context.Context, as rewrite.Explain) (session.Bound, error) {
	if c.analysis.Refused != "" {
		o, err := c.bindOpen(ctx)
		if err != nil {
			return nil, err
		}
		return planned{o}, nil
	}
	if c.analysis.Route != rewrite.RoutePrivate {
		return c.explainOpen(as)
	}
	p, err := c.calibratedPlan(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.checkFinish(ctx, p.Plan); err != nil {
		return nil, err
	}
	if err := c.certified(p); err != nil {
		return nil, err
	}
	if err := c.checkMeasure(ctx, p); err != nil {
		return nil, err
	}
	x, err := c.explain(ctx, p, as.JSON)
	if err != nil {
		return nil, err
	}
	if !as.JSON {
		return explained{c, append([]string{"Private answer" + c.estimate(mostGroups(p.Plan))}, x.lines(as.Verbose)...)}, nil
	}
	text, err := json.MarshalIndent([]explanation{x}, "", "  ")
	if err != nil {
		return nil, err
	}
	return explained{c, []string{string(text)}}, nil
}

// explainOpen answers EXPLAIN of a statement that costs nothing.
func (c *call) explainOpen(as rewrite.Explain) (session.Bound, error) {
	about := "dpproxy: this statement reads nothing private"
	if c.analysis.Route == rewrite.RouteSynthetic {
		about = syntheticWarning
	}
	about += "; it costs no budget"
	if !as.JSON {
		return explained{c, []string{about + c.estimate(openRowsGuess)}}, nil
	}
	text, err := json.MarshalIndent([]openExplanation{{Reads: verdicts[c.analysis.Route], About: about}}, "", "  ")
	return explained{c, []string{string(text)}}, err
}

// openExplanation answers EXPLAIN (FORMAT JSON) of a statement that costs nothing.
type openExplanation struct {
	Epsilon float64 `json:"epsilon"` // 0
	Reads   string  `json:"reads"`   // synthetic, public or shadow
	About   string  `json:"about"`
}

// openRowsGuess is how many rows PostgreSQL expects of a function of which it knows nothing.
const openRowsGuess = 1000

// varlenaGuess is how wide PostgreSQL takes a value to be whose type has no length (get_typavgwidth, lsyscache.c).
const varlenaGuess = 32

// estimate ends the first line of EXPLAIN, as PostgreSQL does: postgres_fdw reads it there under use_remote_estimate,
// and pushes down what costs less. It costs nothing here, so that an aggregate is pushed down; width follows from the
// types.
func (c *call) estimate(rows int) string {
	width := 0
	for _, column := range c.analysis.answer {
		size := int(column.DataTypeSize)
		if size < 0 {
			size = varlenaGuess
		}
		width += size
	}
	return fmt.Sprintf("  (cost=0.00..0.00 rows=%d width=%d)", rows, width)
}

// mostGroups is how many groups the largest block has by its public keys; 1: it has none that are known before they are
// selected.
func mostGroups(plan *rewrite.Plan) int {
	rows := 1
	for i := range plan.Blocks {
		rows = max(rows, groups(&plan.Blocks[i]))
	}
	return rows
}

// explained implements session.Bound for EXPLAIN.
type explained struct {
	*call
	lines []string
}

// Bytes implements session.Sized.
func (e explained) Bytes() int {
	n := e.call.Bytes()
	for _, line := range e.lines {
		n += len(line)
	}
	return n
}

func (e explained) Execute(context.Context) (session.Rows, error) {
	defer e.leave()
	e.counted("explain")
	rows := session.NewStored(e.columns(), e.scope.Memory)
	for _, line := range e.lines {
		if err := rows.Add([][]byte{[]byte(line)}); err != nil {
			rows.Close()
			return nil, err
		}
	}
	rows.Complete("EXPLAIN")
	return rows, nil
}

// explain describes a statement; text has no use for densities.
func (c *call) explain(ctx context.Context, first *calibrated, densities bool) (explanation, error) {
	known := &private{call: c, calibrated: first}
	if err := known.findAnswer(ctx); err != nil {
		return explanation{}, err
	}
	p := first.withoutLook() // at the most that it may cost
	if known.from != nil {
		p = known.calibrated
	}
	x := explanation{
		Plan: p.Plan.Explain, nothing: p.Plan.OverNoRows, LeftOut: leftOut(p.Plan), Empty: emptyGroups(p.Plan),
		Groups: p.groupHints(), Wide: wideHint(p.Plan),
		Finish: p.Plan.Finish.SQL, Delta: p.charge.SelectionDelta, Kept: known.ofKept(),
	}
	if x.Certified = "yes"; first.certificate.Err() != nil {
		x.Certified = "no"
	}
	x.Selected, _ = p.threshold()
	if p.releases() {
		x.Epsilon, x.Price, x.Averages = p.charge.Epsilon, describePrice(p), p.ofAverages()
	}
	err := c.explainBudget(ctx, first, known.answer, &x)
	if err != nil {
		return x, err
	}
	if known.from == nil {
		x.Look = first.aboutLook()
	}
	if x.Workload, err = known.ofWorkload(ctx); err != nil {
		return x, err
	}
	for i, block := range p.Plan.Blocks {
		x.Blocks = append(x.Blocks, describeBlock(&block))
		if block.Measure.Text != "" {
			x.Measure = append(x.Measure, block.Measure.Text)
		}
		for _, h := range block.Histograms {
			x.Measure = append(x.Measure, h.Measure.Text)
		}
		if block.Select != nil {
			x.Releases = append(x.Releases, describeSelection(p, i))
		}
		for j := range block.Releases {
			info := describeRelease(p, i, j)
			if densities {
				info.Density = describeDensity(p, i, j)
			}
			x.Releases = append(x.Releases, info)
		}
	}
	return x, nil
}

// explainBudget says what the statement would take, and whether the answer is known. If it would be refused, it says
// why.
func (c *call) explainBudget(ctx context.Context, p *calibrated, answer []released, x *explanation) error {
	var refused *pgconn.PgError
	if exact, _ := workingMemory(p.Plan, answer); errors.As(c.scope.Memory.CanWork(exact), &refused) {
		x.Refused, x.Fits = refused.Message, refused.Hint
		return nil
	}
	x.Cached = answer != nil
	if x.Cached || !p.releases() {
		now, err := c.engine.ledger.Balance(ctx, c.scope.Analyst)
		x.Budget = &budgetInfo{Left: now.ShareLeft}
		return err
	}
	after, err := c.engine.ledger.Preview(ctx, c.scope.Analyst, []ledger.Charge{p.charge})
	if errors.As(err, &refused) && refused.Code != pgerr.IOError {
		x.Refused, x.Fits = refused.Message, c.affordable(ctx, p)
		return nil
	}
	if err != nil {
		return err
	}
	x.Budget = &budgetInfo{Share: after.Shares[0], Left: after.ShareLeft + after.Shares[0], Enough: after.Enough + 1}
	if p.look != nil || p.chargedInParts() {
		x.Budget.AtMost, x.Budget.Enough = true, 0
		after, err = c.engine.ledger.Preview(ctx, c.scope.Analyst, []ledger.Charge{p.mostCharge()})
		if err == nil { // else only the first part is sure to fit
			x.Budget.Share, x.Budget.Enough = after.Shares[0], after.Enough+1
		}
	}
	return nil
}

// dryCall is a statement that is not run.
func (e *Engine) dryCall(ctx context.Context, scope session.Scope, sql string) (*call, error) {
	statement, err := e.parseOne(sql)
	if err != nil {
		return nil, err
	}
	s := e.state.Load()
	a, err := e.analyse(ctx, s, scope, statement, nil, s.rewriteSettings(scope))
	return &call{engine: e, state: s, scope: scope, analysis: a, sql: sql}, err
}

// Certify is `dpproxy certify`: what is derived of each query for main, from its text and what it rests on alone.
// Nothing is charged or run.
func (e *Engine) Certify(ctx context.Context, scope session.Scope, sql string) ([]gate.Reading, error) {
	c, err := e.dryCall(ctx, scope, sql)
	if err != nil || c.analysis.Route != rewrite.RoutePrivate {
		return nil, err
	}
	p, err := c.calibratedPlan(ctx)
	if err != nil {
		return nil, err
	}
	return gate.Derived(gate.Facts(c.state.schema, p.Plan.Proofs), p.certificate.Readings()), nil
}

// Facts are what certify may take for granted of all tables, as main's catalogs are now.
func (e *Engine) Facts() certify.Facts { return gate.AllFacts(e.state.Load().schema) }

// Explain is `dpproxy explain`: the text that EXPLAIN (VERBOSE) would give to an analyst, without a ledger.
func (e *Engine) Explain(ctx context.Context, scope session.Scope, sql string) ([]string, error) {
	c, err := e.dryCall(ctx, scope, sql)
	if err != nil {
		return nil, err
	}
	bound, err := c.bindExplain(ctx, rewrite.Explain{Verbose: true})
	if err != nil {
		return nil, err
	}
	return bound.(explained).lines, nil
}

// planned is an EXPLAIN of a statement that would be refused, since it returns rows of private tables. Tools ask for
// the plan before they decide what to send, or read its costs: they get the shadow's, which has no rows, so that it
// follows from the schema alone.
type planned struct{ *open }

func (p planned) Execute(ctx context.Context) (session.Rows, error) {
	rows, err := p.open.Execute(ctx)
	if err != nil {
		return nil, err
	}
	return &plannedRows{Rows: rows, refused: "it would be refused: " + p.analysis.Refused}, nil
}

// plannedRows are the lines of a plan, and why the statement would be refused.
type plannedRows struct {
	session.Rows
	refused string // empty: it has been said
}

// Next implements session.Rows.
func (r *plannedRows) Next() ([][]byte, error) {
	row, err := r.Rows.Next()
	if errors.Is(err, io.EOF) && r.refused != "" {
		row, err, r.refused = [][]byte{[]byte(r.refused)}, nil, ""
	}
	return row, err
}
