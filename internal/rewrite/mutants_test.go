package rewrite_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Faults of nodes. Each gives another node where it has a place, else the node that it got.

func noUnitClamp(x query.Scalar) query.Scalar {
	if c, ok := x.(query.UnitClamp); ok {
		return c.X
	}
	return x
}

func widerUnitClamp(x query.Scalar) query.Scalar {
	if c, ok := x.(query.UnitClamp); ok {
		c.Lo, c.Hi = c.Lo-1, c.Hi+1
		return c
	}
	return x
}

// noWindow lets a unit count with all its rows, and its magnitudes add up to anything.
func noWindow(x query.Scalar) query.Scalar {
	switch v := x.(type) {
	case query.UnitRows:
		return v.Rows
	case query.UnitTotal:
		return v.X
	}
	return x
}

// moreInGroup lets a unit count with any number of its rows in one group.
func moreInGroup(x query.Scalar) query.Scalar {
	if v, ok := x.(query.UnitWeight); ok {
		v.Most = math.MaxInt32
		return v
	}
	return x
}

// boundInside bounds a unit in each of its groups by itself, as if below the join with the groups.
func boundInside(x query.Scalar) query.Scalar {
	switch v := x.(type) {
	case query.UnitRows:
		if v.All != nil {
			v.Upto, v.All = nil, nil
			return v
		}
	case query.UnitTotal:
		return query.UnitClamp{X: v.X, Lo: -v.Most, Hi: v.Most}
	}
	return x
}

// roundedUp rounds what a unit has in each of its groups away from 0.
func roundedUp(x query.Scalar) query.Scalar {
	switch v := x.(type) {
	case query.UnitRows:
		if v.All != nil {
			return query.F("CASE WHEN {} <= {} THEN {} ELSE ceil({} * {}::numeric / {})::int8 END", v.All, v.Most, v.Rows,
				v.Rows, v.Most, v.All)
		}
	case query.UnitTotal:
		return query.F("CASE WHEN {} <= {} THEN {} ELSE ({} * {}::numeric / {} + sign({}))::int8 END", v.Total, v.Most, v.X,
			v.X, v.Most, v.Total, v.X)
	}
	return x
}

// wholeWeight lets a unit weigh as much in each of its groups as in one alone.
func wholeWeight(x query.Scalar) query.Scalar {
	if _, ok := x.(query.SelectionWeight); ok {
		return query.Integer(query.WholeWeight)
	}
	return x
}

// fewerGroups leaves one of a unit's groups out of their number.
func fewerGroups(x query.Scalar) query.Scalar {
	if w, ok := x.(query.SelectionWeight); ok {
		w.Groups = query.F("GREATEST({} - 1, 1)", w.Groups)
		return w
	}
	return x
}

// perGroup adds up over one group of a unit what it has to add up over all.
func perGroup(x query.Scalar) query.Scalar {
	if o, ok := x.(query.Over); ok && len(o.Partition) == 1 && strings.HasPrefix(query.Key(o.Call), "sum(") {
		if c, ok := o.Partition[0].(query.Column); ok && c.Of.Label == "u" {
			o.Partition, o.Order = append(slices.Clone(o.Partition), c.Of.Column("s1")), nil
			return o
		}
	}
	return x
}

// ofRow reports whether a clamp is not the one that keeps totals within 2^62, which no database of the tests reaches.
func ofRow(x query.Scalar) (query.Clamp, bool) {
	c, ok := x.(query.Clamp)
	return c, ok && !query.Equal(c.Hi, query.Integer(bounds.MaxTotal))
}

// noClamp reads values as they are, also where a condition keeps those beyond bounds out of groups: it would hide the
// fault in keys.
func noClamp(x query.Scalar) query.Scalar {
	c, ok := ofRow(x)
	inside, isForm := x.(query.Form)
	switch {
	case isForm && slices.Equal(inside.Text, []string{"((", ") IS NOT TRUE)"}):
		return query.Raw("(true IS TRUE)") // ORDER BY takes no constant
	case !ok:
		return x
	case c.Within != nil:
		return c.Within
	}
	return c.X
}

