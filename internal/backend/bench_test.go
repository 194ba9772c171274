package backend

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// What the pinned, read-only transaction around every statement costs, against the bare statement.

const benchmarkSQL = "SELECT relname FROM pg_class WHERE oid = 1259"

func BenchmarkBare(b *testing.B) {
	s := pgservertest.Start(b)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.DSN("postgres", pgserver.Superuser))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	for b.Loop() {
		if r := conn.PgConn().ExecParams(ctx, benchmarkSQL, nil, nil, nil, nil).Read(); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	backend, ctx := connected(b), context.Background()
	for b.Loop() {
		rows, err := backend.Shadow(ctx, Request{SQL: benchmarkSQL})
		if err != nil {
			b.Fatal(err)
		}
		if err := rows.Each(func([][]byte) {}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMeasure(b *testing.B) {
	backend, ctx := connected(b), context.Background()
	m := Measurement{Admit: anything, Queries: []MeasureQuery{
		{SQL: rewrite.SQL{Text: benchmarkSQL}, Keys: []uint32{textOID}},
	}}
	for b.Loop() {
		if err := backend.Measure(ctx, m, func(MeasureRow) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkProof proves the shape of a table of which a plan relies on two columns, however many others it has.
func BenchmarkProof(b *testing.B) {
	for _, columns := range []int{5, 1600} {
		b.Run(fmt.Sprintf("%d columns", columns), func(b *testing.B) {
			var more strings.Builder
			for i := range columns - 2 {
				fmt.Fprintf(&more, ", c%d int", i)
			}
			s, db := pgservertest.Database(b, "CREATE TABLE p (id bigint PRIMARY KEY, n int"+more.String()+")",
				"CREATE TABLE t ()")
			backend, ctx := connectedTo(b, s.DSN(db, pgserver.Superuser)), context.Background()
			schema, err := backend.Schema(ctx)
			if err != nil {
				b.Fatal(err)
			}
			name := policy.Name{Schema: "public", Relation: "p"}
			relied := map[policy.ColumnOf]bool{{Table: name, Column: "id"}: true, {Table: name, Column: "n"}: true}
			m := Measurement{
				Admit:   anything,
				Queries: []MeasureQuery{{SQL: rewrite.SQL{Text: benchmarkSQL}, Keys: []uint32{textOID}}},
				Proofs:  []rewrite.Proof{schema.Relations[name].ShapeProof(relied)},
			}
			for b.Loop() {
				if err := backend.Measure(ctx, m, func(MeasureRow) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDescribe(b *testing.B) {
	backend, ctx := connected(b), context.Background()
	for b.Loop() {
		if _, err := backend.Describe(ctx, benchmarkSQL, nil, Settings{}); err != nil {
			b.Fatal(err)
		}
	}
}
