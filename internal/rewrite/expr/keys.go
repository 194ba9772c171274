package expr

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// Limits bound how many values a key may have, beside NULL.
type Limits struct {
	Listed   int64 // where every column in it has values that somebody listed: it has few others
	Computed int64 // where they follow from bounds or from the expression: a row may have few of them
}

// Of gives the limit of a list in rows, of which NULL may be one.
func (l Limits) Of(computed bool) int64 {
	if computed {
		return l.Computed + 1
	}
	return l.Listed + 1
}

// KeyList is a query whose first column, k, lists every value that a key expression may take, each once, in a fixed
// order, NULL last. It reads no table and can run on the shadow.
type KeyList struct {
	SQL      string
	Size     int64 // upper bound of the number of rows
	Computed bool  // which of Limits holds
	Whole    bool  // no row has another value: nothing in it was declared
	// the key was computed of its columns' values: else NULL may be in the list or not, whether the key has it or not
	Exact bool
}

// keyLister finds the parts of a key expression whose values can be listed, and prints the query that evaluates the key
// for every combination of them.
type keyLister struct {
	limits  Limits
	columns map[*Column]query.Scalar // listed columns
	nodes   map[*Expr]query.Scalar   // listed sub-expressions
	serial  int                      // names of atoms are never reused
	atoms
}

// atoms are what a query lists the combinations of.
type atoms struct {
	from     []string
	size     int64
	computed bool // one is not of listed values
}

// within says that there are not too many combinations.
func (l *keyLister) within() bool { return l.size <= l.limits.Of(l.computed) }

// Keys lists a key expression's values where they follow from domains, bounds or the expression itself; an error says
// why they do not and what would help. Values are left out that would contradict the conditions that hold in every row.
//
// It prefers to list the columns themselves, which gives exactly the values that can occur. Else it lists the smallest
// sub-expressions that it can by what they are, which may give some that cannot.
func Keys(e *Expr, limits Limits, holds ...*Expr) (*KeyList, error) {
	var lister *keyLister
	exact, computed := false, false
	for _, byColumns := range []bool{true, false} {
		l := &keyLister{
			limits: limits, columns: map[*Column]query.Scalar{}, nodes: map[*Expr]query.Scalar{},
			atoms: atoms{size: 1},
		}
		if l.list(e, byColumns) {
			lister, exact = l, byColumns
			break
		}
		computed = computed || l.computed
	}
	if lister == nil {
		if !computed {
			return nil, Refuse(refusal.TooManyGroups, e.location, fmt.Sprintf("the values of %s are more than %d", e.Text(),
				limits.Listed), "group by a coarser key, or narrow it in WHERE")
		}
		return nil, Refuse(refusal.KeyValues, e.location,
			fmt.Sprintf("the values of %s cannot be listed, or are more than %d", e.Text(), limits.Computed),
			"group by a column with declared values, a bounded integer or date, or bucket it: CASE with constants, width_bucket, floor, date_trunc, extract")
	}
	p := &printer{columns: lister.columns, nodes: lister.nodes}
	order := "d.k"
	if pgresolve.IsString(e.baseType()) && !e.isEnum() {
		order += ` COLLATE pg_catalog."C"`
	}
	from := ""
	if len(lister.from) > 0 {
		from = " FROM " + strings.Join(lister.from, " CROSS JOIN ")
	}
	where := ""
	if exact {
		if conditions := lister.hold(e, holds); len(conditions) > 0 {
			where = " WHERE " + strings.Join(conditions, " AND ")
		}
	}
	return &KeyList{
		SQL: "SELECT d.k FROM (SELECT DISTINCT " + query.Text(p.print(e)) + " AS k" + from + where + ") AS d ORDER BY " +
			order,
		Size:     lister.size,
		Computed: lister.computed,
		Whole:    lister.whole(),
		Exact:    exact,
	}, nil
}

// hold prints the conditions that read listed columns alone. What they say of a listed value they say of the row, so
// they have to see the value itself: of a column with bounds, the key sees it clamped unless it is the key.
func (l *keyLister) hold(e *Expr, holds []*Expr) []string {
	byRef := map[string]query.Scalar{}
	for c, name := range l.columns {
		if c.Domain != nil || e.col == c || isBoolean(c) {
			byRef[query.Key(c.Ref)] = name
		}
	}
	var out []string
	for _, h := range Split(holds) {
		p := &printer{columns: map[*Column]query.Scalar{}}
		readable := !h.provisional
		for _, c := range h.columns(func(*Expr) bool { return true }, true) {
			p.columns[c] = byRef[query.Key(c.Ref)]
			readable = readable && p.columns[c] != nil
		}
		h.walk(func(x *Expr) bool {
			readable = readable && x.verbatim == nil
			return readable
		})
		if readable && len(p.columns) > 0 {
			out = append(out, query.Text(p.print(h)))
		}
	}
	return out
}

