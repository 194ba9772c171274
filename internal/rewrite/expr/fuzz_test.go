package expr

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// FuzzBuild: no text that parses makes analysis panic, and what it prints parses.
func FuzzBuild(f *testing.F) {
	for _, file := range []string{"testdata/accepted.txt", "testdata/refused.txt"} {
		for _, line := range corpus(f, file) {
			text, _, _ := cutLine(line)
			f.Add(text)
		}
	}
	scope := offlineScope(f)
	value := "5"
	scope.types, scope.values, scope.known = []uint32{pgtype.Int4OID, pgtype.TextOID, 1007}, []*string{&value, nil, nil},
		true
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		tree, err := pg_query.Parse("SELECT " + text)
		if err != nil || len(tree.Stmts) != 1 {
			return
		}
		for _, target := range tree.Stmts[0].Stmt.GetSelectStmt().GetTargetList() {
			e, err := Build(target.GetResTarget().GetVal(), scope)
			if err != nil {
				continue
			}
			texts := []string{sqlOf(e), sqlOf(e.Read())}
			if m, err := Measured(e, GridRule{}); err == nil {
				texts = append(texts, query.Text(m.SQL))
			}
			if k, err := Keys(e, Limits{100, 100}); err == nil {
				texts = append(texts, "("+k.SQL+")")
			}
			for _, sql := range texts {
				if _, err := pg_query.Parse("SELECT " + sql); err != nil {
					t.Errorf("%v: %s", err, sql)
				}
			}
		}
	})
}
