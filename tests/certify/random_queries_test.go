package certify_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// clamped is a bounded integer of the columns.
func (r *random) clamped(columns []column) string {
	n := of(columns, integers...)
	if len(n) == 0 {
		return r.one("1", "2")
	}
	c := n[r.IntN(len(n))].name
	switch r.IntN(8) {
	case 0:
		return "COALESCE(LEAST(GREATEST(" + c + ", (-3)), 5), 0)"
	case 1:
		return "CASE WHEN " + r.condition(columns, 0) + " THEN " + r.one("1", "2", "0") + " ELSE LEAST(GREATEST(" + c +
			", 0), 2) END"
	case 2:
		return "LEAST(" + c + ", 2)"
	case 3:
		return "GREATEST(" + c + ", 0)"
	}
	return "LEAST(GREATEST(" + c + ", " + r.one("0", "0", "(-2)") + "), " + r.one("1", "2", "4") + ")"
}

// selection is a query in FROM that is being written: what it reads, and its outputs.
type selection struct {
	*random
	columns    []column
	unit       string
	list, rest string
	out        []column
}

func (s *selection) add(expression, typ, tie string) {
	name := fmt.Sprintf("c%d", len(s.out))
	s.list += ", " + expression + " AS " + name
	s.out = append(s.out, column{name, typ, tie})
}

// some adds columns, also of a query around.
func (s *selection) some(n int) (all []string) {
	for range n {
		c := s.columns[s.IntN(len(s.columns))]
		if len(s.around) > 0 && s.often(15) {
			c = s.around[s.IntN(len(s.around))]
		}
		s.add(c.name, c.typ, c.tie)
		all = append(all, c.name)
	}
	return all
}

// order has more than half of the columns: a key, perhaps.
func (s *selection) order(first ...string) string {
	for _, c := range s.columns {
		if s.often(60) {
			first = append(first, c.name)
		}
	}
	if len(first) == 0 {
		return ""
	}
	return " ORDER BY " + strings.Join(first, ", ")
}

// subquery is a query in FROM: a projection, groups, distinct rows, windows, or a set operation.
func (r *random) subquery(depth int) (string, []column) {
	from, columns, where := r.from(depth)
	units := of(columns, "unit", "employee")
	unit := column{"1", "int4", ""}
	if len(units) > 0 {
		unit = units[r.IntN(len(units))]
	}
	if units = of(r.around, "unit"); len(units) > 0 && r.often(15) { // that of a row around
		unit = units[r.IntN(len(units))]
	}
	s := &selection{random: r, columns: columns, unit: unit.name, list: unit.name + " AS u", rest: " FROM " +
		from + conditions(where), out: []column{{"u", unit.typ, unit.tie}}}
	switch n := r.IntN(100); {
	case n < 30:
		return s.groups()
	case n < 45:
		s.some(r.IntN(3))
		if r.often(20) && len(s.out) > 1 { // without the unit
			return "SELECT DISTINCT " + strings.TrimPrefix(s.list, s.unit+" AS u, ") + s.rest, s.out[1:]
		}
		return "SELECT DISTINCT " + s.list + s.rest, s.out
	case n < 50:
		s.some(r.IntN(3))
		return "SELECT DISTINCT ON (" + s.unit + ") " + s.list + s.rest + s.order(s.unit), s.out
	case n < 68:
		return s.windows()
	case n < 80:
		return s.setOperation(depth)
	}
	s.some(1 + r.IntN(3))
	if r.often(40) {
		s.add(r.clamped(columns), "int8", "")
	}
	return "SELECT " + s.list + s.rest + r.one("", "", " OFFSET 0"), s.out
}

func (s *selection) groups() (string, []column) {
	by := append([]string{s.unit}, s.some(s.IntN(3))...)
	for range 1 + s.IntN(2) {
		c := s.columns[s.IntN(len(s.columns))]
		filter := ""
		if s.often(25) {
			filter = " FILTER (WHERE " + s.condition(s.columns, 0) + ")"
		}
		switch s.IntN(5) {
		case 0:
			s.add("sum("+s.clamped(s.columns)+")"+filter, "int8", "")
		case 1:
			s.add(s.one("min", "max")+"("+c.name+")"+filter, c.typ, "")
		case 2:
			s.add("count(DISTINCT "+c.name+")"+filter, "int8", "")
		default:
			s.add("count(*)"+filter, "int8", "")
		}
	}
	having := ""
	if s.often(10) {
		having = " HAVING count(*) > 1"
	}
	if s.often(8) {
		return "SELECT " + s.list + s.rest + having, s.out // no groups
	}
	return "SELECT " + s.list + s.rest + " GROUP BY " + strings.Join(by, ", ") + having, s.out
}

