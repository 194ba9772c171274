package rewrite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// hostileDatabases is how many random databases the test builds; each is compared with all its neighbours.
const hostileDatabases = 50

// TestSensitivity proves by trial what every plan declares: over small random databases full of hostile rows, and every
// database with one unit less, no measure query fails, no release moves by more than its sensitivity in any group, and
// none moves in more groups than declared.
func TestSensitivity(t *testing.T) {
	probe := newProbe(t, theWorld, nil)
	defer probe.forget(t)
	random := rand.New(rand.NewPCG(3, 4))
	for range hostileDatabases {
		if problem := probe.database(t, random); problem != "" {
			t.Error(problem)
			return
		}
	}
	t.Logf("%d plans, %d measurements", len(probe.plans), probe.runs)
}

// TestMutations proves that TestSensitivity can fail: each mutation is a fault that the rewriting must not have.
func TestMutations(t *testing.T) {
	clamp := regexp.MustCompile(`LEAST\(GREATEST\((u\.s\d+), \(-?\d+\)\), \d+\)`)
	pick := regexp.MustCompile(`u\.pick <= \d+`)
	ranked := regexp.MustCompile(`w\.pick <= \d+`)
	text := func(find *regexp.Regexp, replacement string) func(*probed) bool {
		return func(b *probed) bool {
			mutated := false
			for i, s := range b.sql {
				b.sql[i].Text = find.ReplaceAllString(s.Text, replacement)
				mutated = mutated || b.sql[i].Text != s.Text
			}
			return mutated
		}
	}
	for name, mutate := range map[string]func(*probed) bool{
		"no clamp per unit":           text(clamp, "$1"),
		"no selection of groups":      text(pick, "TRUE"),
		"no rank of rows":             text(ranked, "TRUE"),
		"windows over all units":      text(regexp.MustCompile(`OVER \(PARTITION BY t\d+\."patient_id"`), "OVER (PARTITION BY NULL::pg_catalog.int4"),
		"windows with ties":           text(regexp.MustCompile(`( OVER \(PARTITION BY t\d+\."patient_id" ORDER BY [^)]*\)[A-Z ]*), \(t\d+\."visit_id"\)`), "$1"),
		"row numbers without a limit": text(regexp.MustCompile(`\(t\d+\.c\d+ OPERATOR\(pg_catalog\.[<>]?=\) (1|\(\d+\))\)`), "TRUE"),
		"rows without a unit counted": text(regexp.MustCompile(`\(SELECT t1\."patient_id" AS u`), "(SELECT NULL AS u"),
		"half the sensitivity": func(b *probed) bool {
			for i := range b.block.Releases {
				b.block.Releases[i].Sensitivity /= 2
			}
			return len(b.block.Releases) > 0
		},
		"one group fewer": func(b *probed) bool {
			for i := range b.block.Releases {
				b.block.Releases[i].Groups--
			}
			return len(b.block.Releases) > 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			probe := newProbe(t, theWorld, mutate)
			defer probe.forget(t)
			random := rand.New(rand.NewPCG(5, 6))
			for range hostileDatabases {
				if probe.database(t, random) != "" {
					return
				}
			}
			t.Errorf("%d mutated plans passed", len(probe.plans))
		})
	}
}

// forget drops the prepared statements, so that another probe can use their names.
func (p *probe) forget(t *testing.T) {
	if _, err := p.w.main.Exec(context.Background(), "DEALLOCATE ALL"); err != nil {
		t.Fatal(err)
	}
}

// probe measures many plans at once, by prepared statements in a pipeline.
type probe struct {
	w     *world
	plans []*probed
	runs  int
}

// probed is one block of one corpus query.
type probed struct {
	query corpusQuery
	block *rewrite.Block
	names []string // prepared statements: Measure, then Histograms
	sql   []rewrite.SQL
}

