package relation

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// mostRanges bounds the rows whose ranges are compared with each other, every one with every other.
const mostRanges = 2000

// matchCount asks for the most rows of a public relation that one row of a join can match together: they agree in the
// values that the join equates, and the ranges that it demands overlap at the beginning of one of them (docs/privacy.md
// P4e).
type matchCount struct {
	r      *Relation
	values []query.Scalar
	lo, hi query.Scalar // a row matches those of which it computes a value in [lo, hi); nil: any
	closed bool         // in [lo, hi]
}

// newMatchCount reads what the join demands of r and the others. Equalities in WHERE are among equated only.
func newMatchCount(r *Relation, equated map[*Column]bool, conds []*expr.Expr, others []*Relation) matchCount {
	a := matchCount{r: r}
	for _, c := range r.Columns {
		if equated[c] {
			a.values = append(a.values, c.Value.Ref)
		}
	}
	var limits []limit
	for _, c := range conds {
		for _, of := range expr.Comparisons(c) {
			for _, of := range []expr.Comparison{of, of.Mirrored()} {
				own, other := sources(of.Left), sources(of.Right)
				switch {
				case len(own) == 0 || len(other) == 0 || !within(own, r) || !within(other, others...) ||
					!expr.ComparedAs(of.Left, of.Right):
				case of.Name == "=":
					a.values = append(a.values, of.Left.SQL())
				case of.Name != "<>" && ordered(of.Left.Type()):
					limits = append(limits, limit{of.Name, of.Left, query.Key(of.Right.SQL())})
				}
			}
		}
	}
	a.values = query.Sorted(a.values)
	if r.Size() <= mostRanges {
		a.takeRange(limits)
	}
	return a
}

// limit is a condition: a value of a public row, compared with one that the other items compute.
type limit struct {
	name  string
	value *expr.Expr
	of    string // what it is compared with
}

// ordered says that < of a type is a total order, which its = belongs to.
func ordered(oid uint32) bool {
	return pgresolve.IsInt(oid) || pgresolve.IsTime(oid) && oid != pgtype.IntervalOID || oid == pgtype.NumericOID ||
		oid == pgtype.DateOID
}

// takeRange takes two limits of one value, from below and from above.
func (a *matchCount) takeRange(limits []limit) {
	for _, lo := range limits {
		for _, hi := range limits {
			if lo.name[0] != '<' || hi.name[0] != '>' || lo.of != hi.of || lo.value.Type() != hi.value.Type() {
				continue
			}
			a.lo, a.hi = lo.value.SQL(), hi.value.SQL()
			a.closed = lo.name == "<=" && hi.name == ">="
			return
		}
	}
}

// unconstrained says that all rows may match one.
func (a matchCount) unconstrained() bool { return len(a.values) == 0 && a.lo == nil }

// rows selects the values of the rows that may match any: v1, v2…, and the ends of their ranges.
func (a matchCount) rows() *query.Select {
	s := a.r.Select()
	add := func(x query.Scalar, name string) {
		s.Outputs = append(s.Outputs, query.Output{X: x, Name: name})
		s.Where = append(s.Where, query.F("(({}) IS NOT NULL)", x))
	}
	for i, x := range a.values {
		add(x, fmt.Sprintf("v%d", i+1))
	}
	if a.lo != nil {
		add(a.lo, "lo")
		add(a.hi, "hi")
	}
	return s
}

// counts selects, for all values and beginnings of ranges, the number of rows that match there.
func (a matchCount) counts() *query.Select {
	if a.lo == nil {
		s := a.rows()
		s.Groups = len(a.values)
		s.Outputs = append(s.Outputs, query.Output{X: query.Raw("count(*)"), Name: "n"})
		return s
	}
	at, all := query.Named("a"), query.Named("b")
	begins := a.rows()
	begins.Distinct, begins.Outputs = true, begins.Outputs[:len(a.values)+1]
	out := &query.Select{}
	var on []query.Scalar
	for i := range a.values {
		name := fmt.Sprintf("v%d", i+1)
		out.Outputs = append(out.Outputs, query.Output{X: at.Column(name)})
		on = append(on, Equals(all.Column(name), at.Column(name)))
	}
	before := "<"
	if a.closed {
		before = "<="
	}
	on = append(on, query.F("({} OPERATOR(pg_catalog.<=) {})", all.Column("lo"), at.Column("lo")),
		query.F("({} OPERATOR(pg_catalog.{}) {})", at.Column("lo"), before, all.Column("hi")))
	out.Outputs = append(out.Outputs, query.Output{X: at.Column("lo")})
	out.Groups = len(out.Outputs)
	out.Outputs = append(out.Outputs, query.Output{X: query.Raw("count(*)"), Name: "n"})
	out.From = &query.Join{Kind: "INNER", Left: &query.Derived{Query: begins, As: at}, Right: &query.Derived{
		Query: a.rows(), As: all,
	}, On: on}
	return out
}

// most selects the largest of these numbers; 0 where there are no rows.
func (a matchCount) most() query.Query { return a.of("COALESCE(max({}), 0)") }

// atMost asks whether it is at most n.
func (a matchCount) atMost(n int64) query.Query {
	return a.of(fmt.Sprintf("COALESCE(max({}), 0) <= %d", n))
}

func (a matchCount) of(form string) query.Query {
	g := query.Named("g")
	return &query.Select{Outputs: []query.Output{{X: query.F(form, g.Column("n"))}}, From: &query.Derived{
		Query: a.counts(), As: g,
	}}
}
