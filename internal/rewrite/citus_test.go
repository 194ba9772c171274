package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// citusShards is how many parts each private table has, on two workers.
const citusShards = 4

// citusZones are the sessions under which the cluster measures: the zone of the workers is another.
var citusZones = []string{"plain", "new york", "half"}

// TestCitus: every measure query of the corpus that a Citus cluster takes gives the integers that one PostgreSQL gives
// for the same rows, whatever the time zone; nearly all of them are aggregated by the workers. What it cannot plan is
// refused before the charge.
func TestCitus(t *testing.T) {
	whole, spread := citusWorlds(t)
	c := &citusTest{T: t, seen: map[string]bool{}}
	zoned := map[string]bool{} // queries of the corpus that read instants or local times
	for i, zone := range citusZones {
		c.zone, c.one, c.many, c.explains = zone, whole.as(sessions[zone]).then(), spread.as(sessions[zone]).then(), i == 0
		for _, q := range corpus(t) {
			if i > 0 && !zoned[q.file] {
				continue
			}
			asked, err := c.many.ask(q.sql, parameters(q.params))
			if err != nil || asked.plan == nil {
				continue
			}
			for _, m := range measurementsOf(asked.plan) {
				zoned[q.file] = zoned[q.file] || readsTime.MatchString(m.SQL.Text)
				c.compare(q.file, backend.Measurement{
					Admit:   func(int, rewrite.SQL) error { return nil },
					Queries: []backend.MeasureQuery{m}, Proofs: asked.plan.Proofs, Settings: c.many.session,
				})
			}
		}
	}
	t.Logf("%d of them have windows", c.windows)
	t.Logf(
		"%d measure queries, of which Citus does not plan %d; of every third one in a plain session, %d, the coordinator aggregates %d", c.answered+c.failed, c.failed, c.explained, c.pulled)
	if *corpusFiles == "*" && (c.explained < 350 || 20*c.pulled > c.explained || 30*c.failed > c.answered) {
		t.Error("too few of them are aggregated by the workers")
	}
}

type citusTest struct {
	*testing.T
	zone      string
	one, many *world
	explains  bool
	seen      map[string]bool

	answered, failed  int
	explained, pulled int
	windows           int // queries with a window over each unit's groups
}

// compare measures a query in both worlds, once in each zone.
func (c *citusTest) compare(file string, m backend.Measurement) {
	sql := m.Queries[0].SQL
	key := fmt.Sprint(c.zone, sql.Text, spelledParameters(sql))
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	got, err := c.many.measured(m)
	if unplanned(err) {
		c.failed++
		c.Logf("%s in %s: Citus does not plan it", file, c.zone)
		var refused *backend.RefusedError
		if err := c.many.backend.CheckMeasure(context.Background(), m); !errors.As(err, &refused) {
			c.Errorf("%s: it would be charged: %v", file, err)
		}
		return
	}
	m.Queries[0].SQL, m.Proofs = c.many.translated(sql, c.one), nil
	want, wrong := c.one.measured(m)
	if err != nil || wrong != nil || !slices.Equal(got, want) {
		c.Errorf("%s in %s: %v, %v, want %v, %v\n%s", file, c.zone, got, err, want, wrong, sql.Text)
	}
	if c.answered++; !c.explains || c.answered%3 > 0 {
		return
	}
	c.explained++
	plan := c.many.explained(sql)
	if plan.pulls() {
		c.pulled++
		c.Logf("%s is aggregated by the coordinator", file)
	}
	// A unit's rows lie together, so the sum over them is the workers'.
	if above, _, _ := strings.Cut(plan.text, "Custom Scan (Citus Adaptive)"); strings.Contains(plan.text, "WindowAgg") {
		if c.windows++; strings.Contains(above, "WindowAgg") {
			c.Errorf("%s: the coordinator computes a window over units:\n%s", file, plan.text)
		}
	}
}

// readsTime recognises queries whose answers may depend on the time zone.
var readsTime = regexp.MustCompile(`timestamp|timezone|"seen"|"at"`)

// unplanned reports whether Citus does not plan a query that PostgreSQL plans.
func unplanned(err error) bool {
	var failed *backend.MeasureError
	return errors.As(err, &failed) && failed.Code() == "0A000"
}

