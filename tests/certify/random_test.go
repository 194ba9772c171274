package certify_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// column is what the generator knows of a column: ties are columns of one name whose equal values belong to one unit.
type column struct{ name, typ, tie string }

// scans are tables with some of their columns, "name type [tie]".
var scans = map[string][]column{
	"patients": read(
		"id int8 unit,score int2,age int4,ward text,diagnosis text,smoker bool,admitted date,income numeric"),
	"visits": read(
		"visit_id int8 visit,patient_id int8 unit,ward text,minutes int4,urgent bool,visited date,cost numeric"),
	"lab_results": read("lab_id int8,visit_id int8 visit,kind text"),
	"profiles":    read("patient_id int8 unit,height int4"),
	"calls": read(
		"call_id int8,session_id int8 session,patient_id int8 unit,kind text,seconds int4,follows int8 session"),
	"ratings": read("session_id int8 session,of_patient int8 unit,stars int4"),
	"staff":   read("staff_id int4 employee,ward text,wage int4"),
	"wards":   read("ward text,name text,floor int4,beds int4"),
	"floors":  read("floor int4,label text"),
	"shifts":  read("shift_id int4,ward text,part text,begins date"),
}

func read(list string) (all []column) {
	for _, l := range strings.Split(list, ",") {
		f := append(strings.Fields(l), "")
		all = append(all, column{f[0], f[1], f[2]})
	}
	return all
}

// random writes SQL: relations as main might be asked for, with units equated where they have to be, mostly.
type random struct {
	*rand.Rand
	names  int
	around []column // of queries around, which a subquery may read
}

func (r *random) one(of ...string) string { return of[r.IntN(len(of))] }

// often is true in that many of a hundred cases.
func (r *random) often(percent int) bool { return r.IntN(100) < percent }

func (r *random) alias() string {
	if r.names++; r.often(2) {
		return fmt.Sprintf("t%d", 1+r.IntN(r.names)) // one that may be around, or here
	}
	return fmt.Sprintf("t%d", r.names)
}

// of returns the columns of some types, or of a tie.
func of(columns []column, types ...string) (all []column) {
	for _, c := range columns {
		if slices.Contains(types, c.typ) || c.tie != "" && slices.Contains(types, c.tie) {
			all = append(all, c)
		}
	}
	return all
}

var integers = []string{"int2", "int4", "int8"}

// item is an item of FROM, with its columns under its alias.
func (r *random) item(depth int, beside []column) (string, []column) {
	alias := r.alias()
	named := func(columns []column) (all []column) {
		for _, c := range columns {
			c.name = alias + "." + c.name
			all = append(all, c)
		}
		return all
	}
	switch n := r.IntN(100); {
	case n < 22 && depth > 0:
		sql, columns := r.subquery(depth - 1)
		return "(" + sql + ") AS " + alias, named(columns)
	case n < 32 && depth > 0 && len(beside) > 0:
		around := r.around
		r.around = slices.Concat(around, beside)
		sql, columns := r.subquery(depth - 1)
		r.around = around
		return "LATERAL (" + sql + ") AS " + alias, named(columns)
	case n < 35:
		return "(VALUES (1, 'icu'::pg_catalog.text), (2, 'a0'::pg_catalog.text)) AS " + alias + " (k, w)",
			named(read("k int4,w text"))
	case n < 38:
		return "pg_catalog.unnest($2::pg_catalog.text[]) WITH ORDINALITY AS " + alias + " (w, o)",
			named(read("w text,o int8"))
	}
	table := r.one("patients", "patients", "visits", "visits", "visits", "profiles", "calls", "lab_results", "ratings",
		"wards", "wards", "shifts", "floors", "staff")
	switch {
	case table == "staff" && !r.often(15):
		table = "visits"
	case table == "lab_results" && r.often(60):
		return "(SELECT v.patient_id AS u, l.visit_id, l.kind, l.lab_id FROM ONLY public.lab_results AS l, ONLY public.visits AS v WHERE l.visit_id = v.visit_id AND v.patient_id IS NOT NULL) AS " + alias, named(read("u int8 unit,visit_id int8 visit,kind text,lab_id int8"))
	case table == "ratings" && r.often(60):
		return "(SELECT p.id AS u, l.session_id, l.stars FROM ONLY public.ratings AS l, ONLY public.patients AS p WHERE l.of_patient = p.id) AS " + alias, named(read("u int8 unit,session_id int8 session,stars int4"))
	}
	return "ONLY public." + table + " AS " + alias, named(scans[table])
}

// equality equates columns of two lists: units, if they have some, mostly.
func (r *random) equality(a, b []column) (string, bool) {
	var pairs [][2]column
	for _, x := range a {
		for _, y := range b {
			switch {
			case x.tie != "" && x.tie == y.tie:
				for range 8 {
					pairs = append(pairs, [2]column{x, y})
				}
			case x.typ == y.typ || slices.Contains(integers, x.typ) && slices.Contains(integers, y.typ):
				if r.often(10) || x.tie == "" && y.tie == "" && r.often(40) {
					pairs = append(pairs, [2]column{x, y})
				}
			}
		}
	}
	if len(pairs) == 0 {
		return "", false
	}
	p := pairs[r.IntN(len(pairs))]
	x, y := p[0].name, p[1].name
	if r.often(4) {
		zero := map[string]string{
			"text": "''::pg_catalog.text", "date": "'2020-01-01'::pg_catalog.date",
			"bool": "false",
		}[p[0].typ]
		if zero == "" {
			zero = "0"
		}
		return fmt.Sprintf(
			"(%s IS NULL) OPERATOR(pg_catalog.=) (%s IS NULL) AND COALESCE(%s, %s) OPERATOR(pg_catalog.=) COALESCE(%s, %s)", x,
			y, x, zero, y, zero), true
	}
	return x + " = " + y, true
}

