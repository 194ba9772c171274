package estimate

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// What a statement computes of aggregates lies between what it computes of the ends of their intervals, where these
// hold all together: each of k is wrong in a k-th of what may be wrong (docs/mechanisms.md, section 8).

// span is what a number lies in.
type span struct{ lo, hi float64 }

func (s span) clamp(x float64) float64 { return math.Max(s.lo, math.Min(s.hi, x)) }

func (s span) within(o span) span { return span{o.clamp(s.lo), o.clamp(s.hi)} }

// most is how far it reaches from 0.
func (s span) most() float64 { return math.Max(math.Abs(s.lo), math.Abs(s.hi)) }

// combine spans what by makes of two numbers, which rises or falls with each of them.
func (s span) combine(o span, by func(a, b float64) float64) span {
	out := span{math.Inf(1), math.Inf(-1)}
	for _, a := range []float64{s.lo, s.hi} {
		for _, b := range []float64{o.lo, o.hi} {
			x := by(a, b)
			out = span{math.Min(out.lo, x), math.Max(out.hi, x)}
		}
	}
	return out
}

// estimate is a number with its interval.
type estimate struct {
	at float64
	span
}

// margin is how far the further end is off.
func (e estimate) margin() float64 { return math.Max(e.at-e.lo, e.hi-e.at) }

// computing computes formulas in one group, with what they may be.
type computing struct {
	Answer
	group int     // of the one block that has several
	part  float64 // that an aggregate has of what may be wrong
	null  bool    // an aggregate is NULL
}

// mostComputed bounds how often parts of a formula are computed.
const mostComputed = 1 << 20

// leaves are the aggregates that a formula is of, each once, and the block whose groups are its rows. ok: there is one,
// and nothing else that was released is in the formula.
func (a *Answer) leaves(f *rewrite.Formula) (list []*rewrite.Formula, block int, ok bool) {
	parts := 0
	other := f.Has(func(x *rewrite.Formula) bool {
		parts++
		switch x.Op {
		case rewrite.FormulaAggregate:
			if !slices.ContainsFunc(list, func(y *rewrite.Formula) bool { return reflect.DeepEqual(x, y) }) {
				list = append(list, x)
			}
		case rewrite.FormulaNumber:
		default:
			return len(x.Args) == 0 || x.Op == rewrite.FormulaRank
		}
		return false
	})
	if other || len(list) == 0 {
		return nil, 0, false
	}
	block, ok = a.rowsOf(list)
	return list, block, ok && parts*a.Blocks[block].Keys.Len() <= mostComputed
}

// rowsOf is the block whose groups are the rows of what is computed of some aggregates, any where they are of one group
// each; ok: there is one.
func (a *Answer) rowsOf(list []*rewrite.Formula) (block int, ok bool) {
	block = list[0].Block
	for _, x := range list {
		switch grouped := len(a.Plan.Blocks[x.Block].KeyTypes) > 0; {
		case !grouped || x.Block == block:
		case len(a.Plan.Blocks[block].KeyTypes) > 0:
			return 0, false
		default:
			block = x.Block
		}
	}
	return block, true
}

// value is a formula with its interval; whole: PostgreSQL computes it as an integer. Not ok: it is NULL, or nobody
// knows how far it may be off.
func (c *computing) value(f *rewrite.Formula) (e estimate, whole, ok bool) {
	switch f.Op {
	case rewrite.FormulaNumber:
		return estimate{f.Number, span{f.Number, f.Number}}, f.Integer, true
	case rewrite.FormulaAggregate:
		return c.aggregate(f)
	}
	var args []estimate
	all := true
	for _, x := range f.Args {
		arg, integer, ok := c.value(x)
		if !ok {
			return e, false, false
		}
		args, all = append(args, arg), all && integer
	}
	by := binary[f.Op]
	switch {
	case by == nil:
		return roundedBy(f.Op, args), f.Op == rewrite.FormulaWhole, true
	case f.Op == "/" && args[1].lo <= 0 && args[1].hi >= 0:
		return e, false, false
	}
	e = estimate{by(args[0].at, args[1].at), args[0].combine(args[1].span, by)}
	if f.Op == "/" && all {
		e = roundedBy("trunc", []estimate{e})
	}
	return e, all, true
}

// binary are the operators, each of which rises or falls with each of two numbers.
var binary = map[string]func(a, b float64) float64{
	"+": func(a, b float64) float64 { return a + b },
	"-": func(a, b float64) float64 { return a - b },
	"*": times,
	"/": func(a, b float64) float64 { return a / b },
}

func times(a, b float64) float64 { return a * b }

// roundedBy applies a function that does not fall: between the ends is what it makes of the truth, and the truth before
// that.
func roundedBy(op string, args []estimate) estimate {
	scale := 1.0
	if len(args) > 1 {
		scale = math.Pow10(int(args[1].at))
	}
	of := func(x float64) float64 {
		if by := rounding[op]; by != nil {
			return by(x*scale) / scale
		}
		return x
	}
	e := args[0]
	return estimate{of(e.at), span{math.Min(e.lo, of(e.lo)), math.Max(e.hi, of(e.hi))}}
}

var rounding = map[string]func(float64) float64{
	"trunc": math.Trunc, "floor": math.Floor, "ceil": math.Ceil, "round": math.Round, rewrite.FormulaWhole: math.Round,
}

// aggregate is one aggregate in its unit.
func (c *computing) aggregate(f *rewrite.Formula) (e estimate, whole, ok bool) {
	column, r, g := c.Plan.Blocks[f.Block].Columns[f.Column], c.Blocks[f.Block], c.group
	if len(c.Plan.Blocks[f.Block].KeyTypes) == 0 {
		g = 0
	}
	// its ends are drawn
	if len(column.Releases) == 0 || column.Choice || g >= r.Keys.Len() || c.part < 1 && c.isQuantile(f.Block, column) {
		return e, false, false
	}
	r.chosen = cmp.Or(r.chosen, 1) * c.part
	a := c.Aggregate(f.Block, column, r, g)
	c.null = c.null || a.Null
	return a.estimate(), slices.Contains([]uint32{pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID}, column.Type), a.Known
}

func (s *Statement) isQuantile(block int, c rewrite.Column) bool {
	return s.Plan.Blocks[block].Releases[c.Releases[0]].Kind == mechanism.Quantile
}

// computed says how far what is computed of aggregates may be off.
func (a *Answer) computed(f *rewrite.Formula) (out Margin) {
	list, block, ok := a.leaves(f)
	for _, x := range list {
		c := a.Plan.Blocks[x.Block].Columns[x.Column]
		ok = ok && isNumber(c.Type) && len(c.Releases) > 0 && !a.isQuantile(x.Block, c)
	}
	if !ok {
		return a.unknown()
	}
	out.Groups = a.Blocks[block].Keys.Len()
	for g := range out.Groups {
		c := &computing{Answer: *a, group: g, part: 1 / float64(len(list))}
		e, _, ok := c.value(f)
		out.add(e.margin(), ok, c.null)
	}
	return out
}

// isNumber says that an aggregate is a number without a unit of time.
func isNumber(oid uint32) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID, pgtype.Float4OID, pgtype.Float8OID:
		return true
	}
	return false
}
