package profile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// inGroup bounds the rows of a unit in one group by a column.
type inGroup struct {
	column, cut string // the unit of time that the groups are cut to; empty: they are by value
	rows        int64
}

// rowsInGroup is its key.
const rowsInGroup = "max_rows_per_unit_and_group"

// groupsWeight is less than that of what answers hold less without. It makes what else is found less exact by a few
// percent.
const groupsWeight = 0.25

// perGroup is one row for each unit and group by a column, with the number n of its rows there.
func (s source) perGroup(column, cut string) string {
	g := s.column(column)
	if cut != "" {
		g = fmt.Sprintf("date_trunc('%s', %s)", cut, g)
	}
	return fmt.Sprintf("(SELECT %s AS unit, %s AS g, count(*) AS n FROM %s GROUP BY 1, 2) AS d", s.unit, g, s.from)
}

// inGroupOf asks for the most rows of a unit in one group by a column.
func inGroupOf(t *policy.Table, column, cut string, from source) *question {
	q := &question{table: t, column: column, cut: cut, kind: inGroupKind, urgency: groups}
	q.quantile(highFraction, "n", rowsGrid(max(t.MaxRowsPerUnit, mostRows)))
	q.weight = groupsWeight
	q.from("(SELECT unit, max(n) AS n FROM " + from.perGroup(column, cut) + " GROUP BY unit) AS u")
	return q
}

// few reports whether bounds leave so few whole numbers that they may be groups.
func (n *number) few(bounds *policy.Bounds) bool {
	if !n.exact || n.scale != 0 || bounds == nil {
		return false
	}
	low, err := strconv.Atoi(bounds.Lo)
	high, err2 := strconv.Atoi(bounds.Hi)
	return err == nil && err2 == nil && high-low < mostValues
}

// takeInGroup keeps a bound that makes noise, which follows the root of both, clearly narrower.
func (f *findings) takeInGroup(at *answer, value string) {
	b := f.of(at.table)
	if b == nil {
		return
	}
	rows, _ := strconv.ParseInt(value, 10, 64) // a grid has no others
	if all, _ := strconv.ParseInt(b.rows, 10, 64); 2*rows >= all {
		f.remark(at.question, "no bound of the rows in one group: it would hardly make noise narrower")
		return
	}
	b.groups = append(b.groups, inGroup{at.column, at.cut, rows})
	if at.cut != "" {
		var cuts []string
		for _, g := range b.groups {
			if g.column == at.column {
				cuts = append(cuts, fmt.Sprintf("%s: %d", g.cut, g.rows))
			}
		}
		value = "{" + strings.Join(cuts, ", ") + "}"
	}
	f.result.Keys = slices.DeleteFunc(f.result.Keys, func(k policy.Key) bool { // that of fewer cuts
		return k.Table == at.table.Name && k.Column == at.column && k.Name == rowsInGroup
	})
	f.key(at.question, rowsInGroup, value, fmt.Sprintf("%.4g-quantile of the most rows of each %s in one group, %s",
		at.fraction, at.table.Unit.Name, ranks(at)))
}

// inForce are the bounds of the rows in one group that a table has with those that are found: those of a column are in
// place of what the policy declares of it.
func (b *bounded) inForce() []inGroup {
	list := slices.Clone(b.groups)
	for _, c := range b.table.Columns {
		if slices.ContainsFunc(b.groups, func(g inGroup) bool { return g.column == c.Name }) {
			continue
		}
		for _, cut := range slices.Sorted(maps.Keys(c.MaxRowsPerGroup)) {
			list = append(list, inGroup{c.Name, cut, int64(c.MaxRowsPerGroup[cut])})
		}
	}
	return list
}

// excessOf asks, of a table whose bounds are found, how many rows of units in one group are beyond each of those in
// force. A unit with more rows than the table's bound counts with so many that may be.
func excessOf(p *policy.Policy, b bounded) []*question {
	var list []*question
	for _, g := range b.inForce() {
		q := &question{
			table: b.table, column: g.column, cut: g.cut, kind: excessKind, weight: excessWeight, releases: 1,
			sql: fmt.Sprintf("dpproxy.interval_high(sum(least(e, %s))) AS q1", b.rows),
		}
		q.from(fmt.Sprintf("(SELECT unit, sum(greatest(n - %d, 0)) AS e FROM %s GROUP BY unit) AS u", g.rows,
			sourceOf(p, b.table).perGroup(g.column, g.cut)))
		list = append(list, q)
	}
	return list
}

// excess is the greatest share of a table's rows that is in groups beyond one of its bounds, at most; 1 if too little
// is known.
func (f *findings) excess(t *policy.Table, total *answer, answers []*answer) float64 {
	worst := 0.0
	for _, at := range answers {
		if at.kind != excessKind || at.table != t {
			continue
		}
		share := 1.0
		if at.Err == nil && total.Err == nil {
			share = shareOf(at.rows[0][0], total.rows[0][0])
		}
		worst = max(worst, share)
	}
	return worst
}
