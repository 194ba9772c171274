package finish

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// existence rewrites a statement that asks whether there is a private row, as SELECT 1 FROM t WHERE … LIMIT 1, as
// SELECT 1 WHERE EXISTS (SELECT FROM t WHERE …), which has one row or none. The order of the rows does not matter. It
// returns the number of the parameter that has to be 1 for that, or 0.
func (c *correlator) existence(s *pg_query.SelectStmt) (limit int) {
	rows := &pg_query.SelectStmt{ // what is asked, without its constants, order and limit
		FromClause: s.FromClause, WhereClause: s.WhereClause, LimitOption: pg_query.LimitOption_LIMIT_OPTION_DEFAULT,
		Op: s.Op,
	}
	limit = int(s.LimitCount.GetParamRef().GetNumber())
	one := s.LimitCount.GetAConst().GetIval().GetIval() == 1 || limit > 0
	bare := sqltree.Clone(s)
	bare.WithClause, bare.LimitCount = nil, nil
	if !one || s.LimitOption != pg_query.LimitOption_LIMIT_OPTION_COUNT || !constants(s.TargetList) ||
		!plain(bare, true) || sqltree.Aggregates(s) {
		return 0
	}
	private, err := c.overPrivate(s, bind.WithCTEs(s.WithClause, nil))
	if err != nil || !private {
		return 0
	}
	rows.TargetList = []*pg_query.Node{sqltree.Target("", sqltree.Integer(1))}
	s.FromClause, s.SortClause, s.WhereClause = nil, nil, sqltree.SubLink(pg_query.SubLinkType_EXISTS_SUBLINK, rows, -1)
	return limit
}

// constants reports whether there are outputs and all are constants.
func constants(targets []*pg_query.Node) bool {
	for _, t := range targets {
		x := uncast(t.GetResTarget().GetVal())
		if x.GetAConst() == nil && x.GetParamRef() == nil {
			return false
		}
	}
	return len(targets) > 0
}

// checkExistence refuses a statement that asks for more rows than one, once the value of its LIMIT is known.
func (t *Template) checkExistence(b *relation.Base) error {
	if t.limit == 0 || b.Lookup == nil {
		return nil
	}
	if _, value, known := b.Parameter(t.limit); known && value != nil && (*value == "0" || *value == "1") {
		return nil
	}
	return refusal.New(refusal.Rows, "rows of a private table are never returned",
		pgerr.Hint("Ask whether there is one with LIMIT 1, or count them."))
}
