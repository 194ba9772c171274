package rewrite

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// groupedRows plans a subquery that groups private rows by the unit, and perhaps by more: rows that are again one unit's each,
// with aggregates whose bounds the SQL enforces. Public rows may be grouped by anything.
func (b *builder) groupedRows(s *pg_query.SelectStmt, src *relation, e *env) (*relation, error) {
	sc := &scope{b: b, rel: src, env: e, outer: e.enclosing()}
	groups, err := b.groupNodes(s, sc)
	if err != nil {
		return nil, err
	}
	d := newDerived(b, src)
	c := newCut(b, sc, d.alias, groups)
	list, err := sc.targets(s.TargetList)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].col != nil {
			list[i].node = columnRef(list[i].col.table, list[i].col.name)
		}
		if list[i].node, err = c.node(list[i].node); err != nil {
			return nil, err
		}
	}
	having, err := c.node(s.HavingClause)
	if err != nil {
		return nil, err
	}
	inner, err := b.groupedSubselect(c, d, sc)
	if err != nil {
		return nil, err
	}
	if having != nil {
		hs := &scope{b: b, rel: inner, env: e}
		var conds []*expr.Expr
		for _, q := range conjuncts(having) {
			x, err := hs.condition(q)
			if err != nil {
				return nil, err
			}
			conds = append(conds, x)
		}
		inner.where = append(inner.where, expr.Conjuncts(conds...)...)
		inner.conds = append(inner.conds, conds...)
		inner.narrow()
	}
	out := &pg_query.SelectStmt{}
	for _, t := range list {
		out.TargetList = append(out.TargetList, &pg_query.Node{Node: &pg_query.Node_ResTarget{ResTarget: &pg_query.ResTarget{Name: t.name, Val: t.node}}})
	}
	r, err := b.project(out, inner, e)
	if err != nil {
		return nil, err
	}
	label := "group by " + src.kind
	if !src.private() {
		label = "group"
	}
	r.lines = append([]string{label + ", " + r.rowBound()}, indent(src.lines)...)
	return r, nil
}

// groupedSubselect prints SELECT unit, keys, aggregates … GROUP BY unit, keys.
func (b *builder) groupedSubselect(c *cut, d *derived, sc *scope) (*relation, error) {
	src := d.src
	perUnit := src.private()
	var grouping []string
	if src.private() {
		grouping = append(grouping, "1")
	}
	out := d.out
	out.max = src.max
	for i, n := range c.nodes {
		name := fmt.Sprintf("k%d", i+1)
		if col := sc.bare(n); col != nil {
			if err := d.passKey(col, name); err != nil {
				return nil, b.located(err, n)
			}
			perUnit = perUnit && col.perUnit
		} else {
			x, err := sc.expression(n)
			if err != nil {
				return nil, err
			}
			col, err := d.addKey(x, name)
			if err != nil {
				return nil, b.located(err, n)
			}
			perUnit = perUnit && col.perUnit
		}
		grouping = append(grouping, fmt.Sprint(len(d.outputs)))
	}
	keys := slices.Clone(out.cols)
	if len(c.intervals) > 0 || len(c.withins) > 0 {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "the rows of one person carry no noise", pgerr.Hint("Use dpproxy's functions on the released aggregates above."))
	}
	aggregate := b.unitAggregate
	if !src.private() {
		aggregate = b.publicAggregate
	}
	for i, f := range c.calls {
		call, err := b.newCall(f, sc)
		if err != nil {
			return nil, err
		}
		if err := aggregate(d, call, fmt.Sprintf("a%d", i+1), perUnit); err != nil {
			return nil, b.locatedCall(b.refusal(err), call)
		}
	}
	for _, col := range out.cols {
		col.table = d.alias
	}
	out.unique = []uniqueSet{{cols: keys}}
	out.order = []string{}
	for _, k := range keys {
		out.order = append(out.order, k.x.Ref)
	}
	if perUnit {
		out.rows, out.proven = 1, true
		if len(out.unitCols) > 0 {
			out.unique = append(out.unique, uniqueSet{cols: out.unitCols[:1]})
		}
	}
	for _, col := range out.cols {
		col.perUnit = col.perUnit || perUnit
	}
	d.inherit()
	text := src.selectText(d.outputs)
	if len(grouping) > 0 {
		text += " GROUP BY " + strings.Join(grouping, ", ")
	}
	out.from = "(" + text + ") AS " + d.alias
	return out, nil
}

