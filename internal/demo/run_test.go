package demo

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/synthetic"
)

// TestRunCheck runs the whole demo, with its usual port taken.
func TestRunCheck(t *testing.T) {
	if l, err := net.Listen("tcp", listenAddress); err == nil {
		defer l.Close()
	}
	t.Setenv("TMPDIR", "/tmp")
	var out, progress bytes.Buffer
	if err := Run(context.Background(), Options{Check: true, Synthesize: synthesize}, &out, &progress); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &progress)
	}
	for _, want := range []string{
		"clinic=> SELECT count(*)", "average_age", "NOTICE:  dpproxy: ",
		"% of your budget spent, ", " like this", "(8 rows)", "(3 rows)", "ERROR:  ", "WARNING:  dpproxy: these rows are synthetic",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
	if !strings.Contains(progress.String(), "is taken, so a free port takes its place") {
		t.Errorf("progress:\n%s", &progress)
	}
}

// synthesize is what the command passes.
func synthesize(ctx context.Context, p *policy.Policy, table string, epsilon float64) error {
	l, err := admin.OpenAccount(ctx, p.Ledger, policy.SyntheticAccount, ledger.ConfigOf(p))
	if err != nil {
		return err
	}
	defer l.Close()
	o := synthetic.Options{Tables: []string{table}, Budget: policy.Budget{Epsilon: epsilon, Delta: p.Synthetic.Delta}}
	_, err = synthetic.Run(ctx, p, l, o, synthetic.Database{DSN: p.Databases.Synthesize}, slog.New(slog.DiscardHandler))
	return err
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if err := Run(ctx, Options{Listen: "127.0.0.1:0"}, &bytes.Buffer{}, &bytes.Buffer{}); err != nil {
		t.Errorf("Ctrl-C is no error: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestLoadOnceDoesNothingTwice(t *testing.T) {
	s, db := pgservertest.Database(t)
	ctx := context.Background()
	for range 2 {
		if err := LoadOnce(ctx, s.DSN(db, pgserver.Superuser), 50); err != nil {
			t.Fatal(err)
		}
	}
	if err := Load(ctx, s.DSN(db, pgserver.Superuser), 50); err == nil {
		t.Error("Load overwrote a clinic")
	}
}

func TestAnswerLooksLikePsql(t *testing.T) {
	a := answer{
		columns: []pgconn.FieldDescription{{Name: "ward", DataTypeOID: 25}, {Name: "n", DataTypeOID: 20}},
		rows:    [][]string{{"Süd", "12345"}, {"cardiology", "7"}},
	}
	want := "    ward    |   n   \n" +
		"------------+-------\n" +
		" Süd        | 12345\n" +
		" cardiology |     7\n" +
		"(2 rows)\n"
	if got := a.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	refused := answer{failed: &pgconn.PgError{Message: "no", Hint: "ask for less"}}
	if got := refused.String(); got != "ERROR:  no\nHINT:  ask for less\n" {
		t.Errorf("got %q", got)
	}
}
