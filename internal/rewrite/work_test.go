package rewrite_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// heaviest are statements near the limit of work, each of another kind, that are busy with one person's row alone. %s is the
// person's name.
var heaviest = []string{
	"SELECT count(*) FROM patients p, generate_series(1, 200) a(x), generate_series(1, 250) b(y) WHERE p.name = '%s'",
	"SELECT count(DISTINCT x * 1000 + y), sum(x * y), avg(x + y) FROM patients p, generate_series(1, 120) a(x), generate_series(1, 150) b(y) WHERE p.name = '%s'",
	"SELECT count(*) FROM patients p WHERE CASE WHEN name = '%s' THEN EXISTS (SELECT FROM generate_series(1, 260) a(x), generate_series(1, 400) b(y) WHERE a.x + b.y = p.score - 10) END",
	"SELECT count(*) FROM patients p WHERE CASE WHEN name = '%s' THEN EXISTS (SELECT FROM generate_series(1, 380) a(x) WHERE EXISTS (SELECT FROM generate_series(1, 400) b(y) WHERE a.x + b.y = p.score - 10)) END",
	"SELECT count(*) FROM patients p WHERE CASE WHEN name = '%s' THEN p.score > ALL (SELECT a.x - 100000 FROM generate_series(1, 280) a(x), generate_series(1, 300) b(y)) END",
	"SELECT count(*) FROM (SELECT p.id, rank() OVER (PARTITION BY p.id ORDER BY y) r, sum(x) OVER (PARTITION BY p.id ORDER BY x) s FROM patients p, generate_series(1, 150) a(x), generate_series(1, 170) b(y) WHERE p.name = '%s') s WHERE r + s = 1",
	"SELECT count(*) FROM (SELECT p.id, max(x) OVER (PARTITION BY p.id ORDER BY x ROWS BETWEEN 9000 PRECEDING AND 1 PRECEDING EXCLUDE CURRENT ROW) s FROM patients p, generate_series(1, 1100) a(x) WHERE p.name = '%s') s WHERE s = 1",
	"SELECT count(*) FROM patients p, generate_series(1, 900) a(x) WHERE p.name = '%s' AND power(p.age + a.x + 0.5, 20.5 + p.score) = 3",
	"SELECT count(*) FROM patients p, generate_series(1, 600) a(x) WHERE p.name = '%s' AND (left(p.note, 1000) LIKE '%%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab%%' OR p.score = a.x + 100)",
	"SELECT count(*) FROM patients p, generate_series(1, 280) a(x) WHERE p.name = '%s' AND (left(p.note, 1000) SIMILAR TO '%%a____________________c%%' OR p.score = a.x + 100)",
	"SELECT count(*) FROM (SELECT p.id, x * y AS k, count(*) n, avg(x) av, var_samp(y) va FROM patients p, generate_series(1, 180) a(x), generate_series(1, 170) b(y) WHERE p.name = '%s' GROUP BY 1, 2) s WHERE n > 1",
}

// TestWorkInTime: a step takes no more than 25 ns of main's processor, several times what it took where the limit was chosen: what one
// person's row adds to the statements that are the most work is not long.
func TestWorkInTime(t *testing.T) {
	ctx := context.Background()
	exec := func(sql string) {
		t.Helper()
		if _, err := theWorld.main.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`SET jit = off; TRUNCATE patients;
		INSERT INTO patients SELECT i, 'p' || i, 40, 1234.56, 70, 1.7, 3, 'flu', 'icu', '2020-05-05', '2020-06-06', '3 days', true, 'good', 5, repeat('a', 4000) FROM generate_series(1, 50) i;
		ANALYZE patients`)
	defer exec("TRUNCATE patients; RESET jit")
	for _, sql := range heaviest {
		there, steps := busy(t, fmt.Sprintf(sql, "p7"))
		without, _ := busy(t, fmt.Sprintf(sql, "nobody"))
		t.Logf("%v of %d steps: %.80s", there-without, steps, sql)
		if steps < 4<<20 {
			t.Errorf("%d steps are far from the limit: %s", steps, sql)
		}
		if limit := time.Duration(25 * steps); there-without > limit {
			t.Errorf("one person's row takes %v, its %d steps at most %v: %s", there-without, steps, limit, sql)
		}
	}
}

// busy is the processor time that main needs for a statement, the least of three runs, and the steps that were counted for it.
func busy(t *testing.T, sql string) (time.Duration, int64) {
	q, err := theWorld.ask(sql, nil)
	if err != nil {
		t.Fatalf("%s: %s", sql, refusalText(err))
	}
	process := fmt.Sprintf("/proc/%d/schedstat", theWorld.main.PgConn().PID())
	ran := func() (ns time.Duration) {
		text, err := os.ReadFile(process)
		if err != nil {
			t.Skip("the system does not tell processor times")
		}
		if _, err := fmt.Sscan(string(text), &ns); err != nil {
			t.Fatal(err)
		}
		return ns
	}
	best := time.Hour
	for range 3 {
		before := ran()
		if _, err := theWorld.query(q.plan.Blocks[0].Measure, nil); err != nil {
			t.Fatal(err)
		}
		best = min(best, ran()-before)
	}
	return best, q.plan.Blocks[0].Steps
}