// whole says that columns are listed by their types alone.
func (l *keyLister) whole() bool {
	for c := range l.columns {
		if c.Domain != nil || !isBoolean(c) && c.EnumLabels == nil {
			return false
		}
	}
	return true
}

func isBoolean(c *Column) bool { return c.Type == pgtype.BoolOID }

// list finds atoms for e; false: there are none within the limit.
func (l *keyLister) list(e *Expr, byColumns bool) bool {
	if e.col != nil {
		if name, ok := l.columns[e.col]; ok && l.listed(query.Text(name)) {
			return true
		}
		list, n, computed := columnSeries(e, l.limits)
		if list == "" {
			l.computed = true
			return false
		}
		l.columns[e.col] = l.atom(list, n, computed)
		return l.within()
	}
	if byColumns {
		return e.verbatim == nil && l.listAll(e.args, true)
	}
	if e.series != nil && !e.series.loose && l.listOwn(e) {
		return true
	}
	saved := l.atoms
	if e.verbatim == nil && l.listAll(e.args, false) {
		return true
	}
	l.atoms = saved
	return l.listOwn(e)
}

func (l *keyLister) listAll(args []*Expr, byColumns bool) bool {
	for _, a := range args {
		if !l.list(a, byColumns) {
			return false
		}
	}
	return true
}

// listOwn lists e by what it is.
func (l *keyLister) listOwn(e *Expr) bool {
	list, n := ownSeries(e, l.limits.Computed)
	if list == "" {
		l.computed = true
		return false
	}
	l.nodes[e] = l.atom(list, n, true)
	return l.within()
}

// listed says that an atom is still part of FROM: trying a sub-expression in vain takes its atoms away.
func (l *keyLister) listed(name string) bool {
	for _, f := range l.from {
		if strings.HasSuffix(f, " AS "+strings.TrimSuffix(name, ".v")+"(v)") {
			return true
		}
	}
	return false
}

// atom adds one listed part to FROM.
func (l *keyLister) atom(list string, n int64, computed bool) query.Scalar {
	l.serial++
	name := fmt.Sprintf("a%d", l.serial)
	l.from = append(l.from, "("+list+") AS "+name+"(v)")
	if n = max(n, 1); l.size > l.limits.Of(false)/n {
		l.size = l.limits.Of(false) + 1
	} else {
		l.size *= n
	}
	l.computed = l.computed || computed
	return query.Raw(name + ".v")
}

// columnSeries lists a column's values, NULL included, and says whether they were computed (Limits).
func columnSeries(e *Expr, limits Limits) (list string, n int64, computed bool) {
	c := e.col
	x := *e.relabelled()
	x.bounds = e.Listed()
	switch {
	case c.Domain != nil:
		values := schema.TextArray(schema.Texts(c.Domain))
		list = "SELECT u.v::" + columnType(&x) + " AS v FROM pg_catalog.unnest(" + sqltext.Literal(string(values)) +
			"::pg_catalog.text[]) AS u(v)"
		n = int64(len(c.Domain))
	default:
		list, n = ownSeries(&x, limits.Computed)
		computed = !e.isEnum() && !isBoolean(c)
		s := choiceSeries(&x, limits)
		switch {
		case s != nil && (list == "" || s.size < n):
			list, n, computed = s.query, s.size, s.computed
		// it may know of gaps, and of ends that bounds round outward: n counts those, too
		case s != nil && len(c.choices) == 1:
			list = s.query
		}
		if list == "" {
			return "", 0, computed
		}
	}
	if e.nullable && !c.Filled {
		list += " UNION ALL SELECT NULL::" + columnType(&x)
		n++
	}
	return list, n, computed
}

// columnType prints the type of listed values: that of the column, with its typmod.
func columnType(e *Expr) string {
	if pgresolve.LookupType(e.typ) != nil {
		return pgresolve.Qualified(e.typ, e.typmod)
	}
	return e.typeName
}