func (s *selection) windows() (string, []column) {
	s.some(1 + s.IntN(2))
	order := s.order()
	over := "OVER (PARTITION BY " + s.unit + s.one("", "", ", "+s.columns[s.IntN(len(s.columns))].name) + order
	frame := s.one("", "", " ROWS UNBOUNDED PRECEDING", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
		" RANGE UNBOUNDED PRECEDING",
		" GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES")
	switch s.IntN(5) {
	case 0:
		s.add("sum("+s.clamped(s.columns)+") "+over+frame+")", "int8", "")
	case 1:
		s.add(s.one("rank()", "dense_rank()", "count(*)")+" "+over+")", "int8", "")
	default:
		s.add("row_number() "+over+")", "int8", "")
	}
	sql := "SELECT " + s.list + s.rest
	if !s.often(70) {
		return sql, s.out
	}
	a, n := s.alias(), len(s.out)-1 // the first rows of each unit
	list := a + ".u"
	for _, c := range s.out[1:n] {
		list += ", " + a + "." + c.name
	}
	first := a + "." + s.out[n].name + s.one(" <= ", " <= ", " = ") + s.one("1", "2")
	return "SELECT " + list + " FROM (" + sql + ") AS " + a + " WHERE " + first, s.out[:n]
}

func (s *selection) setOperation(depth int) (string, []column) {
	s.some(1 + s.IntN(2))
	sql := "SELECT " + s.list + s.rest
	from, more, where := s.from(depth)
	var other []string
	for _, c := range s.out {
		same := slices.DeleteFunc(of(more, c.typ), func(o column) bool {
			return c.tie == "unit" && o.tie != "unit" &&
				!s.often(5)
		})
		if len(same) == 0 {
			return sql, s.out
		}
		other = append(other, same[s.IntN(len(same))].name)
	}
	op := s.one("UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL")
	return sql + " " + op + " SELECT " + strings.Join(other, ", ") + " FROM " + from + conditions(where), s.out
}

// query is a text for main: groups of one FROM, perhaps added up again, or only clamped, by a query around.
func (r *random) query() string {
	r.names, r.around = 0, nil
	from, columns, where := r.from(2)
	key := "1::pg_catalog.int8"
	switch c := columns[r.IntN(len(columns))]; {
	case r.often(55):
		key = c.name
	case r.often(10):
		key = "COALESCE(" + c.name + ", " + r.constant(c.typ) + ")"
	}
	list := key + " AS k"
	for i := range 1 + r.IntN(2) {
		filter := ""
		if r.often(25) {
			filter = " FILTER (WHERE " + r.condition(columns, 1) + ")"
		}
		c := columns[r.IntN(len(columns))]
		switch r.IntN(6) {
		case 0:
			list += ", count(DISTINCT " + c.name + ")" + filter
		case 1:
			list += ", count(" + c.name + ")" + filter
		case 2, 3:
			list += ", COALESCE(sum(" + r.clamped(columns) + ")" + filter + ", 0)"
		default:
			list += ", count(*)" + filter
		}
		list += fmt.Sprintf(" AS m%d", i+1)
	}
	sql := "SELECT " + list + " FROM " + from + conditions(where) + " GROUP BY 1"
	switch n := r.IntN(10); {
	case n == 0:
		return "SELECT g.k, LEAST(GREATEST(COALESCE(g.m1, 0), 0), 1000) FROM (" + sql + ") AS g"
	case n == 1:
		return "SELECT 1::pg_catalog.int8, COALESCE(sum(g.m1), 0) FROM (" + sql + ") AS g"
	case n == 2:
		return "SELECT w.ward, COALESCE(g.m1, 0) FROM (" + sql + ") AS g, ONLY public.wards AS w WHERE g.k = w." +
			r.one("ward", "floor", "beds", "name")
	}
	return sql
}

// someParameters are the parameters of random texts.
var someParameters = []certify.Value{
	{Type: "int8", Elements: texts("7")},
	{Type: "text", Array: true, Elements: texts("icu", "er", "a0")},
}

func texts(list ...string) (all []*string) {
	for _, s := range list {
		all = append(all, &s)
	}
	return all
}