// measurementsOf are the measure queries of a plan, with ordinary answers of the stages before them.
func measurementsOf(p *rewrite.Plan) (all []backend.MeasureQuery) {
	for i := range p.Blocks {
		block := given(&p.Blocks[i], stageAnswers(p, i)[0])
		var keys []uint32
		group := 1
		if block.Select != nil || block.ByKey {
			keys, group = block.KeyTypes, 0
		}
		if block.Measure.Text != "" {
			integers := group + len(block.Measured)
			if block.Select != nil {
				integers++
			}
			all = append(all, backend.MeasureQuery{SQL: block.Measure, Keys: keys, Integers: integers})
		}
		for _, h := range block.Histograms {
			all = append(all, backend.MeasureQuery{SQL: h.Measure, Keys: keys, Integers: group + 2})
		}
	}
	return all
}

// measured returns the rows of a measure query as the product reads them, in one order.
func (w *world) measured(m backend.Measurement) (rows []string, err error) {
	err = w.backend.Measure(context.Background(), m, func(r backend.MeasureRow) error {
		text := fmt.Sprint(r.Integers)
		for _, k := range r.Keys {
			if k == nil {
				text += " NULL"
			} else {
				text += " " + strconv.Quote(string(*k))
			}
		}
		rows = append(rows, text)
		return nil
	})
	slices.Sort(rows)
	return rows, err
}

func spelledParameters(q rewrite.SQL) (all []string) {
	values, _ := bound(q)
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// translated is a query whose parameters have the numbers that types have in another world.
func (w *world) translated(q rewrite.SQL, to *world) rewrite.SQL {
	q.Parameters = slices.Clone(q.Parameters)
	for i := range q.Parameters {
		p := &q.Parameters[i]
		for oid, typ := range to.schema.Types {
			if here, own := w.schema.Types[p.Type]; own && p.Type >= 16384 && here.Name == typ.Name {
				p.Type = oid
				break
			}
		}
	}
	return q
}

// answeredRows is how many rows a query has, as the first line of its plan says; received is how many the coordinator
// gets of one that it sends to the workers.
var answeredRows, received = regexp.MustCompile(`actual rows=(\d+)`),
	regexp.MustCompile(`Custom Scan \(Citus Adaptive\) \(actual rows=(\d+)`)

// distributedPlan is how the cluster answered a query.
type distributedPlan struct{ text string }

// explained answers a query, and says how.
func (w *world) explained(q rewrite.SQL) distributedPlan {
	w.measuring()
	values, types := bound(q)
	for i := range types {
		if types[i] >= 16384 {
			types[i] = 0
		}
	}
	plan := read(w.main.PgConn().ExecParams(context.Background(), "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+
		q.Text, values, types, nil, nil))
	if plan.Err != nil {
		panic(plan.Err)
	}
	var text strings.Builder
	for _, row := range plan.Rows {
		text.Write(row[0])
		text.WriteByte('\n')
	}
	return distributedPlan{text.String()}
}

// pulls reports whether the coordinator gets more than what every shard says of every group.
func (p distributedPlan) pulls() bool {
	number := func(m []string) int {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			panic(err)
		}
		return n
	}
	groups := number(answeredRows.FindStringSubmatch(p.text))
	most := 0
	for _, m := range received.FindAllStringSubmatch(p.text, -1) {
		most = max(most, number(m))
	}
	return most > citusShards*max(1, groups)
}