// ownSeries lists what e may be by its type, its bounds and how it was made; empty if that is too much.
func ownSeries(e *Expr, limit int64) (list string, n int64) {
	within := func(count *big.Rat) bool { return count.Cmp(rat(limit)) <= 0 }
	switch {
	case e.value != nil:
		return "", 0 // prints itself
	case e.series != nil && e.series.size <= limit:
		return e.series.query + nullRow(e), e.series.size + 1
	case e.isEnum() && e.col != nil:
		return "SELECT pg_catalog.unnest(pg_catalog.enum_range(NULL::" + e.typeName + ")) AS v", int64(len(e.labels))
	case e.typ == pgtype.BoolOID:
		return "SELECT true AS v UNION ALL SELECT false" + nullRow(e), 3
	case !e.bounds.Finite():
		return "", 0
	case pgresolve.IsInt(e.typ):
		if count := add(e.bounds.Width(), bounds.One); within(count) {
			series := fmt.Sprintf(
				"SELECT g.v::%s AS v FROM pg_catalog.generate_series(%s::pg_catalog.int8, %s::pg_catalog.int8) AS g(v)",
				pgresolve.Qualified(e.typ, -1), sqltext.Literal(wholeText(e.bounds.Lo, false)),
				sqltext.Literal(wholeText(e.bounds.Hi, true)))
			return series + nullRow(e), count.Num().Int64() + 1
		}
	case e.typ == pgtype.DateOID:
		if count := add(e.bounds.Width(), bounds.One); within(count) {
			series := fmt.Sprintf("SELECT (%s OPERATOR(pg_catalog.+) g.v) AS v FROM pg_catalog.generate_series(0, %s) AS g(v)",
				valueLiteral(pgtype.DateOID, e.bounds.Lo, false), e.bounds.Width().Num())
			return series + nullRow(e), count.Num().Int64() + 1
		}
	case e.typ == pgtype.NumericOID && e.scale >= 0 && e.scale <= 100:
		lo, hi := bounds.Floor(mul(e.bounds.Lo, bounds.Pow10(e.scale))), bounds.Ceil(mul(e.bounds.Hi, bounds.Pow10(e.scale)))
		if count := add(sub(hi, lo), bounds.One); within(count) {
			series := fmt.Sprintf(
				"SELECT pg_catalog.round(g.v OPERATOR(pg_catalog.*) %s, %d) AS v FROM pg_catalog.generate_series(%s, %s) AS g(v)",
				valueLiteral(pgtype.NumericOID, bounds.Pow10(-e.scale), true), e.scale, valueLiteral(pgtype.NumericOID, lo, false),
				valueLiteral(pgtype.NumericOID, hi, true))
			return series + nullRow(e), count.Num().Int64() + 1
		}
	case pgresolve.IsFloat(e.typ) && (e.quantum == 0 || e.scale == 0):
		if count := add(e.bounds.Width(), bounds.One); within(count) && e.bounds.Abs().Hi.Cmp(bounds.Pow2(53)) < 0 {
			series := fmt.Sprintf(
				"SELECT g.v::%s AS v FROM pg_catalog.generate_series(%s::pg_catalog.int8, %s::pg_catalog.int8) AS g(v)",
				pgresolve.Qualified(e.typ, -1), sqltext.Literal(wholeText(e.bounds.Lo, false)),
				sqltext.Literal(wholeText(e.bounds.Hi, true)))
			return series + nullRow(e), bounds.Floor(count).Num().Int64() + 1
		}
	}
	return "", 0
}

// nullRow adds NULL to the values of an expression that may be NULL. Columns add their own.
func nullRow(e *Expr) string {
	if !e.nullable || e.col != nil {
		return ""
	}
	return " UNION ALL SELECT NULL::" + columnType(e)
}

// SelectionKey prints a key for partition selection: equal values, and only those, have equal text, and
// casting it to TypeName gives the value. It refuses types without such a form (docs/privacy.md P17).
func SelectionKey(e *Expr) (query.Scalar, error) {
	x := e.relabelled()
	s := (&printer{}).print(x)
	switch {
	case x.isEnum(), pgresolve.IsInt(x.typ), x.typ == pgtype.BoolOID, x.typ == pgtype.DateOID,
		x.typ == pgtype.TimestampOID, x.typ == pgtype.TimestamptzOID, x.typ == pgtype.TimeOID, x.typ == pgtype.UUIDOID,
		pgresolve.IsString(x.typ) && x.typ != pgtype.BPCharOID && !x.nondeterministic:
		return s, nil
	case x.typ == pgtype.BPCharOID && !x.nondeterministic: // blanks at the end do not count
		return query.F("({})::pg_catalog.text", s), nil
	case x.typ == pgtype.NumericOID: // 1.0 = 1.00
		return query.F("pg_catalog.trim_scale({})", s), nil
	case pgresolve.IsFloat(x.typ): // −0 = 0
		return query.F("({} OPERATOR(pg_catalog.+) {})", s, floatLiteral(x.typ, bounds.Zero)), nil
	}
	hint := "group by a column with declared values, or by a number, a date, a boolean or text"
	if x.nondeterministic {
		hint = `write COLLATE "C"`
	}
	return nil, Refuse(refusal.KeyValues, e.location,
		fmt.Sprintf("%s of type %s cannot be a group key without declared values: equal values may be written differently",
			e.Text(), pgresolve.Display(x.typ)), hint)
}
