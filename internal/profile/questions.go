package profile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/lineage"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// question is one statement: what it asks, and what its answer says.
type question struct {
	table    *policy.Table
	column   string // empty: the table's rows
	kind     kind
	cut      string // of inGroupKind: the unit of time that the groups are cut to; empty: they are by value
	urgency  urgency
	fraction float64  // of the units that bounds are to hold
	sql      string   // with lowFraction and highFraction in place of what follows from fraction
	types    []uint32 // of the parameters
	values   [][]byte
	weight   float64 // its part of the price
	releases int     // of equal weight
	points   int     // of the finest grid among them
	cells    []grid  // of the columns of the answer
	signed   bool    // the column may be below 0
	number   bool    // its values can be added up
	one      bool    // a unit has one row
}

type kind int

const (
	unitsKind   kind = iota // how many units there are, at least
	rowsKind                // rows of a unit
	inGroupKind             // the most rows of a unit in one group by a column
	boundsKind              // least and greatest value of a unit, and its sum where a unit may have several rows
	valuesKind              // values that units have
	beyondKind              // what is beyond the bounds of units that were printed, at most
	excessKind              // rows of units in groups beyond what they count with there, at most
	outsideKind             // what is beyond the bounds of a column that were printed, at most
	totalKind               // what there is in all, at least
	othersKind              // how many units have other values than those that were found, at most
)

// urgency says what is asked first: nothing that comes later may take from it what it needs.
type urgency int

const (
	core    urgency = iota // rows of a unit, dates and money
	numbers                // other numbers, times of a day, and dates of the database's own
	texts
	groups // rows of a unit in one group: without them answers hold as well, with more noise
	urgencies
)

// Stands for fractions in the text of a question.
const lowFraction, highFraction = "{low}", "{high}"

// text is the statement.
func (q *question) text() string {
	digits := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	return strings.NewReplacer(lowFraction, digits(1-q.fraction), highFraction, digits(q.fraction)).Replace(q.sql)
}

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
	return fmt.Sprintf("(SELECT %s AS unit, %s FROM %s GROUP BY %s) AS u", s.unit, strings.Join(aggregates, ", "), s.from,
		s.unit)
}

// questionsOf lists what may be asked of a table for its bounds and domains.
// groups: of rows in one group, too.
func questionsOf(p *policy.Policy, s *rewrite.Schema, t *policy.Table, groups bool) []*question {
	var list []*question
	from, keys, one := sourceOf(p, t), keyColumns(p, s, t), oneRow(s, t)
	inGroups := func(column string, cuts ...string) {
		for _, cut := range cuts {
			if groups && !one {
				list = append(list, inGroupOf(t, column, cut, from))
			}
		}
	}
	if !one {
		q := &question{table: t, kind: rowsKind}
		q.quantile(highFraction, "n", rowsGrid(max(t.MaxRowsPerUnit, mostRows)))
		q.from(from.perUnit("count(*) AS n"))
		list = append(list, q)
	}
	for _, c := range t.Columns {
		relation := s.Relations[t.Name]
		if relation == nil || relation.Column(c.Name) == nil || keys[c.Name] || c.Valid != nil {
			continue
		}
		column, domain := relation.Column(c.Name), c.Values != nil || c.ValuesFrom != nil
		if domain {
			if !lineage.Telling(c.Name, false) { // hardly a group
				inGroups(c.Name, "")
			}
		} else if n := numberOf(s, column, c); n != nil {
			if !refers(s, relation, column) && !lineage.Telling(c.Name, false) {
				list = append(list, boundsOf(t, c, n, from, one))
				if n.few(c.Bounds) {
					inGroups(c.Name, "")
				}
			}
		} else if g, ok := timesOf(s, column); ok {
			q := timeOf(t, c, g, from, one)
			if list = append(list, q); q.urgency == core {
				inGroups(c.Name, "day", "month")
			}
		} else if isText(s, column) && c.OfOneUnit == nil && selects(p) && !foreign(relation, c.Name) &&
			!lineage.Telling(c.Name, true) {
			x := from.column(c.Name)
			list = append(list, &question{
				table: t, column: c.Name, kind: valuesKind, urgency: texts, weight: 1, releases: 1,
				sql: fmt.Sprintf("SELECT %s AS v FROM %s GROUP BY %s", x, from.from, x),
			})
		}
	}
	return list
}

