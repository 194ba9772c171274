package profile

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// question is one statement: what it asks, and what its answer says.
type question struct {
	table    *policy.Table
	column   string // empty: the table's rows
	kind     kind
	sql      string
	types    []uint32 // of the parameters
	values   [][]byte
	weight   float64 // its part of the price
	releases int     // of equal weight
	points   int     // of the finest grid among them
	cells    []grid  // of the columns of the answer
	signed   bool    // the column may be below 0
}

type kind int

const (
	unitsKind  kind = iota // how many units there are, at least
	rowsKind               // rows of a unit
	boundsKind             // least and greatest value of a unit, and its sum where a unit may have several rows
	valuesKind             // values that units have
	beyondKind             // what is beyond the bounds that the first phase printed
)

// source is a table with what leads from it to the unit (docs/privacy.md P2).
type source struct {
	from, unit string
	column     func(name string) string
}

// sourceOf follows the foreign keys of a table.
func sourceOf(p *policy.Policy, t *policy.Table) source {
	quoted := func(names ...string) string { return pgx.Identifier(names).Sanitize() }
	from, as := quoted(t.Name.Schema, t.Name.Relation)+" AS t", "t"
	at := t
	for n := 1; at.Unit.Via != nil; n++ {
		via, next := at.Unit.Via, fmt.Sprintf("j%d", n)
		from += fmt.Sprintf(" JOIN %s AS %s ON %s = %s", quoted(via.References.Schema, via.References.Relation), next,
			quoted(as, via.Column), quoted(next, via.ReferencesColumn))
		at, as = p.Table(via.References), next
	}
	return source{from, quoted(as, at.Unit.Column), func(name string) string { return quoted("t", name) }}
}

// perUnit is one row for each unit, with aggregates over its rows.
func (s source) perUnit(aggregates ...string) string {
	return fmt.Sprintf("(SELECT %s AS unit, %s FROM %s GROUP BY %s) AS u", s.unit, strings.Join(aggregates, ", "), s.from, s.unit)
}

// questionsOf lists what the first phase asks of a table.
func questionsOf(p *policy.Policy, s *rewrite.Schema, t *policy.Table, fraction float64) []*question {
	var list []*question
	from, keys, one := sourceOf(p, t), keyColumns(p, s, t), oneRow(s, t)
	add := func(q *question) { list = append(list, unitsOf(q, from), q) }
	if !one {
		q := &question{table: t, kind: rowsKind}
		q.quantile(fraction, "n", rowsGrid(max(t.MaxRowsPerUnit, mostRows)), true)
		q.from(from.perUnit("count(*) AS n"))
		add(q)
	}
	for _, c := range t.Columns {
		relation := s.Relations[t.Name]
		if relation == nil || relation.Column(c.Name) == nil || keys[c.Name] || c.Valid != nil {
			continue
		}
		column := relation.Column(c.Name)
		if n := numberOf(s, column, c); n != nil {
			if c.Values != nil || c.ValuesFrom != nil || refers(s, relation, column) {
				continue
			}
			add(boundsOf(t, c, n, from, one, fraction))
		} else if g, ok := timesOf(s, column); ok {
			q := &question{table: t, column: c.Name, kind: boundsKind}
			q.quantile(1-fraction, "low", g, false)
			q.quantile(fraction, "high", g, true)
			x := from.column(c.Name)
			q.from(from.perUnit(g.compared("min("+x+")")+" AS low", g.compared("max("+x+")")+" AS high"))
			add(q)
		} else if isText(s, column) && c.Values == nil && c.ValuesFrom == nil && c.OfOneUnit == nil && selects(p) {
			x := from.column(c.Name)
			list = append(list, &question{
				table: t, column: c.Name, kind: valuesKind, weight: 1, releases: 1,
				sql: fmt.Sprintf("SELECT %s AS v FROM %s GROUP BY %s", x, from.from, x),
			})
		}
	}
	return list
}

// unitsWeight is small: a count is off by less than the rank of a quantile of its price.
const unitsWeight = 0.25

