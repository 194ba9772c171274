package rewrite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// FuzzRewrite feeds any text: it is refused with a client's error, or its plan's SQL parses, and the plan is the same
// the second time. Names are not checked by a shadow here, so the analysis sees what PostgreSQL would have refused.
func FuzzRewrite(f *testing.F) {
	for _, q := range corpus(f) {
		f.Add(q.sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		statements, err := rewrite.Parse(sql, 4096)
		if err != nil {
			mustBeClientError(t, sql, err)
			return
		}
		for _, s := range statements {
			types := make([]uint32, 4)
			for i := range types {
				types[i] = 23
			}
			a, err := rewrite.Analyze(context.Background(), theWorld.schema, s, rewrite.Description{ParameterTypes: types},
				settings)
			if err != nil {
				mustBeClientError(t, sql, err)
				continue
			}
			if a.Route != rewrite.RoutePrivate {
				continue
			}
			one := rewrite.Canonical("1")
			values := rewrite.Values{&one, &one, &one, &one}
			p, err := a.Plan(context.Background(), values, lookup{w: theWorld.then()}, rewrite.Options{HashKey: "k"})
			if err != nil {
				mustBeClientError(t, sql, err)
				continue
			}
			again, err := a.Plan(context.Background(), values, lookup{w: theWorld.then()}, rewrite.Options{HashKey: "k"})
			if err != nil || again.Fingerprint != p.Fingerprint {
				t.Fatalf("%q: two plans of one statement differ: %v", sql, err)
			}
			texts := []string{p.Finish.SQL}
			for _, k := range p.Blocks {
				texts = append(texts, k.Measure.Text)
			}
			for _, text := range texts {
				if _, err := pg_query.Parse(text); err != nil {
					t.Fatalf("%q: %q does not parse: %v", sql, text, err)
				}
			}
		}
	})
}

func mustBeClientError(t *testing.T, sql string, err error) {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		t.Fatalf("%q: not a client's error: %v", sql, err)
	}
	if pe.Code == "XX000" {
		t.Fatalf("%q: %v", sql, err)
	}
}
