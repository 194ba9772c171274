package aggregate

import (
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

const (
	MaxSensitivity = 1 << 50   // grid steps; sums of 2^12 such units still fit
	fewSteps       = 1_000_000 // what no grid that nobody has given has less of within the bounds, as that of a float
	// released values are integers of grid steps; with such a step, or its inverse, all are finite as float8
	finestStep = 1e-280
)

// TooFine refuses an argument whose sums on the grid are too large, or whose grid is too fine, to be computed exactly.
func TooFine(name string) error {
	return refusal.New(refusal.Grid, fmt.Sprintf("the bounds of %s are too wide for its grid", name),
		pgerr.Hint("Narrow the bounds with LEAST and GREATEST, or ask the administrator for a coarser grid."))
}

// UnitBounds bounds one unit's sum in one group: rows × [min(0,lo), max(0,hi)], or less if the policy says so. 0 is
// among them, which a unit adds to a group where none of its rows count.
func UnitBounds(lo, hi, rows int64, perUnit *bounds.Interval) (int64, int64) {
	l, h := bounds.WideMul(min(0, lo), rows), bounds.WideMul(max(0, hi), rows)
	if perUnit != nil {
		l, h = min(0, max(l, bounds.FloorInt(perUnit.Lo))), max(0, min(h, bounds.CeilInt(perUnit.Hi)))
	}
	return l, h
}

// NotNull prints the condition that an argument is not NULL; nil where it never is.
func NotNull(e *expr.Expr) query.Scalar {
	if !e.Nullable() {
		return nil
	}
	if c := e.Column(); c != nil {
		return query.F("{} IS NOT NULL", c.Ref)
	}
	if m, err := expr.Measured(e, expr.GridRule{}); err == nil && m.Guard != nil {
		return m.Guard
	}
	return query.F("({} IS NOT NULL)", e.SQL())
}

// Argument is the integer form of an aggregated argument and what the policy says of it.
type Argument struct {
	*expr.Measure
	Policy  *policy.Column
	PerUnit *bounds.Interval  // in grid steps
	held    bounds.Interval   // of SQL, in grid steps: Lo and Hi, and more where a unit's numbers are read as they are
	valid   []bounds.Interval // ranges with gaps between them, for averages
}

// NewArgument makes the integer form of an argument. Where nobody has given a grid, and on that of the type it does not
// fit, it takes ten, a hundred, … times the type's step (docs/privacy.md P13b).
func NewArgument(b *relation.Base, src *relation.Relation, e *expr.Expr, fits func(*Argument) bool) (*Argument, error) {
	p := policyColumn(e)
	if b.Lookup == nil && e.Provisional() {
		// bounds come with the values
		return &Argument{
			Measure: &expr.Measure{SQL: query.Integer(0), Step: big.NewRat(1, 1), Hi: 1},
			held:    bounds.Between(0, 1),
		}, nil
	}
	grids := []*policy.Grid{}
	if p != nil {
		grids = append(grids, p.Grid)
	}
	for _, t := range src.Tables {
		if !t.Public {
			grids = append(grids, t.Grid)
		}
	}
	given := gridStep(BaseType(e), grids...)
	a, err := newArgument(b, e, p, expr.GridRule{Step: given, Foreign: b.Foreign(src)})
	for err == nil && given == nil && a.Hi-a.Lo > 10*fewSteps && !fits(a) {
		step := new(big.Rat).Mul(a.Step, big.NewRat(10, 1))
		a, err = newArgument(b, e, p, expr.GridRule{Step: step, Foreign: b.Foreign(src)})
	}
	if err != nil {
		return nil, err
	}
	if step, _ := a.Step.Float64(); step < finestStep || step > 1/finestStep {
		return nil, TooFine(e.Text())
	}
	return a, nil
}

// newArgument makes the integer form of an argument on a grid.
func newArgument(b *relation.Base, e *expr.Expr, p *policy.Column, rule expr.GridRule) (*Argument, error) {
	m, err := expr.Measured(e, rule)
	if err != nil {
		return nil, err
	}
	m.SQL = m.Unguarded // every use filters by guard(e)
	a := &Argument{Measure: m, Policy: p, held: bounds.Between(m.Lo, m.Hi)}
	if p == nil {
		return a, nil
	}
	origin := e.Column().Source.(*relation.Column).Origin
	declared := b.Schema.Column(origin.Table, origin.Column)
	if declared.PerUnit != nil {
		i := relation.RangeOf(*declared.PerUnit).Scale(new(big.Rat).Inv(m.Step))
		a.PerUnit = &i
	}
	for _, v := range declared.Valid {
		a.valid = append(a.valid, relation.RangeOf(v))
	}
	return a, nil
}

// FitsUnit reports whether the sums of one unit's rows are as small as those that are released have to be.
func (a *Argument) FitsUnit(rows int64) bool {
	lo, hi := UnitBounds(a.Lo, a.Hi, rows, a.PerUnit)
	return max(-lo, hi) <= MaxSensitivity/2 // of 2x − 2c
}

// exact reports whether no two values of the argument lie in one step of its grid.
func (a *Argument) exact(e *expr.Expr) bool {
	return e.Scale() >= 0 && a.Step.Cmp(bounds.Pow10(-e.Scale())) <= 0
}

// Gaps lists the open ranges between the policy's valid ranges, in the argument's units.
func (a *Argument) Gaps() []bounds.Interval {
	var out []bounds.Interval
	for i := 1; i < len(a.valid); i++ {
		out = append(out, bounds.Interval{Lo: a.valid[i-1].Hi, Hi: a.valid[i].Lo})
	}
	return out
}

// Decimal prints a grid constant exactly, as an operand: every step of expr is a decimal or a binary fraction.
func Decimal(x *big.Rat) string {
	if x.Sign() < 0 {
		return "(" + bounds.Decimal(x) + ")"
	}
	return bounds.Decimal(x)
}

// gridStep returns the first policy grid that fits a type, in the type's canonical units; nil where none does and the
// type decides.
func gridStep(oid uint32, grids ...*policy.Grid) *big.Rat {
	for _, g := range grids {
		switch {
		case g == nil:
		case g.Number != "":
			if r, ok := new(big.Rat).SetString(g.Number); ok && pgresolve.IsNumber(oid) {
				return r
			}
		case oid == pgtype.DateOID:
			return big.NewRat(max(1, int64(g.Duration/(24*time.Hour))), 1)
		case pgresolve.IsTime(oid):
			return big.NewRat(max(1, g.Duration.Microseconds()), 1)
		}
	}
	return nil
}
