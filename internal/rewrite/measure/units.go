package measure

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// units bounds what each unit adds to all groups together, where nothing proves it (docs/privacy.md P11, P12). Its
// query has a row for each unit in each group, with the integers s1… of ms and, where a unit may have more rows than it
// counts with, the rows that they are of.
type units struct {
	*builder
	ms      []release.Measurement
	counted query.Scalar // condition of the rows that count against the bound
	weighed bool         // a unit may have more such rows than it counts with
	rowsAt  int          // the column of their number
	totals  []int        // measurements whose magnitudes have to be added up over the unit's groups
}

// groupsOfUnits gives what groupsOf does where a unit may have several rows.
func (t *builder) groupsOfUnits(ms []release.Measurement) query.Query {
	u := &units{builder: t, ms: ms}
	u.plan()
	rows := ms
	if u.rowsAt == len(ms) {
		rows = append(rows[:len(rows):len(rows)], release.Measurement{Where: u.counted})
	}
	from := t.numbered(t.aggregated(append([]query.Output{t.unitOutput()}, t.keyOutputs()...), "s", rows),
		append([]string{"u"}, numbered("s", len(rows))...))
	columns := append(append([]string{"u"}, t.groupNames()...), numbered("s", len(rows))...)
	from, where := u.picked(from, columns)
	if windows := u.windows(); len(windows) > 0 {
		from = &query.Select{Outputs: append(named(unitsAlias, columns...), windows...), From: &query.Derived{
			Query: from, As: unitsAlias,
		}, Where: where}
		where = nil
	}
	if u.weighed {
		// The planner merges this level into the next, so that only those units are hashed that have too many rows.
		kept := append(named(unitsAlias, columns...), query.Output{X: u.kept(), Name: "n_kept"},
			query.Output{X: u.hash(), Name: "h"})
		if t.k.ManyGroupsPerUnit {
			if t.k.Weighs() {
				kept = append(kept, named(unitsAlias, "n_groups")...)
			}
			for _, i := range u.totals {
				kept = append(kept, named(unitsAlias, total(i))...)
			}
		}
		from = &query.Select{Outputs: kept, From: &query.Derived{Query: from, As: unitsAlias}, Where: where}
		where = nil
	}
	outputs := named(unitsAlias, t.groupNames()...)
	groups := len(outputs)
	if t.k.Selected {
		outputs = append(outputs, query.Output{X: u.number(), Name: "n"})
	}
	for i := range ms {
		outputs = append(outputs, query.Output{
			X:    query.F("COALESCE(sum({}), 0)", u.integer(i)),
			Name: fmt.Sprintf("m%d", i+1),
		})
	}
	return &query.Select{Outputs: outputs, From: &query.Derived{Query: from, As: unitsAlias}, Where: where, Groups: groups}
}

// plan finds out what has to be bounded. Rows count against the bound if an integer reads them that is bounded by rows.
func (u *units) plan() {
	k := u.k
	var conditions []query.Scalar
	every := k.Selected
	for i, m := range u.ms {
		if m.ByRows {
			u.weighed = u.weighed || !k.Source.Proven
			every = every || m.Where == nil
			conditions = append(conditions, m.Where)
		}
		shared := len(release.Together(u.ms, i)) > 1
		if m.Total && (k.ManyGroupsPerUnit || shared) && !(k.Source.Proven && m.Proven()) {
			u.totals = append(u.totals, i)
		}
	}
	u.weighed = u.weighed || k.Selected && k.ManyGroupsPerUnit && !k.Source.Proven
	if !every && len(conditions) > 0 {
		u.counted = query.Sorted(conditions)[0]
		if list := query.Sorted(conditions); len(list) > 1 {
			u.counted = query.F("({})", query.List{Between: " OR ", Of: list})
		}
	}
	u.rowsAt = slices.IndexFunc(u.ms, func(m release.Measurement) bool { return m.CountsRows(u.counted) })
	if u.rowsAt < 0 && u.weighed {
		u.rowsAt = len(u.ms)
	}
}

// picked keeps the groups that a unit counts in, where the policy bounds their number. The condition does it at the
// next level.
func (u *units) picked(from query.Query, columns []string) (query.Query, []query.Scalar) {
	if !u.k.PicksGroups {
		return from, nil
	}
	pick := query.Pick{Partition: []query.Scalar{unitsAlias.Column("u")}, Order: u.pickOrder(unitsAlias)}
	from = &query.Select{
		Outputs: append(named(unitsAlias, columns...), query.Output{X: pick, Name: "pick"}),
		From:    &query.Derived{Query: from, As: unitsAlias},
	}
	return from, []query.Scalar{query.First{Rank: unitsAlias.Column("pick"), N: u.k.MaxPartitionsContributed}}
}

// oneByOne is the frame of a running sum. Without it, groups that the order takes for equal would be added at once.
const oneByOne = query.Raw("ROWS UNBOUNDED PRECEDING")

