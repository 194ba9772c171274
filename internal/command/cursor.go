package command

import (
	"math"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Bits of DeclareCursorStmt.options: PostgreSQL's src/include/nodes/parsenodes.h, CURSOR_OPT_*.
const (
	optBinary   = 0x0001
	optScroll   = 0x0002
	optNoScroll = 0x0004
	optHold     = 0x0020
)

func declare(d *pg_query.DeclareCursorStmt, sql string) Command {
	inner, offset, ok := after(sql, pg_query.Token_FOR)
	if !ok {
		return Refused{pgerr.New(pgerr.SyntaxError, "DECLARE CURSOR without its query")}
	}
	c := Declare{
		Name: d.Portalname, Binary: d.Options&optBinary != 0, Hold: d.Options&optHold != 0, SQL: inner,
		Offset: offset,
	}
	switch {
	case d.Options&optScroll != 0 && d.Options&optNoScroll != 0:
		return Refused{pgerr.New(pgerr.SyntaxError, "cannot specify both SCROLL and NO SCROLL")}
	case d.Options&optScroll != 0:
		c.Scroll = ScrollYes
	case d.Options&optNoScroll != 0:
		c.Scroll = ScrollNo
	}
	return c
}

func fetch(f *pg_query.FetchStmt) Command {
	c := Fetch{Name: f.Portalname, Count: f.HowMany, Move: f.Ismove, All: f.HowMany == math.MaxInt64}
	switch f.Direction {
	case pg_query.FetchDirection_FETCH_BACKWARD:
		c.Direction = Backward
	case pg_query.FetchDirection_FETCH_ABSOLUTE:
		c.Direction = Absolute
	case pg_query.FetchDirection_FETCH_RELATIVE:
		c.Direction = Relative
	}
	return c
}
