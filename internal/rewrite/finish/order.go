package finish

import (
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// orderOf says by which aggregate a query of groups sorts them first; nil: by none, or its rows are not its groups.
func orderOf(s *pg_query.SelectStmt, alias string) *release.Order {
	if len(s.SortClause) == 0 || len(s.DistinctClause) > 0 || s.HavingClause != nil || s.LimitOffset != nil {
		return nil
	}
	by := s.SortClause[0].GetSortBy()
	x := by.GetNode()
	names := sqltree.StringList(x.GetColumnRef().GetFields())
	for i, t := range s.TargetList {
		if r := t.GetResTarget(); len(names) == 1 && r.Name == names[0] || int(x.GetAConst().GetIval().GetIval()) == i+1 {
			names = sqltree.StringList(r.Val.GetColumnRef().GetFields())
			break
		}
	}
	if len(names) != 2 || names[0] != alias || names[1][0] != 'a' || len(by.UseOp) > 0 {
		return nil
	}
	call, err := strconv.Atoi(names[1][1:])
	if err != nil {
		return nil
	}
	o := &release.Order{Column: call - 1, Descending: by.SortbyDir == pg_query.SortByDir_SORTBY_DESC}
	o.Limit = int(s.LimitCount.GetAConst().GetIval().GetIval())
	return o
}