// unitsOf asks how many units there are that a quantile is over.
func unitsOf(of *question, from source) *question {
	value := "1"
	if of.column != "" {
		value = "max(" + from.column(of.column) + ")"
	}
	return &question{
		table: of.table, column: of.column, kind: unitsKind, weight: unitsWeight, releases: 1,
		sql: "SELECT dpproxy.interval_low(count(x)) AS q1 FROM " + from.perUnit(value+" AS x"),
	}
}

// selects says whether there is a δ for partition selection.
func selects(p *policy.Policy) bool {
	return p.Accounting.Method != policy.Pure && p.Accounting.SelectionDeltaShare > 0
}

// boundsOf asks for the bounds of a number, and for those of a unit's sum.
func boundsOf(t *policy.Table, c *policy.Column, n *number, from source, one bool, fraction float64) *question {
	q := &question{table: t, column: c.Name, kind: boundsKind, signed: c.Bounds == nil || strings.HasPrefix(c.Bounds.Lo, "-")}
	x, g := from.column(c.Name), numberGrid(n, 1)
	q.quantile(1-fraction, "low", g, false)
	q.quantile(fraction, "high", g, true)
	aggregates := []string{"min(" + x + ") AS low", "max(" + x + ") AS high"}
	if !one {
		wider := numberGrid(n, 1000)
		if q.signed {
			q.quantile(1-fraction, "total", wider, false)
		}
		q.quantile(fraction, "total", wider, true)
		aggregates = append(aggregates, "sum("+x+")"+cast(n)+" AS total")
	}
	q.from(from.perUnit(aggregates...))
	return q
}

// cast makes a sum comparable with its grid.
func cast(n *number) string {
	if n.array == pgtype.Float8ArrayOID {
		return "::float8"
	}
	return "::numeric"
}

// quantile adds one to the statement: of the cells of a grid in which the values of the units lie.
func (q *question) quantile(fraction float64, of string, g grid, upper bool) {
	list := g.values
	switch {
	case upper:
		list = g.limits
	case g.floors != nil:
		list = g.floors
	}
	if g.array == pgtype.NumericArrayOID && (of == "low" || of == "high") {
		of += "::numeric"
	}
	q.types, q.values = append(q.types, g.array), append(q.values, literal(list))
	if q.sql != "" {
		q.sql += ", "
	}
	q.sql += fmt.Sprintf("percentile_disc(%.6g) WITHIN GROUP (ORDER BY width_bucket(%s, $%d)) AS q%d", fraction, of, len(q.types), len(q.types))
	q.releases++
	q.weight++
	q.points = max(q.points, len(list)+1)
	q.cells = append(q.cells, g)
}

// from completes the statement.
func (q *question) from(rows string) { q.sql = "SELECT " + q.sql + " FROM " + rows }

// beyondFactor is up to how many times a bound a unit counts where it is asked how much is beyond the bound.
const beyondFactor = 4

// beyond asks, of a table whose bounds are found, which part of its rows and sums is beyond them. A unit's number is cut at
// beyondFactor times the bound, so that it has a sensitivity.
func beyond(p *policy.Policy, t *policy.Table, rows string, sums map[string]string) *question {
	from := sourceOf(p, t)
	q := &question{table: t, kind: beyondKind}
	var outputs []string
	aggregates := []string{"count(*) AS n"}
	add := func(of, bound string) {
		wide := times(bound, beyondFactor)
		over := fmt.Sprintf("sum(least(greatest(%s - %s, 0), %s))", of, bound, times(bound, beyondFactor-1))
		all := fmt.Sprintf("sum(least(greatest(%s, 0), %s))", of, wide)
		outputs = append(outputs, "dpproxy.interval_high("+over+")", "dpproxy.interval_low("+all+")")
		q.releases += 2
		q.weight += 2
	}
	add("n", rows)
	for _, c := range t.Columns {
		if bound, ok := sums[c.Name]; ok {
			name := fmt.Sprintf("s%d", len(aggregates))
			aggregates = append(aggregates, "sum("+from.column(c.Name)+") AS "+name)
			add(name, bound)
		}
	}
	for i := range outputs {
		outputs[i] += fmt.Sprintf(" AS q%d", i+1)
	}
	q.sql = strings.Join(outputs, ", ")
	q.from(from.perUnit(aggregates...))
	return q
}