// widerClamp is for numbers and dates: a day is one more than the day before.
func widerClamp(x query.Scalar) query.Scalar {
	c, ok := ofRow(x)
	if !ok {
		return x
	}
	wider := func(end query.Scalar, sign string) query.Scalar {
		text, raw := end.(query.Raw)
		if !raw || strings.Contains(string(text), "timestamp") || strings.Contains(string(text), "interval") ||
			strings.Contains(string(text), "time") {
			return end
		}
		return query.F("({} {} 1)", end, sign)
	}
	c.Lo, c.Hi = wider(c.Lo, "-"), wider(c.Hi, "+")
	return c
}

// noFirst keeps every row that a Pick has numbered: by its group, by its place in the group, or by either.
func noFirst(groups, rows bool) func(query.Scalar) query.Scalar {
	return func(x query.Scalar) query.Scalar {
		f, ok := x.(query.First)
		if !ok {
			return x
		}
		if group := f.Rank.Name == "pick_group" || f.Rank.Of.Label == "u"; group && groups || !group && rows {
			return query.Raw("TRUE")
		}
		return x
	}
}

func oneMore(x query.Scalar) query.Scalar {
	if f, ok := x.(query.First); ok {
		f.N++
		return f
	}
	return x
}

func unorderedPick(x query.Scalar) query.Scalar {
	if p, ok := x.(query.Pick); ok && !p.Groups {
		p.Order = nil
		return p
	}
	return x
}

// nobody is one value for all units.
const nobody = query.Raw("NULL::pg_catalog.int8")

func pickOverAll(x query.Scalar) query.Scalar {
	if p, ok := x.(query.Pick); ok {
		p.Partition = append([]query.Scalar{nobody}, p.Partition[1:]...)
		return p
	}
	return x
}

func windowOverAll(x query.Scalar) query.Scalar {
	if o, ok := x.(query.Over); ok {
		o.Partition = []query.Scalar{nobody}
		return o
	}
	return x
}

// windowWithTies drops the key of the rows behind the analyst's order.
func windowWithTies(x query.Scalar) query.Scalar {
	o, ok := x.(query.Over)
	if !ok || len(o.Order) < 2 || !isKey(o.Order[len(o.Order)-1]) {
		return x
	}
	o.Order = o.Order[:len(o.Order)-1]
	return o
}

// isKey reports whether an item of ORDER BY is a key of visits or of lab_results.
func isKey(x query.Scalar) bool {
	text := query.Key(x)
	return strings.HasSuffix(text, `."visit_id")`) || strings.HasSuffix(text, `."lab_id")`)
}

func unfilteredSum(x query.Scalar) query.Scalar {
	if a, ok := x.(query.Aggregate); ok && strings.HasPrefix(query.Key(a.Call), "sum(") {
		a.Where = nil
		return a
	}
	return x
}

func unfilteredCount(x query.Scalar) query.Scalar {
	if a, ok := x.(query.Aggregate); ok && query.Equal(a.Call, query.Raw("count(*)")) {
		a.Where = nil
		return a
	}
	return x
}

func unorderedFirst(s *query.Select) {
	if _, released := s.From.(*query.Function); s.DistinctOn != nil && !released { // rows of a stage are no unit's
		s.OrderBy = s.OrderBy[:len(s.OrderBy)-1]
	}
}

// oneUnit makes all rows those of one unit, where groups or rows of a unit are chosen: elsewhere a clamp bounds the sum
// of all rows as it does that of one unit's.
func oneUnit(s *query.Select) {
	d, ok := s.From.(*query.Derived)
	if !ok || !slices.ContainsFunc(s.Outputs, func(o query.Output) bool { _, pick := o.X.(query.Pick); return pick }) {
		return
	}
	below := query.Map{Query: func(q query.Query) query.Query {
		rows, ok := q.(*query.Select)
		if !ok || len(rows.Outputs) == 0 || rows.Outputs[0].Name != "u" {
			return q
		}
		if c, ok := rows.Outputs[0].X.(query.Column); ok && c.Of.Label != "" {
			return q // hands on what a level below gives
		}
		out := *rows
		out.Outputs = append([]query.Output{{X: nobody, Name: "u"}}, rows.Outputs[1:]...)
		return &out
	}}
	all := *d
	all.Query = topUnit(d.Query, below.Query)
	s.From = &all
}

