package rewrite_test

import (
	"context"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// BenchmarkPlan measures the two halves of planning: Parse and Analyze happen once per text, Plan at every Bind.
func BenchmarkPlan(b *testing.B) {
	const sql = "SELECT ward, count(*), avg(age), sum(income) FROM patients WHERE age BETWEEN 18 AND 65 AND diagnosis = 'flu' GROUP BY ward HAVING count(*) > 5 ORDER BY 2 DESC"
	q, err := theWorld.ask(sql, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse+analyze", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, err := rewrite.Parse(sql, 32768)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := rewrite.Analyze(context.Background(), theWorld.schema, s[0], rewrite.Description{}, settings); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plan", func(b *testing.B) {
		b.ReportAllocs()
		l := cachedLookup{lookup{w: theWorld}, map[string]*rewrite.Table{}, map[string][]rewrite.Canonical{}}
		for b.Loop() {
			if _, err := q.analysis.Plan(context.Background(), nil, l, rewrite.Options{HashKey: "x"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCertify measures what it takes to read a plan's queries for main: all of it, and the parser alone.
func BenchmarkCertify(b *testing.B) {
	for _, q := range []struct{ name, sql string }{
		{
			"grouped",
			"SELECT ward, count(*), avg(age), sum(income) FROM patients WHERE age BETWEEN 18 AND 65 AND diagnosis = 'flu' GROUP BY ward",
		},
		{
			"joined",
			"SELECT p.diagnosis, count(*), avg(v.cost) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE v.urgent GROUP BY 1",
		},
	} {
		asked, err := theWorld.ask(q.sql, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := gate.New(theWorld.schema, asked.plan).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(q.name+"/parser", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, m := range gate.Measures(&asked.plan.Blocks[0]) {
					if _, err := pg_query.Parse(m.SQL.Text); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
