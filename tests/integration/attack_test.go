package integration_test

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// canary is a patient with more rows than the policy declares, half of them on either side of what the attacks ask for,
// and half of the minutes far out of bounds.
const canary = `
INSERT INTO patients VALUES (5000, 't8', 120, 100000, 250, 'flu', 'A', '2021-01-01', true);
INSERT INTO visits SELECT 9007199254740992 + i, 5000, (ARRAY['A','B'])[1 + i % 2], '2021-06-01', CASE WHEN i % 2 = 0 THEN 1500 ELSE 1 END, CASE WHEN i % 2 = 0 THEN 100000 ELSE 1 END FROM generate_series(0, 19) i;
INSERT INTO lab_results SELECT 100000 + i, 9007199254740992 + i % 20, 50 FROM generate_series(0, 79) i;
`

// leave takes the canary away, with all rows.
const leave = `
DELETE FROM lab_results WHERE visit_id >= 9007199254740992;
DELETE FROM visits WHERE patient_id = 5000;
DELETE FROM patients WHERE id = 5000;
`

// loud is the ε of these tests: so much that an answer is as good as the measured value.
const loud = 1000

// loudPolicy adds up ε, lets a statement cost loud, and gives one patient's income in a group bounds of its own.
func loudPolicy(more ...string) string {
	return strings.NewReplacer("epsilon: 0.5, epsilon_max: 5", "epsilon: 1000, epsilon_max: 1000, empty_groups: keep",
		"income:    {bounds: [0, 100000]}", "income:    {bounds: [0, 100000], per_unit: [0, 1000]}").Replace(
		purePolicy(more...))
}