// newProbe takes the plans of the corpus that mutate changes; nil takes all as they are.
func newProbe(t *testing.T, w *world, mutate func(*probed) bool) *probe {
	p := &probe{w: w}
	seen := map[string]bool{}
	for _, q := range corpus(t) {
		asked, err := w.ask(q.sql, parameters(q.params))
		if err != nil || asked.plan == nil {
			continue
		}
		for i := range asked.plan.Blocks {
			b := &probed{query: q, block: &asked.plan.Blocks[i]}
			key := ""
			if b.block.Measure.Text != "" {
				b.sql = append(b.sql, b.block.Measure)
			}
			for _, h := range b.block.Histograms {
				b.sql = append(b.sql, h.Measure)
			}
			for _, s := range b.sql {
				key += s.Text + "\x00" + fmt.Sprint(s.Parameters)
			}
			if seen[key] || len(b.sql) == 0 || mutate != nil && !mutate(b) {
				continue
			}
			seen[key] = true
			p.plans = append(p.plans, b)
		}
	}
	p.prepare(t)
	return p
}

func (p *probe) prepare(t *testing.T) {
	ctx := context.Background()
	for i, b := range p.plans {
		for j, s := range b.sql {
			var types []uint32
			for _, a := range s.Parameters {
				types = append(types, a.Type)
			}
			name := fmt.Sprintf("probe_%d_%d", i, j)
			if _, err := p.w.main.PgConn().Prepare(ctx, name, s.Text, types); err != nil {
				t.Fatalf("%s: %v", b.query.sql, err)
			}
			b.names = append(b.names, name)
		}
	}
}

// dropFailing reports plans that fail on the database as it is and leaves them out from now on: one error would end the
// pipeline of all.
func (p *probe) dropFailing(t *testing.T) {
	p.plans = slices.DeleteFunc(p.plans, func(b *probed) bool {
		for j, s := range b.sql {
			if _, err := p.w.query(s); err != nil {
				t.Errorf("%s: %s\na hostile row makes main fail: %v\n%s", b.query.file, b.query.sql, err, b.sql[j].Text)
				return true
			}
		}
		return false
	})
}