// from is a FROM list with its conditions.
func (r *random) from(depth int) (sql string, columns []column, where []string) {
	sql, columns = r.item(depth, nil)
	last := 0 // where the item behind the last comma begins
	for range r.IntN(5) / 2 {
		beside := columns
		next, more := r.item(depth, beside)
		on, ok := r.equality(columns[last:], more)
		if ok && len(r.around) > 0 && r.often(10) { // what ties a side alone to the row around
			if tie, has := r.equality(more, r.around); has {
				on += " AND " + tie
			}
		}
		if r.often(4) {
			on, ok = r.equality(columns, more)
		}
		if ok && r.often(30) {
			on += " AND " + r.condition(append(slices.Clone(columns[last:]), more...), 0)
		}
		switch n := r.IntN(100); {
		case !ok || n < 35:
			if !ok {
				on, ok = r.equality(columns, more)
			}
			if ok {
				where = append(where, on)
			}
			sql, last = sql+", "+next, len(columns)
		case n < 65:
			sql += " JOIN " + next + " ON " + on
		case n < 92:
			sql += " LEFT JOIN " + next + " ON " + on
		default:
			if on, ok = r.equality(columns[last:], more); !ok {
				sql, last = sql+", "+next, len(columns)
				break
			}
			sql += " FULL JOIN " + next + " ON " + on
			if a, b := of(columns[last:], "unit"), of(more, "unit"); len(a) > 0 && len(b) > 0 && r.often(60) {
				u := "COALESCE(" + a[0].name + ", " + b[0].name + ")"
				where = append(where, u+" IS NOT NULL")
				more = append(more, column{u, "int8", "unit"})
			}
		}
		columns = append(columns, more...)
		if ok && r.often(30) {
			if again, ok := r.equality(columns[:len(columns)-len(more)], more); ok {
				where = append(where, again)
			}
		}
	}
	return sql, columns, append(where, r.where(columns, depth)...)
}

// where has conditions on the columns: units are not NULL, mostly, and tied to a row around.
func (r *random) where(columns []column, depth int) (where []string) {
	for _, u := range of(columns, "unit", "employee") {
		if !strings.HasPrefix(u.name, "COALESCE") && r.often(85) {
			where = append(where, u.name+" IS NOT NULL")
		}
	}
	for range r.IntN(3) {
		if r.often(60) {
			where = append(where, r.condition(columns, depth))
		}
	}
	if len(r.around) > 0 && r.often(90) {
		if tie, ok := r.equality(of(columns, "unit", "visit", "session", "text"), of(r.around, "unit", "visit", "session",
			"text")); ok {
			where = append(where, tie)
		}
	}
	return where
}

func (r *random) constant(typ string) string {
	switch typ {
	case "text":
		return "'" + r.one("icu", "er", "a0", "a", "b", "web", "cold") + "'::pg_catalog.text"
	case "date":
		return "'" + r.one("2020-01-01", "2020-06-15", "2021-12-31") + "'::pg_catalog.date"
	case "numeric":
		return "'" + r.one("0", "12.34", "100") + "'::pg_catalog.numeric"
	case "bool":
		return r.one("true", "false")
	}
	return r.one("0", "1", "2", "5", "30")
}

// condition is about the columns, or about a subquery.
func (r *random) condition(columns []column, depth int) string {
	c := columns[r.IntN(len(columns))]
	switch n := r.IntN(100); {
	case n < 12:
		return c.name + r.one(" IS NULL", " IS NOT NULL")
	case n < 16:
		return "(" + r.condition(columns, depth) + " OR " + r.condition(columns, depth) + ")"
	case n < 20:
		return "NOT (" + r.condition(columns, depth) + ")"
	case n < 50 && depth > 0:
		return r.sublink(columns, depth-1)
	case n < 60:
		if e, ok := r.equality(columns, columns); ok && !strings.Contains(e, " AND ") {
			return e
		}
	}
	if c.typ == "bool" {
		return c.name
	}
	return c.name + r.one(" = ", " > ", " <= ", " <> ") + r.constant(c.typ)
}

// sublink is EXISTS, IN, or a scalar subquery.
func (r *random) sublink(columns []column, depth int) string {
	around := r.around
	defer func() { r.around = around }()
	r.around = slices.Concat(around, columns)
	sql, inner, where := r.from(depth)
	rest := sql + conditions(where)
	i := inner[r.IntN(len(inner))]
	switch r.IntN(4) {
	case 0:
		for _, c := range columns {
			if c.typ == i.typ {
				return r.one("", "NOT ") + c.name + r.one(" IN ", " = ANY ", " <> ALL ") + "(SELECT " + i.name + " FROM " + rest +
					")"
			}
		}
	case 1:
		if n := of(inner, integers...); len(n) > 0 {
			return "(SELECT " + r.one("count(*)", "min("+n[0].name+")", "max("+n[0].name+")", "count(DISTINCT "+n[0].name+")",
				n[0].name) + " FROM " + rest + ")" + r.one(" > ", " = ", " <= ") + r.constant("int8")
		}
	case 2:
		for _, c := range columns {
			if c.typ == i.typ && (c.typ == "text" || slices.Contains(integers, c.typ)) {
				return c.name + " = (SELECT " + r.one("min(", "max(", "(") + i.name + ") FROM " + rest + ")"
			}
		}
	}
	return r.one("", "", "NOT ") + "EXISTS (SELECT 1 FROM " + rest + ")"
}

func conditions(where []string) string {
	if len(where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(where, " AND ")
}
