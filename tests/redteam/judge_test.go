package redteam_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

// judged is a record on its way through one judge's databases.
type judged struct {
	*record
	whole []*exact // of the database with all units, per block
}

// judge runs records on databases of its own.
type judge struct {
	t         testing.TB
	conn      *pgx.Conn
	records   []*judged
	violated  func(*record, error)
	runs      int // measure queries
	pairs     int // blocks of two neighbours that were compared
	slow      int
	every     int // expensive plans run for one of so many records
	databases int
}

// planners are settings under which the same query runs by another plan; pins come first, so that these last.
var planners = []struct{ name, set string }{
	{"as it is", ""},
	{"no hashing", "SET LOCAL enable_hashagg = off; SET LOCAL enable_hashjoin = off"},
	{
		"no merging, no loops",
		"SET LOCAL enable_mergejoin = off; SET LOCAL enable_nestloop = off; SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off",
	},
	{
		"no memory, no indexes",
		"SET LOCAL work_mem = '64kB'; SET LOCAL hash_mem_multiplier = 1; SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_memoize = off; SET LOCAL enable_material = off",
	},
}

// expensive plans start processes or compile.
var expensive = []struct{ name, set string }{
	{
		"parallel",
		"SET LOCAL @force = on; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL min_parallel_index_scan_size = 0; SET LOCAL max_parallel_workers_per_gather = 2",
	},
	{
		"compiled",
		"SET LOCAL jit = on; SET LOCAL jit_above_cost = 0; SET LOCAL jit_inline_above_cost = -1; SET LOCAL jit_optimize_above_cost = -1",
	},
}

// tooLong is far above what a measure query of these small databases takes.
const tooLong = "60s"

// onDisk are the tables whose rows are moved about.
var onDisk = []string{
	"visits.visit_id", "lab_results.lab_id", "calls.call_id", "ratings.session_id",
	"bookings.booking_id", "patients.id", "profiles.patient_id", "samples.sample_id", "staff.staff_id", "faces.patient_id",
	"entries.place",
}

// database builds one hostile database, measures it in several ways, and compares it with all its neighbours.
func (j *judge) database(seed uint64) {
	j.databases++
	random := rand.New(rand.NewPCG(seed, 2))
	j.exec(rewritetest.Hostile(random, int(seed%100)) + rewritetest.Samples(random))
	where := fmt.Sprintf("database %d", seed)
	j.run(where, planners[0].set, "", j.records, func(r *judged, e []*exact) error { r.whole = e; return nil })
	again := func(r *judged, e []*exact) error {
		for i := range e {
			if err := r.whole[i].same(e[i]); err != nil {
				return err
			}
		}
		return nil
	}
	moved := rewritetest.Reordered(fmt.Sprintf("md5(%%s::text || '%d')", seed), onDisk...)
	for _, p := range planners[1:] {
		j.run(where+", in another order, "+p.name, p.set, moved, j.records, again)
	}
	for i, p := range expensive {
		var some []*judged
		for n, r := range j.records {
			if (n+i+j.databases)%j.every == 0 {
				some = append(some, r)
			}
		}
		j.run(where+", "+p.name, j.forced(p.set), "", some, again)
	}
	for unit, id := range rewritetest.Units {
		p := planners[(unit+j.databases)%len(planners)]
		less := rewritetest.Without(unit) + rewritetest.WithoutSamples(unit) + rewritetest.Reordered("%s DESC", onDisk...)
		j.run(fmt.Sprintf("%s without unit %d, %s", where, id, p.name), p.set, less, j.records,
			func(r *judged, e []*exact) error {
				for i, b := range r.blocks {
					j.pairs++
					if err := b.neighbours(r.whole[i], e[i]); err != nil {
						return fmt.Errorf("block %d: %w", i+1, err)
					}
				}
				return nil
			})
	}
}

// forced names the setting that forces parallel plans as this server does.
func (j *judge) forced(set string) string {
	name := "force_parallel_mode"
	if version := j.conn.PgConn().ParameterStatus("server_version"); strings.Compare(version, "16") >= 0 {
		name = "debug_parallel_query"
	}
	return strings.ReplaceAll(set, "@force", name)
}

