package integration_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestSecondServeOnOneLedgerFileExitsOne(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	out, err := p.command("serve").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "in use by another process") || strings.Contains(string(out), "goroutine") {
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
	before := spent(t, conn)
	if got := ask(measured + "; SELECT 1; " + measured); len(got) != 3 || got[0] != got[2] {
		t.Errorf("answers: %v", got)
	}
	if cost := spent(t, conn) - before; cost < 0.49 || cost > 0.51 {
		t.Errorf("cost %v, want 0.5", cost)
	}
	// A cursor that nobody fetched from has no answer to give: the second statement is charged after all.
	before = spent(t, conn)
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
	for _, args := range [][]string{{"budget", "--policy", p.policy, "show", "--json"}, {"budget", "show", "--json", "--policy", p.policy}, {"--policy", p.policy, "budget", "show", "--json"}} {
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
