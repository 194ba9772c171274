package rewrite_test

import (
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Faults of how rows find their unit, and each other.

// isPresence reports whether a condition asks whether something is not NULL as relation does for units, without
// parentheses around it or, for a full join, with a COALESCE; of units that can be NULL.
func isPresence(x query.Scalar) bool {
	f, ok := x.(query.Form)
	if !ok || len(f.Of) != 1 {
		return false
	}
	of, nested := f.Of[0].(query.Form)
	c, column := f.Of[0].(query.Column)
	return f.Text[0] == "" && f.Text[1] == " IS NOT NULL" && column && c.Name != `"id"` && c.Name != `"staff_id"` ||
		f.Text[0] == "(" && f.Text[1] == " IS NOT NULL)" && nested && strings.HasPrefix(of.Text[0], "COALESCE(")
}

func unitlessRows(q query.Query) query.Query {
	s, ok := q.(*query.Select)
	if !ok {
		return q
	}
	out := *s
	out.Where = slices.DeleteFunc(slices.Clone(s.Where), isPresence)
	return &out
}

func unitlessJoin(s query.Source) query.Source {
	j, ok := s.(*query.Join)
	if !ok {
		return s
	}
	out := *j
	out.On = joinedBy(slices.DeleteFunc(slices.Clone(j.On), isPresence))
	return &out
}

// joinedBy is what stands behind ON: at least one condition.
func joinedBy(on []query.Scalar) []query.Scalar {
	if len(on) == 0 {
		return []query.Scalar{query.Raw("TRUE")}
	}
	return on
}

// halfUnit takes the unit of a full join from one side alone.
func halfUnit(s *query.Select) {
	for i, o := range s.Outputs {
		if f, ok := o.X.(query.Form); ok && o.Name == "u" && f.Text[0] == "COALESCE(" {
			s.Outputs[i].X = f.Of[0]
		}
	}
}

// comparison takes a condition apart that is one operator: its name, and the columns that it compares.
func comparison(x query.Scalar) (operator string, columns []query.Column) {
	_, rest, found := strings.Cut(query.Key(x), "OPERATOR(pg_catalog.")
	if !found || strings.Contains(rest, "OPERATOR(") {
		return "", nil
	}
	query.Map{Scalar: func(x query.Scalar) query.Scalar {
		if c, ok := x.(query.Column); ok {
			columns = append(columns, c)
		}
		return x
	}}.OfScalar(x)
	operator, _, _ = strings.Cut(rest, ")")
	return operator, columns
}

// isEquality reports whether a condition equates columns of two FROM items.
func isEquality(x query.Scalar) bool {
	operator, columns := comparison(x)
	return operator == "=" && len(columns) == 2 && columns[0].Of != columns[1].Of
}

// openJoin drops one equality of columns: the first that a query joins by, other than to ordinals. One with public rows
// gives a unit more rows and no other ones, so it stays where those do not matter.
func openJoin(b *probed) bool {
	done, bound := false, boundByRows(b, 1)
	open := func(on []query.Scalar, of ...query.Source) []query.Scalar {
		if bound && slices.ContainsFunc(of, isPublic) {
			return on
		}
		at := slices.IndexFunc(on, isEquality)
		if done || at < 0 {
			return on
		}
		done = true
		return slices.Delete(slices.Clone(on), at, at+1)
	}
	return nodes(query.Map{
		Source: func(s query.Source) query.Source {
			j, ok := s.(*query.Join)
			if !ok || everyGroup(s) != s {
				return s
			}
			out := *j
			out.On = joinedBy(open(j.On, j.Left, j.Right))
			return &out
		},
		Query: func(q query.Query) query.Query {
			s, ok := q.(*query.Select)
			if !ok {
				return q
			}
			product, ok := s.From.(query.Product)
			if !ok {
				return q
			}
			out := *s
			out.Where = open(s.Where, product...)
			return &out
		},
	})(b)
}

// isPublic reports whether a FROM item has no table with private rows.
func isPublic(s query.Source) bool {
	public := true
	query.Map{Source: func(s query.Source) query.Source {
		if t, ok := s.(*query.Table); ok && !slices.Contains([]string{"wards", "floors", "shifts"}, t.Name.Relation) {
			public = false
		}
		return s
	}}.OfSource(s)
	return public
}

// openExists drops what a subquery equates with the row around it.
func openExists(x query.Scalar) query.Scalar {
	open := func(q query.Query) query.Query {
		s, ok := q.(*query.Select)
		if !ok {
			return q
		}
		out := *s
		out.Where = slices.DeleteFunc(slices.Clone(s.Where), isEquality)
		return &out
	}
	switch v := x.(type) {
	case query.Exists:
		return query.Exists{Query: open(v.Query)}
	case query.Compared:
		v.Query = open(v.Query)
		return v
	}
	return x
}
