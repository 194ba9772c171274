package clients

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// answered are statements of the corpus that package catalog refuses, and that other packages answer first: the
// analysis of private queries with released values or without looking at a row, the session by a setting of its own
// that reaches no server.
var answered = map[string]bool{
	"SELECT (SELECT count(*) FROM patients)":                    true,
	"WITH a AS (SELECT * FROM patients) SELECT 1":               true,
	"SELECT * FROM wards WHERE EXISTS (SELECT 1 FROM patients)": true,
	"SELECT set_config('work_mem', '1GB', false)":               true,
}

// TestAttacks sends the attack corpus of package catalog over the wire, by both protocols: each statement is refused
// with a code of the contract, and the session goes on.
func TestAttacks(t *testing.T) {
	_, db, dsn := start(t)
	files, err := filepath.Glob("../../../internal/rewrite/catalog/testdata/refused/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	c := connect(t, dsn)
	ctx := context.Background()
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		input, _, _ := strings.Cut(string(raw), "\n----\n")
		for _, sql := range strings.Split(input, "\n")[1:] {
			sql = strings.ReplaceAll(sql, "clinic.", db+".")
			if answered[sql] {
				continue
			}
			_, simple := c.conn.Exec(ctx, sql).ReadAll()
			extended := c.conn.ExecParams(ctx, sql, nil, nil, nil, nil).Read().Err
			for protocol, err := range map[string]error{"simple": simple, "extended": extended} {
				var e *pgconn.PgError
				if !errors.As(err, &e) {
					t.Errorf("%s protocol: %s: %v", protocol, sql, err)
				} else if strings.HasPrefix(e.Code, "XX") || strings.HasPrefix(e.Code, "08") {
					t.Errorf("%s protocol: %s: %s %s", protocol, sql, e.Code, e.Message)
				}
			}
			if c.conn.IsClosed() {
				t.Fatalf("%s: the session ended", sql)
			}
		}
	}
	if got := c.run(statement{sql: "SELECT epsilon_spent FROM dpproxy.budget"}); got.err != nil || got.values != "0|" {
		t.Errorf("refused statements cost %s, %v; want nothing", got.values, got.err)
	}
}
