package certify

import (
	"fmt"
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// lemma says that at most so many rows of a table agree in columns that are not NULL.
type lemma struct {
	table   string
	columns []string
	most    *big.Rat
}

// lemmas reads the questions that main has answered with true.
//
// Rule: «SELECT COALESCE(max(g.n), 0) <= N FROM (SELECT a, …, count(*) AS n FROM ONLY t WHERE a IS NOT NULL … GROUP BY a, …) AS g», or
// without a and GROUP BY, of a table t: N rows at most agree in a, …. Proof: n counts them. What stands there is read loosely and
// printed again: only what is the same text as that is read at all.
func lemmas(proven []string) (all []lemma) {
	for _, sql := range proven {
		tree, err := pg.Parse(sql)
		if err != nil || len(tree.Stmts) != 1 {
			continue
		}
		q := tree.Stmts[0].Stmt.GetSelectStmt()
		if len(q.GetTargetList()) != 1 || len(q.GetFromClause()) != 1 {
			continue
		}
		most, ok := integerConstant(q.TargetList[0].GetResTarget().GetVal().GetAExpr().GetRexpr())
		of := q.FromClause[0].GetRangeSubselect().GetSubquery().GetSelectStmt()
		if !ok || len(of.GetFromClause()) != 1 || len(of.GetTargetList()) == 0 {
			continue
		}
		t := of.FromClause[0].GetRangeVar()
		l := lemma{table: TableName(t.GetSchemaname(), t.GetRelname()), most: most}
		var outputs, where, group []string
		for i, o := range of.TargetList[:len(of.TargetList)-1] {
			if f := o.GetResTarget().GetVal().GetColumnRef().GetFields(); len(f) == 2 {
				l.columns = append(l.columns, f[1].GetString_().GetSval())
				c := quoted(f[0].GetString_().GetSval()) + "." + quoted(f[1].GetString_().GetSval())
				outputs = append(outputs, fmt.Sprintf("%s AS v%d, ", c, i+1))
				where, group = append(where, c+" IS NOT NULL"), append(group, fmt.Sprint(i+1))
			}
		}
		again := fmt.Sprintf("SELECT COALESCE(max(g.n), 0) <= %s FROM (SELECT %scount(*) AS n FROM ONLY %s.%s AS %s",
			most.RatString(), strings.Join(outputs, ""), quoted(t.GetSchemaname()), quoted(t.GetRelname()), quoted(t.GetAlias().GetAliasname()))
		if len(where) > 0 {
			again += " WHERE " + strings.Join(where, " AND ") + " GROUP BY " + strings.Join(group, ", ")
		}
		if tree2, err := pg.Parse(again + ") AS g"); err == nil && text(tree2.Stmts[0].Stmt) == text(tree.Stmts[0].Stmt) {
			all = append(all, l)
		}
	}
	return all
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
