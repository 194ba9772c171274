package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// localRange is between which local times a bounded instant lies, in SQL for the shadow. Bounds of local times are as
// wide as any zone may be away from UTC, since nothing that has to be proven rests on what a server knows of a zone. A
// list of values may rest on it: main has the session's zone too, and rows with other values are in no group
// (docs/privacy.md P10d).
type localRange struct{ lo, hi string }

// A zone may turn its clock back, so that the earliest local time is not that of the earliest instant. Steps over as
// long as the greatest change of an offset find it, but for the length of a step, which is taken off.
const (
	localStep  = "'15 minutes'::pg_catalog.interval"
	localSteps = 2 * 168 * 4 // zoneJump
)

// localTimes makes the range of local times of instants within bounds. local prints the local time of an instant; its
// %s is the instant.
func localTimes(instants bounds.Interval, local string) *localRange {
	at := func(instant, away, back, pick string) string {
		moved := fmt.Sprintf("(%s OPERATOR(pg_catalog.%s) (g.i OPERATOR(pg_catalog.*) %s))", instant, away, localStep)
		slack := fmt.Sprintf("(LEAST(g.i, 1) OPERATOR(pg_catalog.*) %s)", localStep)
		return fmt.Sprintf("(SELECT pg_catalog.%s("+local+
			" OPERATOR(pg_catalog.%s) %s) FROM pg_catalog.generate_series(0, %d) AS g(i))", pick, moved, back, slack, localSteps)
	}
	return &localRange{
		lo: at(valueLiteral(pgtype.TimestamptzOID, instants.Lo, false), "+", "-", "min"),
		hi: at(valueLiteral(pgtype.TimestamptzOID, instants.Hi, true), "-", "+", "max"),
	}
}

// inSession prints the local time of an instant in the session's zone.
const inSession = "(%s)::pg_catalog.timestamp"

// localsOf is the range of local times of a date or time with bounds, in the session's zone where it is an instant; nil
// where bounds say it.
func localsOf(x *Expr) *localRange {
	if x.typ == pgtype.TimestamptzOID && !x.provisional && x.bounds.Within(timestampSafe) {
		return localTimes(x.bounds, inSession)
	}
	return x.local
}

// zoneTimes gives timezone(name, instant) the range of its local times.
func (c *call) zoneTimes(e *Expr) {
	if x := c.args[1]; e.typ == pgtype.TimestampOID && !c.args[0].provisional && c.args[0].value != nil &&
		x.bounds.Finite() {
		e.local = localTimes(x.bounds, "pg_catalog.timezone("+query.Text((&printer{}).print(c.args[0]))+", %s)")
	}
}

// days lists the dates of the range, about as many as width has days.
func (r *localRange) days(width bounds.Interval) *series {
	return &series{
		query: fmt.Sprintf(
			"SELECT (a.lo OPERATOR(pg_catalog.+) g.v) AS v FROM (SELECT (%s)::pg_catalog.date AS lo, (%s)::pg_catalog.date AS hi) AS a CROSS JOIN LATERAL pg_catalog.generate_series(0, a.hi OPERATOR(pg_catalog.-) a.lo) AS g(v)", r.lo, r.hi),
		size:  rowCount(add(quo(width.Width(), microsPerDay), rat(2))),
		loose: true,
	}
}

// fields lists a field of the dates of the range that grows with them.
func (r *localRange) fields(function, field string, width, values bounds.Interval) *series {
	return &series{
		query: fmt.Sprintf("SELECT DISTINCT pg_catalog.%s('%s', d.v::pg_catalog.timestamp) AS v FROM (%s) AS d(v)", function,
			field, r.days(width).query),
		size:  rowCount(add(values.Width(), rat(2))),
		loose: true,
	}
}