// unitAggregate adds one aggregate over the rows of one unit in one group. Its bounds hold because the SQL clamps.
func (b *builder) unitAggregate(d *derived, c *call, name string, perUnit bool) error {
	x := &expr.Column{Name: c.text, Type: c.typ, Typmod: -1, TypeName: typeName(c.typ), Enforced: true, Scale: -1, DeterministicCollation: true}
	rows := d.src.rows
	least := int64(0)
	var sql string
	var origin policy.ColumnOf
	switch c.name {
	case "count":
		condition := c.condition()
		inner := "*"
		if !c.star {
			condition = c.condition(guard(c.args[0]))
		}
		if c.distinct {
			inner = "DISTINCT " + c.args[0].SQL()
		}
		if condition == "" {
			least = 1
		}
		sql = fmt.Sprintf("LEAST(count(%s)%s, %d)", inner, filterText(condition), rows)
		x.Bounds, x.Scale = expr.Between(least, rows), 0
	case "sum", "avg":
		if err := b.unitSum(d, c, x, &sql); err != nil {
			return err
		}
	case "min", "max":
		e := c.args[0]
		condition := c.condition(guard(e))
		arg, err := spelledAlike(e.SQL(), e.AsColumn("", e.Text()))
		if err != nil {
			return err
		}
		x.Bounds, x.Nullable, x.Scale = e.Bounds(), condition != "", e.Scale()
		x.Enforced = e.Column() == nil || e.Column().Enforced
		x.TypeName = e.TypeName()
		if source := sourceOf(e); source != nil {
			origin = source.origin // the value is that of one of the rows
		}
		sql = fmt.Sprintf("%s(%s)%s", c.name, arg, filterText(condition))
	case "bool_and", "bool_or":
		x.Nullable = true
		sql = fmt.Sprintf("%s(%s)%s", c.name, c.args[0].SQL(), filterText(c.condition()))
	default:
		return pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%s is not supported inside a per-%s subquery", c.name, d.src.kind), pgerr.Hint("Use count, sum, avg, min, max, bool_and or bool_or there."))
	}
	x.Ref = d.output(sql)
	n := &column{name: name, x: x, origin: origin, perUnit: perUnit}
	x.Source = n
	d.out.cols = append(d.out.cols, n)
	return nil
}

// unitSum prints a sum or mean of grid-rounded integers (PRIVACY 7), clamped to what the row bound allows.
func (b *builder) unitSum(d *derived, c *call, x *expr.Column, sql *string) error {
	e := c.args[0]
	k := &block{src: d.src}
	a, err := b.measure(k, e)
	if err != nil {
		return err
	}
	condition := c.condition(guard(e))
	x.Nullable = condition != ""
	if c.name == "avg" {
		x.Bounds = expr.Interval{Lo: scaled(a.Step, a.Lo), Hi: scaled(a.Step, a.Hi)}
		mean := fmt.Sprintf("(sum(%s)%s)::numeric * %s / NULLIF(count(*)%s, 0)", a.SQL, filterText(condition), decimal(a.Step), filterText(condition))
		*sql = numberAs(c.typ, mean, x.Bounds)
		return nil
	}
	lo, hi := unitClamp(a.Lo, a.Hi, d.src.rows, a.perUnit, 1)
	x.Bounds = expr.Interval{Lo: scaled(a.Step, lo), Hi: scaled(a.Step, hi)}
	if a.Step.IsInt() {
		x.Scale = 0
	} else if digits, exact := a.Step.FloatPrec(); exact {
		x.Scale = digits
	}
	*sql = numberAs(c.typ, fmt.Sprintf("(sum(%s)%s)::numeric * %s", a.SQL, filterText(condition), decimal(a.Step)), x.Bounds)
	return nil
}

func scaled(step *big.Rat, n int64) *big.Rat { return new(big.Rat).Mul(step, big.NewRat(n, 1)) }

// numberAs clamps a numeric and casts it; NULL stays NULL.
func numberAs(typ uint32, value string, bounds expr.Interval) string {
	clamped := fmt.Sprintf("CASE WHEN (%s) IS NOT NULL THEN LEAST(GREATEST(%s, %s), %s) END", value, value, decimal(bounds.Lo), decimal(bounds.Hi))
	switch typ {
	case pgtype.Int8OID:
		return "(" + clamped + ")::pg_catalog.int8"
	case pgtype.Float4OID:
		return "(" + clamped + ")::pg_catalog.float4"
	case pgtype.Float8OID:
		return "(" + clamped + ")::pg_catalog.float8"
	case pgtype.IntervalOID:
		return "((" + clamped + ")::pg_catalog.float8 * pg_catalog.make_interval(secs => 0.000001))"
	}
	return clamped
}

// typeName prints a result type of an aggregate.
func typeName(oid uint32) string {
	names := map[uint32]string{
		pgtype.Int2OID: "int2", pgtype.Int4OID: "int4", pgtype.Int8OID: "int8", pgtype.NumericOID: "numeric", pgtype.Float4OID: "float4", pgtype.Float8OID: "float8",
		pgtype.IntervalOID: "interval", pgtype.DateOID: "date", pgtype.TimestampOID: "timestamp", pgtype.TimestamptzOID: "timestamptz", pgtype.BoolOID: "bool", pgtype.TextOID: "text", pgtype.TimeOID: "time",
	}
	return "pg_catalog." + names[oid]
}