// citusWorlds are two databases with the same rows: one on one server, and one whose private tables are distributed by
// their units.
func citusWorlds(t *testing.T) (whole, spread *world) {
	ctx := context.Background()
	cluster := pgservertest.StartCitus(t, "spread")
	schema, rules := citusTexts(t)
	sql := append(cluster.Join(), fmt.Sprintf("SET citus.shard_count = %d", citusShards), schema)
	for _, name := range []string{"floors", "wards", "shifts"} {
		sql = append(sql, "SELECT create_reference_table('"+name+"')")
	}
	sql = append(sql, "SELECT create_distributed_table('patients', 'id')",
		"SELECT create_distributed_table('staff', 'staff_id')",
		"SELECT create_distributed_table('ratings', 'of_patient', colocate_with => 'patients')")
	for _, name := range []string{"visits", "lab_results", "profiles", "calls", "bookings"} {
		sql = append(sql, "SELECT create_distributed_table('"+name+"', 'patient_id', colocate_with => 'patients')")
	}
	var err error
	if whole, err = newWorld(ctx, theServer, "whole", "WHOLE_TEST_", strings.ReplaceAll(rules, "@", "WHOLE_TEST_"),
		schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(whole.backend.Close)
	if spread, err = newWorld(ctx, cluster.Coordinator, "spread", "SPREAD_TEST_",
		strings.ReplaceAll(rules, "@", "SPREAD_TEST_"), sql...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(spread.backend.Close)
	fillAlike(t, whole, spread)
	return whole, spread
}

// citusTexts are the schema and the policy of the tests as Citus takes them: keys contain the unit, which is never
// NULL, and every row has it.
func citusTexts(t *testing.T) (schema, rules string) {
	read := func(name string, pairs ...string) string {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		out := string(text)
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(out, pairs[i]) {
				t.Fatalf("%s does not say %q any more", name, pairs[i])
			}
			out = strings.ReplaceAll(out, pairs[i], pairs[i+1])
		}
		return out
	}
	const floors = "INSERT INTO floors VALUES (0, 'ground'), (1, 'first'), (2, 'second');"
	schema = read("schema.sql",
		"SET session_replication_role = replica;", "",
		"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_replication_role = replica', current_database()); END $$;",
		"",
		"visit_id bigint PRIMARY KEY, patient_id bigint,",
		"visit_id bigint, patient_id bigint, PRIMARY KEY (patient_id, visit_id),",
		"lab_id bigint PRIMARY KEY, visit_id bigint NOT NULL REFERENCES visits, kind text NOT NULL, value float8",
		"lab_id bigint, visit_id bigint NOT NULL, kind text NOT NULL, value float8, patient_id bigint, PRIMARY KEY (patient_id, lab_id)",
		"call_id bigint PRIMARY KEY, session_id bigint NOT NULL, patient_id bigint,",
		"call_id bigint, session_id bigint NOT NULL, patient_id bigint, PRIMARY KEY (patient_id, call_id),",
		"of_patient bigint,", "of_patient bigint NOT NULL,",
		"booking_id bigint PRIMARY KEY, patient_id bigint,",
		"booking_id bigint, patient_id bigint, PRIMARY KEY (patient_id, booking_id),",
		"ward text NOT NULL REFERENCES wards, wage", "ward text NOT NULL, wage",
		floors, "",
		"INSERT INTO wards", floors+"\nINSERT INTO wards")
	rules = read("policy.yaml", "REWRITE_TEST_", "@",
		"via: {column: visit_id, references: visits.visit_id}", "column: patient_id",
		"value:    {bounds: [0, 100]}", "value:    {bounds: [0, 100]}\n      patient_id: {}")
	return schema, rules
}

// fillAlike gives worlds the same rows, each with a unit.
func fillAlike(t *testing.T, worlds ...*world) {
	ctx := context.Background()
	if err := theWorld.fill(rand.New(rand.NewPCG(1, 2)), 300); err != nil {
		t.Fatal(err)
	}
	if err := theWorld.dropUnitless(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"patients", "visits", "lab_results", "profiles", "calls", "ratings", "bookings",
		"staff",
	} {
		rows := "SELECT * FROM " + name
		if name == "lab_results" {
			rows = "SELECT l.lab_id, l.visit_id, l.kind, l.value, v.patient_id FROM lab_results l JOIN visits v USING (visit_id)"
		}
		var copied bytes.Buffer
		if _, err := theWorld.main.PgConn().CopyTo(ctx, &copied, "COPY ("+rows+") TO STDOUT"); err != nil {
			t.Fatal(err)
		}
		for _, w := range worlds {
			if _, err := w.main.PgConn().CopyFrom(ctx, bytes.NewReader(copied.Bytes()), "COPY "+name+" FROM STDIN"); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	for _, w := range worlds {
		if _, err := w.main.Exec(ctx, "ANALYZE"); err != nil {
			t.Fatal(err)
		}
	}
}
