package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// A statement that repeats is bound from three caches: of its constants, its plan and its mechanisms. What is in them
// is shared and never changed. They live as long as the lists that plans are made with, and are dropped with them.

// calibratedPlan plans the statement with its values, and chooses a mechanism for each release.
func (c *call) calibratedPlan(ctx context.Context) (*calibrated, error) {
	defer c.engine.stage(ctx, "plan", time.Now())
	l, err := c.constants(ctx)
	if err != nil {
		return nil, err
	}
	plan, kept, err := c.planned(l)
	if err != nil {
		return nil, err
	}
	if !kept {
		return c.calibrate(ctx, plan)
	}
	key := choiceKey{
		plan, c.scope.Analyst, c.state.budgetKey(c.scope.Analyst), c.scope.Settings.Epsilon(),
		c.scope.Settings.Margin(),
	}
	if chosen, ok := c.state.lookups.choices.get(key); ok {
		return chosen, nil
	}
	chosen, err := c.calibrate(ctx, plan)
	if err == nil {
		c.state.lookups.choices.add(key, chosen)
	}
	return chosen, err
}

// choiceKey names everything that the mechanisms of a statement depend on: neither the ledger nor any row has a part in
// it.
type choiceKey struct {
	plan    *rewrite.Plan
	analyst string
	budget  string // its key
	epsilon float64
	margin  string
}

// constantsKey names what the shadow is asked for, and under which settings: those of the analysis.
type constantsKey struct {
	statement int64  // analysed.number
	values    string // of the parameters
}

// keptValues bounds the parameters of a statement whose constants are kept, bytes.
const keptValues = 1024

// constants asks the shadow for the values of the parameters and for what the analysis has foreseen, in one round trip.
// What cannot be answered so is asked on its own, where the plan needs it: an expression may fail that no plan would
// evaluate.
func (c *call) constants(ctx context.Context) (lookup, error) {
	l := lookup{
		ctx: ctx, state: c.state, settings: backendSettings(c.scope), call: c, asked: c.analysis.Constants(),
		literals: new(int),
	}
	parameters := backend.Parameters{Values: c.values, Formats: c.formats, Types: c.analysis.parameters}
	key, keep := c.constantsKey()
	if keep {
		if answers, ok := c.state.lookups.constants.Get(key); ok {
			l.answers = answers
			return l, nil
		}
	}
	var err error
	if l.answers, err = c.state.databases.Constants(ctx, parameters, l.asked, l.settings); err == nil {
		if keep {
			c.state.lookups.constants.Add(key, l.answers)
		}
		return l, nil
	}
	if len(l.asked.Literals)+len(l.asked.Expressions) == 0 || ctx.Err() != nil {
		return l, err
	}
	l.answers, err = c.state.databases.Constants(ctx, parameters, rewrite.Constants{}, l.settings)
	return l, err
}

// constantsKey says under which key constants are kept, and whether they are: what may read the clock is asked for each
// time.
func (c *call) constantsKey() (key constantsKey, keep bool) {
	var values strings.Builder
	for i, v := range c.values {
		if v == nil {
			values.WriteString("-")
			continue
		}
		if values.Len()+len(v) > keptValues || readsClock(c.analysis.parameters[i], string(v)) {
			return key, false
		}
		fmt.Fprintf(&values, "%d:%d:", backend.FormatAt(c.formats, i), len(v))
		values.Write(v)
	}
	return constantsKey{c.analysis.number, values.String()}, c.analysis.timeless
}

// timeless says that constants are the same at any time.
func timeless(asked rewrite.Constants) bool {
	return !slices.ContainsFunc(asked.Literals, func(l rewrite.Literal) bool { return readsClock(l.Type, l.Text) }) &&
		!slices.ContainsFunc(asked.Expressions, func(x rewrite.Expression) bool { return rewrite.MayReadClock(x.SQL) })
}

// readsClock says whether a value may be another at another time when a type's input function reads it.
func readsClock(oid uint32, value string) bool {
	switch oid {
	case pgtype.BoolOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID,
		pgtype.NumericOID, pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.UUIDOID:
		return false
	}
	return rewrite.MayReadClock(value)
}

// planKey names everything that a plan depends on, but the lists.
type planKey struct {
	statement int64             // analysed.number: under the settings of its own key
	values    [sha256.Size]byte // of lookup.key
	options   rewrite.Options
}

// planKeys is how many keys a plan may release that is kept.
const planKeys = 1000

// keepable says that a plan is small.
func keepable(p *rewrite.Plan) bool {
	keys := 0
	for i := range p.Blocks {
		keys += groups(&p.Blocks[i])
	}
	return keys <= planKeys
}

// planned takes the plan of the statement with these values from the cache, or makes it; kept says that it is there for
// the next one. A plan follows from the statement, the policy, the values, and the lists in lookups.
func (c *call) planned(l lookup) (plan *rewrite.Plan, kept bool, err error) {
	options := rewrite.Options{HashKey: c.state.secret, KeepsEmpty: c.keepsEmpty()}
	key := planKey{c.analysis.number, sha256.Sum256([]byte(l.key())), options}
	if plan, ok := c.state.lookups.plans.get(key); ok {
		return plan, true, nil
	}
	if plan, err = c.analysis.Plan(l.ctx, l.answers.Parameters, l, options); err != nil && c.analysis.reworded {
		err = rewrite.WithoutPosition(err)
	}
	if kept = err == nil && l.foreseen() && keepable(plan); kept {
		c.state.lookups.plans.add(key, plan)
	}
	return plan, kept, c.engine.reported(err, c.scope.Analyst)
}