// topUnit changes the uppermost query that gives the unit itself: those below may join by it.
func topUnit(q query.Query, change func(query.Query) query.Query) query.Query {
	s, ok := q.(*query.Select)
	if !ok {
		return q
	}
	if changed := change(s); changed != q {
		return changed
	}
	out := *s
	switch from := s.From.(type) {
	case *query.Derived:
		d := *from
		d.Query = topUnit(d.Query, change)
		out.From = &d
	case *query.Join: // with ordinals, on the right
		out.From = topUnitOfJoin(from, change)
	}
	return &out
}

func topUnitOfJoin(j *query.Join, change func(query.Query) query.Query) query.Source {
	out := *j
	switch left := j.Left.(type) {
	case *query.Join:
		out.Left = topUnitOfJoin(left, change)
	case *query.Derived:
		d := *left
		d.Query = topUnit(d.Query, change)
		out.Left = &d
	}
	return &out
}

func duplicates(s *query.Select) { s.Distinct = false }

func unionAll(q query.Query) query.Query {
	if o, ok := q.(*query.SetOp); ok {
		return &query.SetOp{Op: "UNION ALL", Of: o.Of}
	}
	return q
}

// joinsEveryValue numbers the values of a domain without making equal ones one.
func joinsEveryValue(q query.Query) query.Query {
	o, ok := q.(*query.Ordinals)
	if !ok {
		return q
	}
	v := query.Named("v")
	s := &query.Select{From: query.Unnest(v, o.Arrays, true)}
	for i, equality := range o.Equalities {
		name := fmt.Sprintf("k%d", i+1)
		s.Outputs = append(s.Outputs, query.Output{X: query.F("{}{}", v.Column(name), equality), Name: name})
	}
	s.Outputs = append(s.Outputs, query.Output{X: v.Column("o"), Name: "o"})
	return s
}

// everyGroup lets a row join all values of a domain.
func everyGroup(s query.Source) query.Source {
	j, ok := s.(*query.Join)
	if !ok {
		return s
	}
	if d, ok := j.Right.(*query.Derived); ok {
		if _, ok := d.Query.(*query.Ordinals); ok {
			out := *j
			out.On = joinedBy(nil)
			return &out
		}
	}
	return s
}

// unlimitedNumbers drops every condition on a row number.
func unlimitedNumbers(b *probed) bool {
	numbers := map[string]bool{} // keys of the columns that are one
	m := query.Map{
		Source: func(s query.Source) query.Source {
			d, ok := s.(*query.Derived)
			if !ok {
				return s
			}
			if rows, ok := d.Query.(*query.Select); ok {
				for _, o := range rows.Outputs {
					over, window := o.X.(query.Over)
					if window && strings.HasSuffix(query.Key(over.Call), "row_number()") || numbers[query.Key(o.X)] {
						numbers[query.Key(d.As.Column(o.Name))] = true
					}
				}
			}
			return s
		},
		Query: func(q query.Query) query.Query {
			s, ok := q.(*query.Select)
			if !ok {
				return q
			}
			out := *s
			out.Where = slices.DeleteFunc(slices.Clone(s.Where), func(x query.Scalar) bool { return boundsNumber(x, numbers) })
			return &out
		},
	}
	return nodes(m)(b)
}

// boundsNumber reports whether a condition compares a row number with a constant.
func boundsNumber(x query.Scalar, numbers map[string]bool) bool {
	operator, columns := comparison(x)
	return operator != "" && len(columns) == 1 && numbers[query.Key(columns[0])]
}