// timeOf asks for the bounds of a time.
func timeOf(t *policy.Table, c *policy.Column, g grid, from source, one bool) *question {
	q := &question{table: t, column: c.Name, kind: boundsKind, one: one}
	if g.ends == nil || lineage.Says(c.Name, "update", "updated", "modified", "changed") {
		q.urgency = numbers
	}
	q.quantile(lowFraction, "low", g)
	q.quantile(highFraction, "high", g)
	x := from.column(c.Name)
	q.from(from.perUnit(g.compared("min("+x+")")+" AS low", g.compared("max("+x+")")+" AS high"))
	return q
}

// unitsOf asks how many units a table has, and how many have a value where one may be missing.
func unitsOf(p *policy.Policy, s *rewrite.Schema, t *policy.Table, of []*question) []*question {
	var list []*question
	from := sourceOf(p, t)
	add := func(column, value string) {
		list = append(list, &question{
			table: t, column: column, kind: unitsKind, weight: 1, releases: 1,
			sql: "SELECT dpproxy.interval_low(count(x)) AS q1 FROM " + from.perUnit(value+" AS x"),
		})
	}
	add("", "1")
	for _, q := range of {
		if q.column != "" && q.kind != inGroupKind && !s.Relations[t.Name].Column(q.column).NotNull {
			add(q.column, "max("+from.column(q.column)+")")
		}
	}
	return list
}

// money are words of names of columns that are sums of money.
var money = []string{
	"amount", "price", "cost", "salary", "income", "fee", "paid", "total", "balance", "charge",
	"revenue", "wage", "payment",
}

// selects reports whether there is a δ for partition selection.
func selects(p *policy.Policy) bool {
	return p.Accounting.Method != policy.Pure && p.Accounting.SelectionDeltaShare > 0
}

