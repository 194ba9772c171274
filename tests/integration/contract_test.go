package integration_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestSecondServeOnOneLedgerFileExitsOne(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	out, err := p.command("serve").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "in use by another process") ||
		strings.Contains(string(out), "goroutine") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSameQuestionTwiceInOneMessageIsChargedOnce(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	ctx := context.Background()
	ask := func(sql string) (values []string) {
		t.Helper()
		results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			for _, row := range r.Rows {
				values = append(values, string(row[0]))
			}
		}
		return values
	}
	if got := ask(measured + "; SELECT 1; " + measured); len(got) != 3 || got[0] != got[2] {
		t.Errorf("answers: %v", got)
	}
	if charges := ask("SELECT epsilon FROM dpproxy.history"); len(charges) != 1 || charges[0] != "0.5" {
		t.Errorf("charged %v, want 0.5 once", charges)
	}
	// A cursor that nobody fetched from has no answer to give: the second statement is charged after all.
	before := spent(t, conn)
	const other = "SELECT count(*) FROM patients WHERE age > 34"
	ask("BEGIN; DECLARE c CURSOR FOR " + other + "; " + other + "; COMMIT")
	if cost := spent(t, conn) - before; cost <= 0 {
		t.Errorf("an answer for nothing: %v", cost)
	}
}

func TestBudgetCommandTakesFlagsAnywhere(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	if _, err := p.connect(func(c *pgx.ConnConfig) { c.User = "bob" }).Exec(context.Background(), measured); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"budget", "--policy", p.policy, "show", "--json"},
		{"budget", "show", "--json", "--policy", p.policy},
		{"--policy", p.policy, "budget", "show", "--json"},
	} {
		out, err := exec.Command(executable, args...).Output()
		if err != nil || !strings.Contains(string(out), `"epsilon_spent": 0.5`) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

func TestWhatIsComputedOfAnAnswerIsFree(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	ctx := context.Background()
	var first, second, third int64
	if err := conn.QueryRow(ctx, measured).Scan(&first); err != nil {
		t.Fatal(err)
	}
	before := spent(t, conn)
	if err := conn.QueryRow(ctx, "SELECT count(*) AS n FROM public.patients WHERE age > 33").Scan(&second); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(ctx, "SELECT 2 * count(*) FROM patients WHERE age > 33").Scan(&third); err != nil {
		t.Fatal(err)
	}
	if second != first || third != 2*first || spent(t, conn) != before {
		t.Errorf("answers %d, %d, %d; %v spent, then %v", first, second, third, before, spent(t, conn))
	}
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM patients WHERE age > 34").Scan(&second); err != nil {
		t.Fatal(err)
	}
	if spent(t, conn) <= before {
		t.Error("another question was free")
	}
}

func TestMarginsDecideTheCost(t *testing.T) {
	p := start(t, purePolicy(), clinic)
	conn := p.connect()
	ctx := context.Background()
	cost := func(sql string) float64 {
		t.Helper()
		before := spent(t, conn)
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return spent(t, conn) - before
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if got < 0.95*want || got > 1.05*want {
			t.Errorf("%s costs %v, want about %v", what, got, want)
		}
	}
	const laplace20 = 0.148 // ln(20)/ε − ½ = 20
	near("a margin of 20", cost("SELECT dpproxy.within(count(*), 20) FROM patients WHERE age > 10"), laplace20)
	near("a margin of 20 beside a sum",
		cost("SELECT dpproxy.within(count(*), 20) AS n, sum(age) FROM patients WHERE age > 11"), 0.25+laplace20)
	near("a narrower margin of the same question", cost("SELECT dpproxy.within(count(*), 10) FROM patients WHERE age > 10"),
		2*laplace20)
	near("a wider one", cost("SELECT dpproxy.within(count(*), 40) FROM patients WHERE age > 10"), 0)
	near("the first again", cost("SELECT dpproxy.within(count(*), 20) FROM patients WHERE age > 10"), 0)
	var width int64
	if err := conn.QueryRow(
		ctx,
		"SELECT dpproxy.interval_high(count(*)) - dpproxy.interval_low(count(*)) FROM patients WHERE age > 12 HAVING dpproxy.within(count(*), 20) > 0").Scan(&width); err != nil || width > 40 {
		t.Errorf("interval of width %d, %v", width, err)
	}
	near("dpproxy.margin", cost("SET dpproxy.margin = '20'; SELECT count(*) FROM patients WHERE age > 13"), laplace20)
	for sql, want := range map[string]string{
		"SELECT max(age) FROM patients":                     "0A000",
		"SELECT sum(age), avg(age) FROM patients":           "0A000",
		"SELECT dpproxy.within(sum(age), 1) FROM patients":  "22023",
		"SELECT dpproxy.within(count(*), .5) FROM visits v": "22023", // up to 10 rows of one unit
	} {
		before := spent(t, conn)
		_, err := conn.Exec(ctx, sql)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != want || refused.Hint == "" || spent(t, conn) != before {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
