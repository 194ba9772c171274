package certify

import (
	"fmt"
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// lemma says that at most so many rows of a table agree in columns that are not NULL, or that a subquery has so many.
type lemma struct {
	table   string
	query   string // its text, whatever its tables are called
	columns []string
	most    *big.Rat
}

// lemmas reads the questions that main has answered with true.
//
// Rule: «SELECT COALESCE(max(g.n), 0) <= N FROM (SELECT a, …, count(*) AS n FROM ONLY t WHERE a IS NOT NULL … GROUP BY
// a, …) AS g» of a table t: at most N rows agree in a, …; without a and GROUP BY, t, maybe a subquery, has at most N.
// Proof: n counts them. What is read is printed again, and has to be the same.
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
		t, query := of.FromClause[0].GetRangeVar(), of.FromClause[0].GetRangeSubselect()
		if query != nil { // in its place, for now
			t = &pg.RangeVar{Schemaname: "t", Relname: "t", Alias: query.Alias}
		}
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
			most.RatString(), strings.Join(outputs, ""), quoted(t.GetSchemaname()), quoted(t.GetRelname()),
			quoted(t.GetAlias().GetAliasname()))
		if len(where) > 0 {
			again += " WHERE " + strings.Join(where, " AND ") + " GROUP BY " + strings.Join(group, ", ")
		}
		tree2, err := pg.Parse(again + ") AS g")
		if err == nil && query != nil && len(of.TargetList) == 1 {
			l.table, l.query = "", anyNames(query.Subquery)
			counted := tree2.Stmts[0].Stmt.GetSelectStmt().FromClause[0].GetRangeSubselect().Subquery.GetSelectStmt()
			counted.FromClause = of.FromClause
		}
		if err == nil && text(tree2.Stmts[0].Stmt) == text(tree.Stmts[0].Stmt) {
			all = append(all, l)
		}
	}
	return all
}

// anyNames is the text of a query with its tables named by the order in which they are met, or "".
//
// Rule: queries of one such text have the same rows. Proof: names are changed one to one, where given, each in an AS,
// and where columns are of them, each as table.column; no parameter and no other name that might be a table's is in it.
func anyNames(n *pg.Node) string {
	called, ok := map[string]string{}, true
	call := func(name string) string {
		if called[name] == "" {
			called[name] = fmt.Sprintf("#%d", len(called))
		}
		return called[name]
	}
	key := textWith(n, func(x any) string {
		switch x := x.(type) {
		case *pg.Alias:
			return "AS " + call(x.Aliasname) + text(x.Colnames)
		case *pg.ColumnRef:
			if len(x.Fields) == 2 && x.Fields[0].GetString_() != nil {
				return "column " + call(x.Fields[0].GetString_().Sval) + text(x.Fields[1])
			}
			ok = false
		case *pg.RangeVar:
			ok = ok && x.Alias != nil && x.Schemaname != ""
		case *pg.RangeSubselect:
			ok = ok && x.Alias != nil
		case *pg.RangeFunction, *pg.JoinExpr, *pg.WithClause, *pg.ParamRef:
			ok = false
		}
		return ""
	})
	if !ok {
		return ""
	}
	return key
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
