package rewrite_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// heaviest are statements near the limit of work, each of another kind, that are busy with one person's row alone. %s
// is the person's name.
var heaviest = []string{
	"SELECT count(*) FROM patients p, generate_series(1, 200) a(x), generate_series(1, 250) b(y) WHERE p.name = '%s'",
	"SELECT count(DISTINCT x * 1000 + y), sum(x * y), avg(x + y) FROM patients p, generate_series(1, 120) a(x), generate_series(1, 150) b(y) WHERE p.name = '%s'",
	"SELECT count(*) FROM patients p WHERE CASE WHEN name = '%s' THEN EXISTS (SELECT FROM generate_series(1, 260) a(x), generate_series(1, 400) b(y) WHERE a.x + b.y = p.score - 10) END",
	"SELECT count(*) FROM patients p WHERE CASE WHEN name = '%s' THEN EXISTS (SELECT FROM generate_series(1, 380) a(x) WHERE EXISTS (SELECT FROM generate_series(1, 400) b(y) WHERE a.x + b.y = p.score - 10)) END",
	"SELECT count(*) FROM patients p WHERE CASE WHEN name = '%s' THEN p.score > ALL (SELECT a.x - 100000 FROM generate_series(1, 280) a(x), generate_series(1, 300) b(y)) END",
	"SELECT count(*) FROM (SELECT p.id, rank() OVER (PARTITION BY p.id ORDER BY y) r, sum(x) OVER (PARTITION BY p.id ORDER BY x) s FROM patients p, generate_series(1, 150) a(x), generate_series(1, 170) b(y) WHERE p.name = '%s') s WHERE r + s = 1",
	"SELECT count(*) FROM (SELECT p.id, max(x) OVER (PARTITION BY p.id ORDER BY x ROWS BETWEEN 9000 PRECEDING AND 1 PRECEDING) s FROM patients p, generate_series(1, 1100) a(x) WHERE p.name = '%s') s WHERE s = 1",
	"SELECT count(*) FROM patients p, generate_series(1, 900) a(x) WHERE p.name = '%s' AND power(p.age + a.x + 0.5, 16) = 3",
	"SELECT count(*) FROM patients p, generate_series(1, 600) a(x) WHERE p.name = '%s' AND (left(p.note, 1000) LIKE '%%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab%%' OR p.score = a.x + 100)",
	"SELECT count(*) FROM patients p, generate_series(1, 45) a(x) WHERE p.name = '%s' AND (left(p.note, 1000) SIMILAR TO '%%a____________________c%%' OR p.score = a.x + 100)",
	"SELECT count(*) FROM (SELECT p.id, x * y AS k, count(*) n, avg(x) av, var_samp(y) va FROM patients p, generate_series(1, 180) a(x), generate_series(1, 170) b(y) WHERE p.name = '%s' GROUP BY 1, 2) s WHERE n > 1",
}

// TestHeaviestAreNearTheLimit keeps BenchmarkStep about what is accepted and a lot.
func TestHeaviestAreNearTheLimit(t *testing.T) {
	for _, sql := range heaviest {
		sql = fmt.Sprintf(sql, "p7")
		q, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Errorf("%s: %s", sql, refusalText(err))
		} else if steps := q.plan.Blocks[0].Steps; steps < 4<<20 {
			t.Errorf("%d steps are far from the limit: %s", steps, sql)
		}
	}
}

// BenchmarkStep reports what one person's row adds to the statements that are the most work, in main's processor time:
// in all, and by each step that was counted. Where the limit was chosen, a step took 8 ns at the most.
func BenchmarkStep(b *testing.B) {
	ctx := context.Background()
	exec := func(sql string) {
		b.Helper()
		if _, err := theWorld.main.Exec(ctx, sql); err != nil {
			b.Fatal(err)
		}
	}
	exec(`SET jit = off; TRUNCATE patients;
		INSERT INTO patients SELECT i, 'p' || i, 40, 1234.56, 70, 1.7, 3, 'flu', 'icu', '2020-05-05', '2020-06-06', '3 days', true, 'good', 5, repeat('a', 4000) FROM generate_series(1, 50) i;
		ANALYZE patients`)
	defer exec("TRUNCATE patients; RESET jit")
	for i, sql := range heaviest {
		b.Run(fmt.Sprint(i), func(b *testing.B) {
			var added time.Duration
			var steps int64
			for b.Loop() {
				there, n := busy(b, fmt.Sprintf(sql, "p7"))
				without, _ := busy(b, fmt.Sprintf(sql, "nobody"))
				added, steps = added+there-without, n
			}
			b.ReportMetric(float64(added.Microseconds())/float64(b.N)/1000, "ms/person")
			b.ReportMetric(float64(added.Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
		})
	}
}

// busy is the processor time that main needs for a statement, as Linux tells it, and the steps that were counted for
// it.
func busy(b *testing.B, sql string) (time.Duration, int64) {
	q, err := theWorld.ask(sql, nil)
	if err != nil {
		b.Fatalf("%s: %s", sql, refusalText(err))
	}
	ran := func() (ns time.Duration) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", theWorld.main.PgConn().PID()))
		if err == nil {
			_, err = fmt.Sscan(string(text), &ns)
		}
		if err != nil {
			b.Fatal(err)
		}
		return ns
	}
	before := ran()
	if _, err := theWorld.query(q.plan.Blocks[0].Measure, nil); err != nil {
		b.Fatal(err)
	}
	return ran() - before, q.plan.Blocks[0].Steps
}
