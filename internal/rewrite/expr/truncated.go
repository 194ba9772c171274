package expr

import (
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// What a condition on the local day, month or time of a column says of the column: between which of its values a row
// has to lie. Of instants the shadow computes it, by the rules of the zone (docs/privacy.md P10e).

// truncated is the local time of a column, cut to a unit.
type truncated struct {
	col     *Expr
	local   string // prints the local time of an instant, which is %s; empty: the column has local times
	unit    string // of date_trunc; empty: not cut
	instant bool   // the value is an instant again, that of the local time in the session's zone
}

// CutTo gives the column that e is, or whose times it cuts to a unit (day, month …), and that unit; nil: it is neither.
// What is cut may be shown as another type: a month as its first day.
func CutTo(e *Expr) (c *Column, unit string) {
	if c := e.Column(); c != nil {
		return c, ""
	}
	if e.tmpl == castTemplate && e.args[0].tmpl == functionTemplate("date_trunc", 2) {
		if c, unit = CutTo(e.args[0]); e.typ == pgtype.DateOID && isShort(unit) {
			unit = "day"
		}
		return c, unit
	}
	if t := truncatedColumn(e); t != nil && t.unit != "" {
		return t.col.col, t.unit
	}
	return nil, ""
}

// truncatedColumn reads x::date, date_trunc(unit, x), x AT TIME ZONE zone and what is made of these; nil for anything
// else.
func truncatedColumn(e *Expr) *truncated {
	switch {
	case e.tmpl == castTemplate && e.typ == pgtype.DateOID:
		if t := localColumn(e.args[0]); t != nil {
			t.unit = "day"
			return t
		}
	case e.tmpl == functionTemplate("date_trunc", 2) && e.args[0].value != nil && e.args[0].value.text != nil:
		unit, x := *e.args[0].value.text, e.args[1]
		t := localColumn(x)
		if t == nil && x.tmpl == castTemplate && x.typ == pgtype.TimestamptzOID {
			if c := plainColumn(x.args[0]); c != nil && c.typ == pgtype.DateOID {
				t = &truncated{col: c}
			}
		}
		if t == nil || unitDays[unit] == 0 && (x.typ == pgtype.TimestamptzOID || !isShort(unit)) {
			return nil
		}
		t.unit, t.instant = unit, x.typ == pgtype.TimestamptzOID
		return t
	case e.typ == pgtype.TimestampOID && e.col == nil:
		return localColumn(e)
	}
	return nil
}

// localColumn reads a column of timestamps or instants, or the local time of the latter; nil for anything else.
func localColumn(x *Expr) *truncated {
	instant := func(x *Expr, local string) *truncated {
		if c := plainColumn(x); c != nil && c.typ == pgtype.TimestamptzOID {
			return &truncated{col: c, local: local}
		}
		return nil
	}
	c := plainColumn(x)
	if x.tmpl == castTemplate && x.typ == pgtype.TimestampOID && x.typmod < 0 {
		if d := plainColumn(x.args[0]); d != nil && d.typ == pgtype.DateOID {
			return &truncated{col: d}
		}
	}
	switch {
	case c != nil && c.typ == pgtype.TimestampOID:
		return &truncated{col: c}
	case c != nil:
		return instant(x, inSession)
	case x.tmpl == castTemplate && x.typ == pgtype.TimestampOID && x.typmod < 0:
		return instant(x.args[0], inSession)
	case x.tmpl == functionTemplate("timezone", 2) && x.typ == pgtype.TimestampOID && x.args[0].value != nil &&
		x.args[0].value.text != nil:
		return instant(x.args[1], "pg_catalog.timezone("+query.Text((&printer{}).print(x.args[0]))+", %s)")
	}
	return nil
}

// unitDays are the most days of a unit that has whole days.
var unitDays = map[string]int64{"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}

func isShort(unit string) bool { return unit == "hour" || unit == "minute" || unit == "second" }

// beginning gives the unit in which a local time lies: when it begins, and when the next one does.
func beginning(unit string, at *big.Rat) (first, next *big.Rat, ok bool) {
	if at.Cmp(yearBegins(1)) < 0 || at.Cmp(yearBegins(9998)) >= 0 {
		return nil, nil, false
	}
	t := time.UnixMicro(bounds.Floor(at).Num().Int64()).UTC()
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	from, to := t, t.Add(time.Microsecond)
	switch unit {
	case "second":
		from = t.Truncate(time.Second)
		to = from.Add(time.Second)
	case "minute":
		from = t.Truncate(time.Minute)
		to = from.Add(time.Minute)
	case "hour":
		from = t.Truncate(time.Hour)
		to = from.Add(time.Hour)
	case "day":
		from, to = day, day.AddDate(0, 0, 1)
	case "week":
		from = day.AddDate(0, 0, -(int(t.Weekday())+6)%7)
		to = from.AddDate(0, 0, 7)
	case "month":
		from = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
		to = from.AddDate(0, 1, 0)
	case "quarter":
		from = time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
		to = from.AddDate(0, 3, 0)
	case "year":
		from = time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		to = from.AddDate(1, 0, 0)
	}
	return rat(from.UnixMicro()), rat(to.UnixMicro()), true
}

func yearBegins(year int) *big.Rat {
	return rat(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
}

// truncatedSays reads a comparison of such a value with a constant; nil where it says nothing.
func (b *builder) truncatedSays(name string, l, r *Expr) []said {
	t := truncatedColumn(l)
	if t == nil || r.value == nil || r.value.text == nil || !r.bounds.Finite() || t.col.col == r.col {
		return nil
	}
	at := r.bounds
	switch {
	case t.instant:
		at = b.instants(r)
	case r.typ == pgtype.DateOID:
		at = at.Scale(microsPerDay)
	case r.typ != pgtype.TimestampOID:
		return nil // an instant: the zone decides
	}
	if !at.Finite() || at.Lo.Cmp(at.Hi) != 0 {
		return nil
	}
	first, next, ok := beginning(t.unit, at.Lo)
	if !ok {
		return nil
	}
	if t.instant {
		return b.truncatedInstants(name, t, at.Lo)
	}
	from, to := next, first // where the constant does not begin a unit
	switch name {
	case ">=", "<":
		if first.Cmp(at.Lo) == 0 {
			from = first
		}
		to = from
	case ">", "<=":
		to = next
	case "=", "<>":
		if first.Cmp(at.Lo) != 0 {
			return nil
		}
		from, to = first, next
	}
	return b.localSays(t, name, from, to)
}

// localTimes says that the local time of a column is not before from, or that it is before to, or both, as a comparison
// says.
func (b *builder) localSays(t *truncated, name string, from, to *big.Rat) []said {
	last := sub(to, bounds.One)
	switch {
	case t.col.typ == pgtype.DateOID:
		return t.between(name, bounds.Ceil(quo(from, microsPerDay)), bounds.Floor(quo(last, microsPerDay)), true)
	case t.local == "":
		return t.between(name, from, last, true)
	}
	lo, hi := sub(from, zoneMax), add(last, zoneMax)
	if name != "<" && name != "<=" {
		lo = b.shadowLimit(pgtype.TimestamptzOID, earliest(t.local, valueLiteral(pgtype.TimestampOID, from, false)), lo)
	}
	if name != ">" && name != ">=" {
		hi = b.shadowLimit(pgtype.TimestamptzOID, latest(t.local, valueLiteral(pgtype.TimestampOID, to, false)), hi)
	}
	return t.between(name, lo, hi, false)
}

// between says that the column lies between two of its values, or beyond one of them, as a comparison says. exact: so
// it does not where the comparison is false.
func (t *truncated) between(name string, lo, hi *big.Rat, exact bool) []said {
	switch name {
	case ">", ">=":
		hi = nil
	case "<", "<=":
		lo = nil
	}
	set := []segment{between(bounds.New(lo, hi))}
	is, not := t.col.having(set, false), everything(true)
	if exact {
		not = t.col.having(complement(set), false)
	}
	if name == "<>" {
		is, not = not, is
	}
	return []said{{col: t.col.col, is: is, not: not}}
}

// truncatedInstants reads date_trunc(unit, x) of instants or dates, which is an instant: that of a local day on which a
// unit begins.
func (b *builder) truncatedInstants(name string, t *truncated, at *big.Rat) []said {
	days, c := unitDays[t.unit], valueLiteral(pgtype.TimestamptzOID, at, false)
	lo, hi := sub(at, zoneJump), add(at, add(zoneJump, mul(rat(days), microsPerDay)))
	compare := func(value, name string) string {
		return "(" + value + " OPERATOR(pg_catalog." + name + ") " + c + ")"
	}
	if t.col.typ == pgtype.DateOID {
		found := func(end, name string) string {
			return fmt.Sprintf(
				"(SELECT pg_catalog.%s(g.d) FROM (SELECT ((%s)::pg_catalog.date OPERATOR(pg_catalog.+) i) AS d FROM pg_catalog.generate_series(-%d, %[3]d) AS s(i)) AS g WHERE %[4]s)",
				end, c, days+16, compare("pg_catalog.date_trunc("+sqltext.Literal(t.unit)+
					"::pg_catalog.text, (g.d)::pg_catalog.timestamptz)", name))
		}
		day := func(at *big.Rat) *big.Rat { return bounds.Floor(quo(at, microsPerDay)) }
		return t.between(name, b.shadowLimit(pgtype.DateOID, found("min", name), day(lo)),
			b.shadowLimit(pgtype.DateOID, found("max", name), add(day(hi), bounds.One)), false)
	}
	step := sqltext.Literal(truncUnits[t.unit].step) + "::pg_catalog.interval"
	begins := func(end, name string) string { // the first or last beginning of a unit whose instant is so
		return fmt.Sprintf(
			"(SELECT pg_catalog.%s(m.v) FROM (SELECT (pg_catalog.date_trunc(%s::pg_catalog.text, (%s)::pg_catalog.timestamp) OPERATOR(pg_catalog.+) (i OPERATOR(pg_catalog.*) %s)) AS v FROM pg_catalog.generate_series(-%d, %[5]d) AS s(i)) AS m WHERE %[6]s)",
			end, sqltext.Literal(t.unit), c, step, 16/days+2, compare("(m.v)::pg_catalog.timestamptz", name))
	}
	from, to := map[string]string{"=": ">="}[name], map[string]string{"=": "<="}[name]
	if from == "" {
		from, to = name, name
	}
	if name != "<" && name != "<=" {
		lo = b.shadowLimit(pgtype.TimestamptzOID, earliest(t.local, begins("min", from)), lo)
	}
	if name != ">" && name != ">=" {
		hi = b.shadowLimit(pgtype.TimestamptzOID, latest(t.local, "("+begins("max", to)+" OPERATOR(pg_catalog.+) "+step+")"),
			hi)
	}
	return t.between(name, lo, hi, false)
}

// quarters prints what is said of a quarter of an hour: each of those in which the local time may be a given one, l,
// for any zone. p is its beginning, q its end, f and n are the local times of these, and turns says that the offset
// changes in between, and not at the end. OFFSET 0 keeps PostgreSQL from computing them again wherever they are read.
func quarters(local, at, value string) string {
	of := func(instant string) string { return fmt.Sprintf(local, instant) }
	return fmt.Sprintf(
		`(SELECT %[1]s FROM (SELECT t.l, t.p, t.q, t.f, t.n, (t.e OPERATOR(pg_catalog.<>) (t.f OPERATOR(pg_catalog.+) '00:14:59.999999'::pg_catalog.interval)) AS turns `+
			`FROM (SELECT p.l, p.p, p.q, %[2]s AS f, %[3]s AS n, %[4]s AS e FROM (SELECT z.l, (z.a OPERATOR(pg_catalog.+) (i OPERATOR(pg_catalog.*) %[5]s)) AS p, (z.a OPERATOR(pg_catalog.+) ((i OPERATOR(pg_catalog.+) 1) OPERATOR(pg_catalog.*) %[5]s)) AS q `+
			`FROM (SELECT x.l, (pg_catalog.timezone('UTC', x.l) OPERATOR(pg_catalog.-) '168:00:00'::pg_catalog.interval) AS a FROM (SELECT %[6]s AS l) AS x) AS z CROSS JOIN pg_catalog.generate_series(-1, %[7]d) AS s(i)) AS p OFFSET 0) AS t) AS r)`,
		value, of("p.p"), of("p.q"), of("(p.q OPERATOR(pg_catalog.-) '00:00:00.000001'::pg_catalog.interval)"), localStep, at,
		localSteps)
}

// earliest prints the first instant whose local time is at or later.
func earliest(local, at string) string {
	return quarters(local, at, "LEAST(pg_catalog.min(CASE WHEN r.f OPERATOR(pg_catalog.>) (r.l OPERATOR(pg_catalog.-) "+
		localStep+
		") THEN (r.p OPERATOR(pg_catalog.+) GREATEST('0'::pg_catalog.interval, (r.l OPERATOR(pg_catalog.-) r.f))) END), "+
		"pg_catalog.min(CASE WHEN r.turns AND r.n OPERATOR(pg_catalog.>) r.l THEN (r.q OPERATOR(pg_catalog.-) LEAST("+
		localStep+", (r.n OPERATOR(pg_catalog.-) r.l))) END))")
}

// latest prints the last instant whose local time is before at.
func latest(local, at string) string {
	return quarters(
		local, at,
		"(GREATEST(pg_catalog.max(CASE WHEN r.f OPERATOR(pg_catalog.<) r.l THEN (r.p OPERATOR(pg_catalog.+) LEAST("+localStep+
			", (r.l OPERATOR(pg_catalog.-) r.f))) END), "+
			"pg_catalog.max(CASE WHEN r.turns AND r.n OPERATOR(pg_catalog.>=) r.l AND r.n OPERATOR(pg_catalog.<) (r.l OPERATOR(pg_catalog.+) "+localStep+") THEN (r.q OPERATOR(pg_catalog.-) (r.n OPERATOR(pg_catalog.-) r.l)) END)) OPERATOR(pg_catalog.-) '00:00:00.000001'::pg_catalog.interval)")
}

// limitNodes is what a limit that the shadow computes counts among the nodes of an expression: it looks at some hundred
// hours.
const limitNodes = 1000

// shadowLimit has the shadow compute a limit. Until that is possible, or where it is not, the limit is one that holds
// in any zone.
func (b *builder) shadowLimit(oid uint32, sql string, otherwise *big.Rat) *big.Rat {
	*b.built += limitNodes
	named := pg_query.MakeFuncCallNode([]*pg_query.Node{pg_query.MakeStrNode("local limit")},
		[]*pg_query.Node{pg_query.MakeAConstStrNode(sql, -1)}, -1)
	value, known, err := b.scope.Compute(named, oid, query.Raw(sql))
	if err != nil || !known || value == nil {
		return otherwise
	}
	x, err := typed(oid, *value, -1)
	if err != nil || !x.bounds.Finite() {
		return otherwise
	}
	return x.bounds.Lo
}
