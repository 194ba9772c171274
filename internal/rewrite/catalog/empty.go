package catalog

import pg_query "github.com/pganalyze/pg_query_go/v6"

// Empty reports whether a statement returns no row whatever its tables hold: LIMIT 0, or a WHERE that is false by its
// form, without aggregates. Tools ask for a table's columns that way (Tableau, Metabase). Such a statement may name
// private relations: it runs on the shadow.
func Empty(stmt *pg_query.Node) bool {
	s := stmt.GetSelectStmt()
	if s == nil {
		return false
	}
	if n, ok := constantInt(s.LimitCount); ok && n == 0 {
		return true
	}
	return s.Op == pg_query.SetOperation_SETOP_NONE && len(s.GroupClause) == 0 && s.HavingClause == nil &&
		plainTargets(s) && falseByForm(s.WhereClause)
}

// plainTargets reports whether a SELECT list has columns and constants only, so that no aggregate makes a row out of
// none.
func plainTargets(s *pg_query.SelectStmt) bool {
	for _, t := range s.TargetList {
		v := t.GetResTarget().GetVal()
		if v.GetColumnRef() == nil && v.GetAConst() == nil {
			return false
		}
	}
	return true
}

// falseByForm reads FALSE, 1 = 0, 1 <> 1, 0 = 1 and the like.
func falseByForm(n *pg_query.Node) bool {
	if b := n.GetAConst().GetBoolval(); n.GetAConst() != nil && b != nil {
		return !b.Boolval
	}
	e := n.GetAExpr()
	if e == nil || e.Kind != pg_query.A_Expr_Kind_AEXPR_OP || len(e.Name) != 1 || e.Lexpr.GetAConst() == nil ||
		e.Rexpr.GetAConst() == nil {
		return false
	}
	l, okL := constantInt(e.Lexpr)
	r, okR := constantInt(e.Rexpr)
	if !okL || !okR {
		return false
	}
	switch e.Name[0].GetString_().GetSval() {
	case "=":
		return l != r
	case "<>", "!=":
		return l == r
	}
	return false
}