// windows adds up over the groups of a unit: their number n_groups, its rows n_all, those up to a group n_upto, and
// totals t1….
func (u *units) windows() []query.Output {
	if !u.k.ManyGroupsPerUnit {
		return nil
	}
	unit := []query.Scalar{unitsAlias.Column("u")}
	over := func(x query.Scalar) query.Over {
		return query.Over{Call: query.F("sum({})", x), Partition: unit}
	}
	var out []query.Output
	if u.k.Weighs() {
		out = append(out, query.Output{X: query.Over{Call: query.Raw("count(*)"), Partition: unit}, Name: "n_groups"})
	}
	if u.weighed {
		all, upto := over(u.weight()), over(u.weight())
		upto.Order, upto.Frame = columns(unitsAlias, u.groupNames()), oneByOne
		out = append(out, query.Output{X: all, Name: "n_all"}, query.Output{X: upto, Name: "n_upto"})
	}
	for _, i := range u.totals {
		out = append(out, query.Output{X: over(u.magnitudes(i)), Name: total(i)})
	}
	return out
}

// magnitudes adds up what the bound on the i-th integer of a unit holds for, in one group. Several may be more than an
// int8 holds.
func (u *units) magnitudes(i int) query.Scalar {
	together := release.Together(u.ms, i)
	if len(together) == 1 {
		return query.F("pg_catalog.abs({})", u.column(i))
	}
	var all []query.Scalar
	for _, j := range together {
		all = append(all, query.F("pg_catalog.abs(({})::pg_catalog.numeric)", u.column(j)))
	}
	return query.List{Between: " + ", Of: all}
}

// total names the column of the magnitudes of the i-th integer in all groups of a unit.
func total(i int) string { return fmt.Sprintf("t%d", i+1) }

// column gives the column of the i-th integer.
func (u *units) column(i int) query.Column { return unitsAlias.Column(fmt.Sprintf("s%d", i+1)) }

// rows is the column of the rows of a unit in a group that count against the bound.
func (u *units) rows() query.Column { return u.column(u.rowsAt) }

// weight is what a group has of its unit's bound: its rows, or the most that count in one group, or 2^31-1 where there
// are more and the bound is less. A sum of int4 is several times as fast as one of int8.
func (u *units) weight() query.Scalar {
	switch {
	case u.k.MaxRowsPerGroup > 0:
		return query.UnitWeight{Rows: u.rows(), Most: u.k.MaxRowsPerGroup}
	case u.k.Source.MaxRowsPerUnit >= math.MaxInt32:
		return u.rows()
	}
	return query.UnitWeight{Rows: u.rows(), Most: math.MaxInt32}
}

// keptRows is the column of the rows that a unit counts with in a group.
var keptRows = unitsAlias.Column("n_kept")

// kept counts the rows of a unit in a group as many as it counts with.
func (u *units) kept() query.UnitRows {
	of := query.UnitRows{Rows: u.rows(), Most: u.k.Source.MaxRowsPerUnit, Hash: u.hash()}
	if u.k.ManyGroupsPerUnit {
		of.Rows, of.All, of.Upto = u.weight(), unitsAlias.Column("n_all"), unitsAlias.Column("n_upto")
	}
	return of
}

// hash prints a whole number ≥ 0 that the unit alone decides.
func (u *units) hash() query.Scalar {
	hash := u.hashed("hashtextextended", query.F("{}::pg_catalog.text", unitsAlias.Column("u")))
	return query.F("({} & 9223372036854775807)::pg_catalog.numeric", hash)
}

// number counts the units of a group, those that count there, or adds up their weights.
func (u *units) number() query.Scalar {
	n := query.Scalar(query.Raw("count(*)"))
	if u.k.Weighs() {
		n = query.F("sum({})", query.SelectionWeight{Groups: unitsAlias.Column("n_groups")})
	}
	if u.weighed && u.k.ManyGroupsPerUnit {
		n = query.Aggregate{Call: n, Where: query.F("{} > 0", keptRows)}
	}
	if u.k.Weighs() {
		n = query.F("COALESCE({}, 0)", n)
	}
	return n
}

// byRows prints the i-th integer of a unit in a group as of the rows that it counts with. A sum given its count is
// reduced as that count is, so that a mean of the unit's rows stays what it is.
func (u *units) byRows(i int) query.Scalar {
	m := &u.ms[i]
	if m.CountsRows(u.counted) {
		return keptRows
	}
	share := query.UnitShare{X: u.column(i), Rows: u.rows(), Kept: keptRows, Hash: unitsAlias.Column("h")}
	for _, j := range release.Together(u.ms, i) {
		if j < i && !m.Total && m.Counts() {
			share.Before = append(share.Before, u.column(j))
		}
	}
	if count, ok := m.Given(u.ms); ok {
		share.Rows, share.Kept = u.column(count), u.byRows(count)
	}
	return share
}

// integer prints the bounded i-th integer of a unit in a group.
func (u *units) integer(i int) query.Scalar {
	m := u.ms[i]
	x := query.Scalar(u.column(i))
	if u.weighed && m.ByRows {
		x = u.byRows(i)
	}
	switch {
	case slices.Contains(u.totals, i):
		total := query.Scalar(unitsAlias.Column(total(i)))
		if !u.k.ManyGroupsPerUnit {
			total = u.magnitudes(i)
		}
		most := u.k.Releases[m.Release].Total
		if x = (query.UnitTotal{X: x, Total: total, Most: most}); m.Most() < most {
			x = m.Clamped(x)
		}
		return x
	case u.weighed && m.ByRows && !m.Total && !m.Once:
		return x
	}
	return m.Clamped(x)
}