// TestNoUnitMovesMoreThanDeclared asks over databases that differ in one patient with all rows: what all groups
// together differ by is at most what EXPLAIN declares. The patient is made to overstep wherever SQL leaves a way.
func TestNoUnitMovesMoreThanDeclared(t *testing.T) {
	attacks := map[string]string{
		"rows":                          "SELECT count(*) FROM visits",
		"rows by chain":                 "SELECT count(*) FROM lab_results",
		"groups":                        "SELECT ward, count(*) FROM visits GROUP BY ward",
		"grouping sets":                 "SELECT ward, minutes > 10, count(*) FROM visits GROUP BY GROUPING SETS ((ward, minutes > 10))",
		"self-join":                     "SELECT count(*) FROM visits a JOIN visits b USING (patient_id)",
		"union of a table with itself":  "SELECT count(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM visits) x",
		"optional side of a table":      "SELECT p.ward, count(*) FROM visits v LEFT JOIN patients p ON v.patient_id = p.id AND v.cost > 100 GROUP BY p.ward",
		"optional side of a renaming":   "SELECT p.ward, count(*) FROM visits v LEFT JOIN (SELECT id, ward FROM patients) p ON v.patient_id = p.id AND v.cost > 100 GROUP BY p.ward",
		"optional side of a CTE":        "WITH p AS (SELECT id, ward FROM patients) SELECT p.ward, count(*) FROM p RIGHT JOIN visits v ON v.patient_id = p.id AND v.cost > 100 GROUP BY p.ward",
		"unit of the optional side":     "SELECT count(*) FROM lab_results l LEFT JOIN visits v ON l.visit_id = v.visit_id AND (v.patient_id <> 5000 OR v.cost > 100)",
		"membership that reads a row":   "SELECT p.ward IN (SELECT w.ward FROM wards w WHERE w.beds > v.minutes) AS b, count(*) FROM visits v JOIN patients p ON p.id = v.patient_id GROUP BY 1",
		"existence that reads a row":    "SELECT b, count(*) FROM (SELECT patient_id, EXISTS (SELECT 1 FROM patients p WHERE p.id = v.patient_id AND p.age > v.minutes * 3) AS b FROM visits v) x GROUP BY b",
		"one key of many rows":          "SELECT count(*) FROM patients p JOIN visits v ON p.id = v.patient_id WHERE v.visit_id = 9007199254740992::float8",
		"bounds of one unit's sum":      "SELECT sum(income) FROM patients",
		"bounds of one unit's mean":     "SELECT ward, sum(income) FROM patients GROUP BY ward",
		"sums of sums":                  "SELECT sum(s) FROM (SELECT patient_id, ward, sum(minutes) AS s FROM visits GROUP BY patient_id, ward) x",
		"condition on one unit":         "SELECT sum(c) FROM (SELECT patient_id, count(*) AS c FROM visits GROUP BY patient_id HAVING count(*) >= 10) x",
		"distinct values":               "SELECT count(DISTINCT visit_id) FROM visits",
		"distinct values by group":      "SELECT ward, count(DISTINCT visit_id) FROM visits GROUP BY ward",
		"outer join of a public table":  "SELECT w.ward, count(*) FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY w.ward",
		"first rows":                    "SELECT sum(minutes) FROM (SELECT DISTINCT ON (patient_id) patient_id, minutes FROM visits ORDER BY patient_id, ward) x",
		"first rows by group":           "SELECT ward, sum(minutes) FROM (SELECT DISTINCT ON (patient_id, ward) patient_id, ward, minutes FROM visits ORDER BY patient_id, ward) x GROUP BY ward",
		"distinct rows":                 "SELECT count(*) FROM (SELECT DISTINCT patient_id, visit_id FROM visits) x",
		"distinct sums":                 "SELECT sum(c) FROM (SELECT DISTINCT patient_id, count(*) AS c FROM visits GROUP BY patient_id, ward) x",
		"union":                         "SELECT count(*) FROM (SELECT patient_id, visit_id FROM visits UNION SELECT patient_id, visit_id FROM visits) x",
		"key by an optional public":     "SELECT w.floor, count(*) FROM visits v JOIN patients p ON v.patient_id = p.id LEFT JOIN (SELECT ward, floor FROM wards) w ON w.ward = p.ward AND v.cost > 100 GROUP BY w.floor",
		"existence in ON":               "SELECT p.ward, count(*) FROM visits v LEFT JOIN patients p ON v.patient_id = p.id AND EXISTS (SELECT 1 FROM visits x WHERE x.patient_id = p.id AND x.cost > v.cost) GROUP BY p.ward",
		"right join by chain":           "SELECT count(*) FROM visits v RIGHT JOIN lab_results l ON l.visit_id = v.visit_id AND (v.patient_id <> 5000 OR v.cost > 100)",
		"distinct values spelled apart": "SELECT count(DISTINCT cost / minutes) FROM visits WHERE minutes > 0",
		"rows of a key spelled apart":   "SELECT count(*) FROM (SELECT patient_id, cost * 1.00 AS c FROM visits GROUP BY patient_id, cost * 1.00) x",
		"contradiction":                 "SELECT count(*) FROM visits WHERE minutes < 5 OR minutes < 3 AND minutes > 10",
		"contradiction before a range":  "SELECT sum(minutes) FROM visits WHERE minutes < 3 AND minutes > 10 OR minutes > 40",
		"contradiction negated":         "SELECT sum(minutes) FROM visits WHERE NOT (minutes >= 3 OR minutes <= 10) OR NOT (minutes <= 40)",
		"contradiction in FILTER":       "SELECT sum(minutes) FILTER (WHERE minutes > 40 OR minutes = 3 AND minutes = 10) FROM visits",
		"contradiction in CASE":         "SELECT sum(CASE WHEN minutes < 3 AND minutes > 10 THEN 0 WHEN minutes > 40 THEN minutes END) FROM visits",
		"contradiction of texts":        "SELECT ward, count(*) FROM visits WHERE ward = 'A' AND ward = 'B' OR ward IN ('A', 'B') AND minutes > 40 GROUP BY ward",
		"contradiction of the policy":   "SELECT sum(minutes) FROM visits WHERE minutes > 600",
		"contradiction below":           "SELECT sum(minutes) FROM (SELECT patient_id, minutes FROM visits WHERE minutes > 600 OR minutes IS NULL) x WHERE minutes > 40",
		"full join":                     "SELECT count(*) FROM visits v FULL JOIN patients p ON p.id = v.patient_id AND v.ward = p.ward",
	}
	// One proxy asks both databases: another one would choose other groups for units with too many.
	p := start(t, loudPolicy("answers: {ttl: 0}"), clinic+canary)
	conn := p.connect(quiet)
	with, most := map[string][]float64{}, map[string]float64{}
	for name, sql := range attacks {
		with[name], most[name] = column(t, conn, sql), declared(t, conn, sql)
	}
	pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), leave)
	for name, sql := range attacks {
		here, there := with[name], column(t, conn, sql)
		if len(here) != len(there) {
			t.Errorf("%s: %s: %d rows with the patient, %d without", name, sql, len(here), len(there))
			continue
		}
		moved := 0.0
		for i := range here {
			moved += math.Abs(here[i] - there[i])
		}
		if moved == 0 {
			t.Errorf("%s: %s\nthe patient does not move the answer: this tries nothing", name, sql)
		}
		// The noise of an answer exceeds 40 times its scale once in e^40 draws.
		if moved > most[name]*(1+80*float64(len(here))/loud) {
			t.Errorf("%s: %s\none patient moved the answer by %g; declared is %g\nwith    %v\nwithout %v", name, sql, moved,
				most[name], here, there)
		}
	}
}

