package certify_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// mutated changes a text at one or two places, at random.
func mutated(r *random, sql string, parts []string) string {
	tree, err := pg.Parse(sql)
	if err != nil {
		return ""
	}
	for range 1 + r.IntN(2) {
		all, froms := mutantsOf(tree), []*pg.Node{}
		nodes(reflect.ValueOf(tree.Stmts), func(n *pg.Node) {
			if n.GetRangeSubselect() != nil || n.GetRangeVar() != nil {
				froms = append(froms, n)
			}
		})
		if len(froms) > 0 && len(parts) > 0 && r.often(25) { // another table or subquery in the place of one
			part, err := pg.Parse(parts[r.IntN(len(parts))])
			if err != nil {
				return ""
			}
			at := froms[r.IntN(len(froms))]
			all = []mutant{set("part", &at.Node, part.Stmts[0].Stmt.GetSelectStmt().FromClause[0].Node)}
		}
		if len(all) > 0 {
			all[r.IntN(len(all))].do()
		}
	}
	text, err := pg.Deparse(tree)
	if err != nil {
		return ""
	}
	return text
}

// source writes texts: new ones, and changes of those that were certified, and of the corpus.
type source struct {
	*random
	pool  []tried
	parts []string // SELECT FROM tables and subqueries of the corpus
	seen  map[string]bool
	asked int
}

func newSource(t *testing.T, r *random) *source {
	s := &source{random: r, seen: map[string]bool{}}
	for _, m := range readCorpus(t) {
		if len(m.sql) > 6000 {
			continue
		}
		s.pool = append(s.pool, tried{from: m.file, sql: m.sql, parameters: m.parameters})
		tree, err := pg.Parse(m.sql)
		if err != nil {
			t.Fatal(err)
		}
		nodes(reflect.ValueOf(tree.Stmts), func(n *pg.Node) {
			if n.GetRangeSubselect() == nil && n.GetRangeVar() == nil {
				return
			}
			alone := &pg.ParseResult{
				Stmts: []*pg.RawStmt{
					{Stmt: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{FromClause: []*pg.Node{n}}}}},
				},
			}
			if part, err := pg.Deparse(alone); err == nil {
				s.parts = append(s.parts, part)
			}
		})
	}
	return s
}

// next is a certified text that was not there before.
func (s *source) next() tried {
	for {
		q := tried{from: "random", parameters: someParameters}
		if s.often(50) {
			q.sql = s.query()
		} else {
			q = s.pool[s.IntN(len(s.pool))]
			q.from, q.sql = "change of "+strings.TrimPrefix(q.from, "change of "), mutated(s.random, q.sql, s.parts)
		}
		if s.asked++; q.sql == "" || len(q.sql) > 8000 || s.seen[q.sql] {
			continue
		}
		c, err := certify.Check(clinic, q.sql, q.parameters, nil)
		if err != nil || !slices.ContainsFunc(c.Outputs, func(o certify.Output) bool { return o.Kind == certify.Integer }) {
			continue
		}
		s.seen[q.sql], q.outputs = true, c.Outputs
		if s.pool = append(s.pool, q); len(s.pool) > 4000 {
			s.pool[s.IntN(len(s.pool)-1)] = q
			s.pool = s.pool[:4000]
		}
		return q
	}
}