// measure runs all plans on the database as it is.
func (p *probe) measure(t *testing.T) []*exact {
	ctx := context.Background()
	pipeline := p.w.main.PgConn().StartPipeline(ctx)
	for _, b := range p.plans {
		for j, name := range b.names {
			var values [][]byte
			for _, a := range b.sql[j].Parameters {
				if a.Value == nil {
					values = append(values, nil)
				} else {
					values = append(values, []byte(*a.Value))
				}
			}
			pipeline.SendQueryPrepared(name, values, nil, nil)
		}
	}
	if err := pipeline.Sync(); err != nil {
		t.Fatal(err)
	}
	all := make([]*exact, len(p.plans))
	for i, b := range p.plans {
		var results [][][]*string
		for range b.names {
			p.runs++
			r, err := pipeline.GetResults()
			if err != nil {
				t.Fatalf("%s: %s\n%v", b.query.file, b.query.sql, err)
			}
			result := r.(*pgconn.ResultReader).Read()
			if result.Err != nil {
				t.Fatalf("%s: %s\na hostile row makes main fail: %v\n%s", b.query.file, b.query.sql, result.Err, b.sql[0].Text)
			}
			results = append(results, texts(result))
		}
		all[i] = collect(b.block, results)
	}
	if err := pipeline.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// collect is runBlock for results that are at hand.
func collect(k *rewrite.Block, results [][][]*string) *exact {
	e := &exact{units: map[string]int64{}, values: map[string][]int64{}, bins: map[string]map[int][]bin{}}
	for i, key := range k.Keys {
		e.group(k, strconv.Itoa(i+1), key)
	}
	if k.Measure.Text != "" {
		for _, r := range results[0] {
			name, rest := e.row(k, r)
			if k.Select != nil {
				e.units[name], rest = number(rest[0]), rest[1:]
			}
			for i, release := range k.Measured {
				e.values[name][release] = number(rest[i])
			}
		}
		results = results[1:]
	}
	for i, h := range k.Histograms {
		for _, r := range results[i] {
			name, rest := e.row(k, r)
			for _, release := range h.Releases {
				e.bins[name][release] = append(e.bins[name][release], bin{number(rest[0]), number(rest[1])})
			}
		}
	}
	return e
}

// database builds one hostile database and compares it with all its neighbours. It returns the first problem, or "".
func (p *probe) database(t *testing.T, random *rand.Rand) string {
	ctx := context.Background()
	exec := func(sql string) {
		t.Helper()
		if _, err := p.w.main.Exec(ctx, sql); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	exec(hostile(random))
	p.dropFailing(t)
	whole := p.measure(t)
	for unit := 1; unit <= hostileUnits+1; unit++ {
		exec("BEGIN")
		exec(fmt.Sprintf(`DELETE FROM lab_results l USING visits v WHERE v.visit_id = l.visit_id AND v.patient_id = %[1]d;
			DELETE FROM visits WHERE patient_id = %[1]d; DELETE FROM profiles WHERE patient_id = %[1]d; DELETE FROM patients WHERE id = %[1]d;
			DELETE FROM staff WHERE staff_id = %[1]d`, unit))
		// What is left lies elsewhere, as after a dump and restore: no answer may depend on the order of rows.
		exec(`UPDATE visits SET ward = ward WHERE visit_id % 2 = 0; UPDATE lab_results SET kind = kind WHERE lab_id % 2 = 0; UPDATE patients SET name = name WHERE id % 2 = 0`)
		less := p.measure(t)
		exec("ROLLBACK")
		for i, b := range p.plans {
			if problem := compare(b.block, whole[i], less[i]); problem != "" {
				return fmt.Sprintf("%s: %s\nwithout unit %d: %s\n%s", b.query.file, b.query.sql, unit, problem, b.sql[0].Text)
			}
		}
	}
	return ""
}

// compare checks two measurements of neighbours against what the block declares.
func compare(k *rewrite.Block, a, b *exact) string {
	names := map[string]bool{}
	for _, n := range append(append([]string{}, a.keys...), b.keys...) {
		names[n] = true
	}
	if k.Select != nil {
		moved := 0
		for n := range names {
			d := distance(a.units[n], b.units[n])
			if d > 1 {
				return fmt.Sprintf("the number of units of a group moves by %d", d)
			}
			moved += int(min(d, 1))
		}
		if moved > k.Select.Groups {
			return fmt.Sprintf("the number of units moves in %d groups, declared %d", moved, k.Select.Groups)
		}
	}
	for i, r := range k.Releases {
		moved := 0
		for n := range names {
			var d int64
			if r.Kind == mechanism.Quantile {
				d = histogramDistance(a.bins[n][i], b.bins[n][i])
			} else {
				d = distance(valueOf(a, n, i), valueOf(b, n, i))
			}
			if d > r.Sensitivity {
				return fmt.Sprintf("%s moves by %d, declared %d", r.Name, d, r.Sensitivity)
			}
			if d > 0 {
				moved++
			}
		}
		if moved > r.Groups {
			return fmt.Sprintf("%s moves in %d groups, declared %d", r.Name, moved, r.Groups)
		}
	}
	return ""
}

func valueOf(e *exact, name string, release int) int64 {
	if v := e.values[name]; v != nil {
		return v[release]
	}
	return 0
}

func distance(a, b int64) int64 {
	if a > b {
		return a - b
	}
	return b - a
}

// histogramDistance is the number of rows that two histograms do not share.
func histogramDistance(a, b []bin) int64 {
	counts := map[int64]int64{}
	for _, x := range a {
		counts[x.step] += x.count
	}
	for _, x := range b {
		counts[x.step] -= x.count
	}
	d := int64(0)
	for _, n := range counts {
		d += distance(n, 0)
	}
	return d
}
