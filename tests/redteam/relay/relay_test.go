package relay_test

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

// TestRelayRecordsWhatRuns: what is executed, with its values as they were sent, and nothing that was only parsed.
func TestRelayRecordsWhatRuns(t *testing.T) {
	s := pgservertest.Start(t)
	defer pgservertest.Stop()
	r, err := relay.Start(net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s@%s/postgres?sslmode=prefer", pgserver.Superuser, r.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	pg := conn.PgConn()
	if _, err := pg.Prepare(ctx, "only_parsed", "SELECT $1::int4 + 1", nil); err != nil {
		t.Fatal(err)
	}
	p := pg.StartPipeline(ctx)
	p.SendQueryParams("BEGIN", nil, nil, nil, nil)
	p.SendQueryParams("SELECT $1::int4, $2::text", [][]byte{{0, 0, 0, 7}, nil}, []uint32{23, 25}, []int16{1, 0}, nil)
	p.SendQueryPrepared("only_parsed", [][]byte{[]byte("41")}, nil, nil)
	p.SendQueryParams("COMMIT", nil, nil, nil, nil)
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := pg.Exec(ctx, "SELECT 2; SELECT 3").ReadAll(); err != nil {
		t.Fatal(err)
	}
	got, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	want := []relay.Query{
		{SQL: "BEGIN"},
		{
			SQL: "SELECT $1::int4, $2::text", Types: []uint32{23, 25}, Formats: []int16{1, 0},
			Values: [][]byte{{0, 0, 0, 7}, nil},
		},
		{SQL: "SELECT $1::int4 + 1", Values: [][]byte{[]byte("41")}},
		{SQL: "COMMIT"},
		{SQL: "SELECT 2; SELECT 3"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d queries: %v", len(got), got)
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.SQL != w.SQL || !reflect.DeepEqual(g.Values, w.Values) && len(g.Values)+len(w.Values) > 0 || len(w.Types) > 0 &&
			!reflect.DeepEqual(g.Types, w.Types) || len(w.Formats) > 0 && !reflect.DeepEqual(g.Formats, w.Formats) {
			t.Errorf("query %d: %+v, want %+v", i, g, w)
		}
	}
	if again, err := r.Take(); err != nil || len(again) != 0 {
		t.Errorf("taken twice: %v, %v", again, err)
	}
}