// quiet drops notices.
func quiet(c *pgx.ConnConfig) { c.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {} }

// column is the last column of an answer; NULL is 0.
func column(t *testing.T, conn *pgx.Conn, sql string) []float64 {
	t.Helper()
	results, err := conn.PgConn().Exec(context.Background(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var values []float64
	for _, row := range results[0].Rows {
		last := row[len(row)-1]
		if last == nil {
			values = append(values, 0)
			continue
		}
		v, err := strconv.ParseFloat(string(last), 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	return values
}

// declared is what EXPLAIN says that one unit can move in all groups together, for a statement of one release.
func declared(t *testing.T, conn *pgx.Conn, sql string) float64 {
	t.Helper()
	results, err := conn.PgConn().Exec(context.Background(), "EXPLAIN (FORMAT JSON) "+sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var plans []struct {
		Releases []struct {
			Total float64 `json:"total"`
		} `json:"releases"`
	}
	if err := json.Unmarshal(results[0].Rows[0][0], &plans); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if len(plans) != 1 || len(plans[0].Releases) != 1 {
		t.Fatalf("%s: %d plans, want one release", sql, len(plans))
	}
	return plans[0].Releases[0].Total
}

// TestLiteralsThatLookLikeAliases: the measure query's aliases are t1, t2…; a name that looks like one is a name.
func TestLiteralsThatLookLikeAliases(t *testing.T) {
	conn := start(t, loudPolicy(), clinic+canary).connect(quiet)
	for _, c := range []struct {
		sql  string
		want float64
	}{
		{"SELECT count(*) FROM patients WHERE name = 't8'", 1},
		{"SELECT count(*) FROM patients WHERE name = 't9'", 0},
		{
			"SELECT 10 * (SELECT count(*) FROM patients WHERE name = 't8') + (SELECT count(*) FROM patients WHERE name = 't7')",
			10,
		},
	} {
		if got := column(t, conn, c.sql); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %v, want %g", c.sql, got, c.want)
		}
	}
}

// TestBombsLeaveRoom: one analyst's free statements that never end hold some connections of the shadow, not all. An
// answer that would fill the proxy's memory is streamed, and refused where a cursor would have to hold it.
func TestBombsLeaveRoom(t *testing.T) {
	p := start(t, loudPolicy(), clinic)
	bomb := "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started := make(chan struct{}, 12)
	for range cap(started) {
		conn := p.connect(quiet)
		go func() {
			started <- struct{}{}
			_, _ = conn.Exec(ctx, bomb)
		}()
	}
	for range cap(started) {
		<-started
	}
	admin, err := pgx.Connect(ctx, p.server.DSN(p.db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.Background()) }()
	for running := 0; running < 3; {
		if err := admin.QueryRow(
			ctx,
			"SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%100000%' AND pid <> pg_backend_pid()").Scan(&running); err != nil {
			t.Fatal(err)
		}
	}
	bob, err := pgx.Connect(context.Background(), p.dsn("bob"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bob.Close(context.Background()) }()
	for range 20 {
		if _, err := bob.Exec(context.Background(), "SELECT 1"); err != nil {
			t.Fatalf("another analyst beside the bombs: %v", err)
		}
	}
	cancel()
	long := p.connect(quiet)
	const multiplied = "SELECT x.n, a, b FROM (SELECT count(*) AS n FROM patients) x, generate_series(1, 2000) a, generate_series(1, 2000) b"
	if tag, err := long.Exec(context.Background(), multiplied); err != nil || tag.RowsAffected() != 4_000_000 {
		t.Errorf("four million rows of one released count: %s, %v", tag, err)
	}
	if _, err := long.Exec(context.Background(), "BEGIN; DECLARE c CURSOR FOR "+multiplied+"; FETCH c"); err == nil ||
		!strings.Contains(err.Error(), "53200") {
		t.Errorf("a cursor over them: %v, want a refusal", err)
	}
	if most, limit := p.memory("VmHWM"), 300<<20; most > limit {
		t.Errorf("the proxy has held %d bytes, more than %d", most, limit)
	}
}