// run measures records after a change of the database, which is undone at the end, and has check look at each.
func (j *judge) run(where, planner, change string, records []*judged, check func(*judged, []*exact) error) {
	// Plans that are ruled out cost so much that PostgreSQL would compile whatever uses them.
	j.exec("BEGIN; SET LOCAL jit = off; SET LOCAL statement_timeout = '" + tooLong + "';" + change + "; SAVEPOINT changed")
	defer func() {
		j.exec("ROLLBACK")
		if change != "" {
			j.exec("VACUUM") // of the rows that were moved; from now on the planner knows how few there are
		}
	}()
	for _, group := range byPins(records) {
		for len(group) > 0 {
			group = group[j.batch(where, planner, group, check):]
		}
	}
}

// byPins groups the records that are still tried by the settings of their transaction.
func byPins(records []*judged) [][]*judged {
	groups, order := map[string][]*judged{}, []string{}
	for _, r := range records {
		if r.dropped.Load() {
			continue
		}
		pins := fmt.Sprintf("%q", r.pins.Values)
		if groups[pins] == nil {
			order = append(order, pins)
		}
		groups[pins] = append(groups[pins], r)
	}
	var all [][]*judged
	for _, pins := range order {
		all = append(all, groups[pins])
	}
	return all
}

// batchSize is how many records are measured in one round trip.
const batchSize = 50

// batch measures the first records of a group and returns how many of them are done with. It ends with the first that
// fails.
func (j *judge) batch(where, planner string, group []*judged, check func(*judged, []*exact) error) int {
	group = group[:min(len(group), batchSize)]
	ctx := context.Background()
	j.pin(group[0].pins, planner)
	pipeline := j.conn.PgConn().StartPipeline(ctx)
	for _, r := range group {
		for _, q := range r.queries {
			send(pipeline, q)
		}
	}
	if err := pipeline.Sync(); err != nil {
		j.t.Fatal(err)
	}
	for n, r := range group {
		e, err := j.collect(pipeline, r)
		var failed *pgconn.PgError
		if err == nil {
			err = check(r, e)
		}
		if err == nil {
			continue
		}
		r.dropped.Store(true)
		if errors.As(err, &failed) {
			_ = pipeline.Close() // says the same again
			j.exec("ROLLBACK TO changed")
		}
		if failed != nil && failed.Code == "57014" {
			j.slow++
		} else {
			j.violated(r.record, fmt.Errorf("%s: %w", where, err))
		}
		if failed != nil {
			return n + 1
		}
	}
	if err := pipeline.Close(); err != nil {
		j.t.Fatal(err)
	}
	return len(group)
}

// pin gives the transaction the settings that main's had, and another planner.
func (j *judge) pin(pins relay.Query, planner string) {
	pipeline := j.conn.PgConn().StartPipeline(context.Background())
	send(pipeline, pins)
	if err := pipeline.Sync(); err != nil {
		j.t.Fatal(err)
	}
	if err := pipeline.Close(); err != nil {
		j.t.Fatal(err)
	}
	if planner != "" {
		j.exec(planner)
	}
}

func send(p *pgconn.Pipeline, q relay.Query) {
	p.SendQueryParams(q.SQL, q.Values, q.Types, q.Formats, nil)
}

// collect reads the results of one record. An error of the server ends the pipeline.
func (j *judge) collect(pipeline *pgconn.Pipeline, r *judged) ([]*exact, error) {
	var results [][][][]byte
	for range r.queries {
		got, err := pipeline.GetResults()
		if err != nil {
			return nil, err
		}
		result := got.(*pgconn.ResultReader).Read()
		if result.Err != nil {
			return nil, result.Err
		}
		j.runs++
		results = append(results, result.Rows)
	}
	var all []*exact
	for _, b := range r.blocks {
		n := len(b.texts())
		e, err := b.collect(results[:n])
		if err != nil {
			return nil, err
		}
		all, results = append(all, e), results[n:]
	}
	return all, nil
}

func (j *judge) exec(sql string) {
	if _, err := j.conn.PgConn().Exec(context.Background(), sql).ReadAll(); err != nil {
		j.t.Fatalf("%v\n%.2000s", err, sql)
	}
}