// boundsOf asks for the bounds of a number, and for those of a unit's sum.
func boundsOf(t *policy.Table, c *policy.Column, n *number, from source, one bool) *question {
	q := &question{table: t, column: c.Name, kind: boundsKind, signed: c.Bounds == nil ||
		strings.HasPrefix(c.Bounds.Lo, "-"), number: true, one: one}
	if !(n.exact && n.scale == 2) && !lineage.Says(c.Name, money...) {
		q.urgency = numbers
	}
	x, g := from.column(c.Name), numberGrid(n, 1)
	q.quantile(lowFraction, "low", g)
	q.quantile(highFraction, "high", g)
	aggregates := []string{"min(" + x + ") AS low", "max(" + x + ") AS high"}
	if !one {
		wider := numberGrid(n, 1000)
		if q.signed {
			q.quantile(lowFraction, "total", wider)
		}
		q.quantile(highFraction, "total", wider)
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
func (q *question) quantile(fraction, of string, g grid) {
	list := g.values
	switch {
	case fraction == highFraction:
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
	q.sql += fmt.Sprintf("percentile_disc(%s) WITHIN GROUP (ORDER BY width_bucket(%s, $%d)) AS q%d", fraction, of,
		len(q.types), len(q.types))
	q.releases++
	q.weight++
	q.points = max(q.points, len(list)+1)
	q.cells = append(q.cells, g)
}

// from completes the statement.
func (q *question) from(rows string) { q.sql = "SELECT " + q.sql + " FROM " + rows }

// Weights of what is asked at last. What is beyond a bound is a small number with noise that is wide beside it; totals
// are large.
const beyondWeight, outsideWeight, excessWeight, smallWeight = 2, 1, 0.5, 0.25

// later is what follows from the answer to a question at most, as a weight. Of a column that has values of both signs
// it is half as much again, which is taken from all that is asked at last.
func (q *question) later() float64 {
	weight := 0.0
	if q.kind == rowsKind || q.kind == boundsKind && len(q.cells) > 2 {
		weight += beyondWeight + smallWeight
	}
	switch {
	case q.kind == valuesKind:
		weight += smallWeight
	case q.kind == inGroupKind:
		weight += excessWeight
	case q.kind == boundsKind && q.number:
		weight += 2 * (outsideWeight + smallWeight)
	case q.kind == boundsKind && q.cells[0].ends != nil:
		weight += outsideWeight + smallWeight
	}
	return weight
}

// part is a number of a unit that is beyond bounds, and one of which it is a part, with the aggregates over its rows
// that these are of.
type part struct{ beyond, of, beyondRows, rows string }

// partsOf asks how much of each there is beyond at most, and in all at least.
func partsOf(asks question, from source, parts ...part) []*question {
	all := &question{table: asks.table, column: asks.column, kind: totalKind}
	var beyond, rows []string
	for i, p := range parts {
		beyond, rows = append(beyond, p.beyondRows), append(rows, p.rows)
		separator := ", "
		if i == 0 {
			separator = ""
		}
		asks.sql += fmt.Sprintf("%sdpproxy.interval_high(sum(%s)) AS q%d", separator, p.beyond, i+1)
		all.sql += fmt.Sprintf("%sdpproxy.interval_low(sum(%s)) AS q%d", separator, p.of, i+1)
	}
	asks.releases, all.releases = len(parts), len(parts)
	asks.weight, all.weight = asks.weight*float64(len(parts)), smallWeight*float64(len(parts))
	asks.from(from.perUnit(beyond...))
	all.from(from.perUnit(rows...))
	return []*question{&asks, all}
}

// beyond asks, of a table whose bounds are found, how much of its rows and sums is beyond them. A unit's number is cut
// at most times the bound, or at the bound, so that it has a sensitivity.
func beyond(p *policy.Policy, b bounded) []*question {
	from := sourceOf(p, b.table)
	var parts []part
	add := func(aggregate, bound string) {
		number := fmt.Sprintf("s%d", len(parts))
		parts = append(parts, part{
			fmt.Sprintf("least(greatest(%s - %s, 0), %s)", number, bound, times(bound, b.most-1)),
			fmt.Sprintf("least(greatest(%s, 0), %s)", number, bound),
			aggregate + " AS " + number, aggregate + " AS " + number,
		})
	}
	add("count(*)", b.rows)
	for _, c := range b.table.Columns {
		if bound, ok := b.sums[c.Name]; ok {
			add("sum("+from.column(c.Name)+")", bound)
		}
	}
	return partsOf(question{table: b.table, kind: beyondKind, weight: beyondWeight}, from, parts...)
}

// outsideOf asks, of a column whose bounds are found, how many of the rows with a value are beyond them, and of a
// number how much of its sum, of what is above 0 and of what is below, where the bounds have any (docs/privacy.md P29).
func outsideOf(p *policy.Policy, r ranged, rows string) []*question {
	from := sourceOf(p, r.table)
	x := from.column(r.column)
	parts := []part{{
		"least(o, " + rows + ")", "least(n, " + rows + ")",
		fmt.Sprintf("count(%[1]s) FILTER (WHERE %[1]s < '%[2]s' OR %[1]s > '%[3]s') AS o", x, r.low, r.high), "count(" + x +
			") AS n",
	}}
	// What is above is computed of sums: with a difference for each row main would do more than it may (docs/privacy.md
	// P22a).
	if r.sum != "" && sign(r.high) > 0 {
		parts = append(parts, part{
			fmt.Sprintf("least(greatest(e1 - %s * n1::numeric, 0), %s)", r.high, r.over), "least(s1, " + r.sum + ")",
			fmt.Sprintf("sum(greatest(%s, %s)) AS e1, count(*) AS n1", x, r.high), "sum(greatest(" + x + ", 0)) AS s1",
		})
	}
	if r.sum != "" && sign(r.low) < 0 {
		parts = append(parts, part{
			fmt.Sprintf("least(greatest(%s * n2::numeric - e2, 0), %s)", r.low, r.over), "least(s2, " + r.sum + ")",
			fmt.Sprintf("sum(least(%s, %s)) AS e2, count(*) AS n2", x, r.low), "sum(-least(" + x + ", 0)) AS s2",
		})
	}
	return partsOf(question{table: r.table, column: r.column, kind: outsideKind, weight: outsideWeight}, from, parts...)
}

// othersOf asks how many units have a value that is not on a list.
func othersOf(p *policy.Policy, at place, values []string) *question {
	from := sourceOf(p, at.table)
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	q := &question{table: at.table, column: at.column, kind: othersKind, weight: smallWeight, releases: 1}
	q.sql = fmt.Sprintf("SELECT dpproxy.interval_high(count(*)) AS q1 "+
		"FROM (SELECT %[1]s AS unit FROM %[2]s WHERE %[3]s NOT IN (%[4]s) GROUP BY %[1]s) AS u",
		from.unit, from.from, from.column(at.column), strings.Join(quoted, ", "))
	return q
}
