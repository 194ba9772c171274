package rewrite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
)

// hostileDatabases is how many random databases the test builds in a plain session, and in each hostile one; each is
// compared with all its neighbours.
const (
	hostileDatabases        = 20
	hostileSessionDatabases = 6
	shortDatabases          = 3 // of either, in `make test`
)

// TestSensitivity proves by trial what every plan declares: over small random databases full of hostile rows, and every
// database with one unit less, no measure query fails, no release moves by more than its sensitivity in any group, and
// none moves in more groups than declared.
func TestSensitivity(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, session := range tried() {
		t.Run(name, func(t *testing.T) {
			w := theWorld.as(session)
			probe := newProbe(t, w, probes(t, w), nil)
			databases := hostileSessionDatabases
			if session == plain {
				databases = hostileDatabases
			}
			if testing.Short() {
				databases = shortDatabases
			}
			for range databases {
				for _, problem := range probe.database(t, random) {
					t.Error(problem)
				}
			}
			t.Logf("%d plans, %d measurements", len(probe.plans), probe.runs)
		})
	}
}

// probe measures many plans at once, by prepared statements in a pipeline.
type probe struct {
	w     *world
	plans []*probed
	runs  int

	databases int // that it has built

	certified bool // only what certify promises: that policies are true, and that no unit moves more than is charged
}

// probed is one block of one corpus query, with one answer of the stages before it.
type probed struct {
	query corpusQuery
	of    *rewrite.Block // as planned: one for all answers of its stages
	block *rewrite.Block
	facts certify.Facts
	names []string // prepared statements: Measure, then Histograms
	trees []query.Query
	sql   []rewrite.SQL
	whole *exact // of the database with all units

	stages [][][]*rewrite.Canonical // what the stages before the block answer: the same for all neighbours
}

// print prints a query of the block for main.
func (b *probed) print(q query.Query) rewrite.SQL { return query.Print(q).With(b.stages) }

// copied shares with b what no mutation changes in place.
func (b *probed) copied() *probed {
	block := *b.block
	block.Releases = slices.Clone(block.Releases)
	return &probed{
		query: b.query, of: b.of, block: &block, facts: b.facts, trees: b.trees, sql: slices.Clone(b.sql),
		stages: b.stages,
	}
}

// probes are the blocks of the corpus that measure something, each once. The clock is stopped: a statement is planned
// twice.
func probes(t *testing.T, w *world) []*probed {
	w = w.then()
	var all []*probed
	seen := map[string]bool{}
	add := func(b *probed) {
		key := ""
		if b.block.Measure.Text != "" {
			b.sql = append(b.sql, b.block.Measure)
		}
		for _, h := range b.block.Histograms {
			b.sql = append(b.sql, h.Measure)
		}
		for j, s := range b.sql {
			values, _ := bound(s)
			key += fmt.Sprintf("%s\x00%q", s.Text, values)
			if printed := b.print(b.trees[j]); printed.Text != s.Text {
				t.Fatalf("%s: the tree is printed as\n%s\nand the plan has\n%s", b.query.file, printed.Text, s.Text)
			}
		}
		if !seen[key] && len(b.sql) > 0 {
			seen[key] = true
			all = append(all, b)
		}
	}
	for _, q := range corpus(t) {
		asked, err := w.ask(q.sql, parameters(q.params))
		if err != nil || asked.plan == nil {
			continue
		}
		trees, err := w.trees(asked)
		if err != nil {
			t.Fatalf("%s: %v", q.file, err)
		}
		facts := gate.Facts(w.schema, asked.plan.Proofs)
		for i := range asked.plan.Blocks {
			for _, stages := range stageAnswers(asked.plan, i) {
				of := &asked.plan.Blocks[i]
				add(&probed{query: q, of: of, block: given(of, stages), facts: facts, trees: trees[i], stages: stages})
			}
		}
	}
	return all
}

// newProbe takes the plans that mutate changes; nil takes all as they are.
func newProbe(t *testing.T, w *world, all []*probed, mutate func(*probed) bool) *probe {
	p := &probe{w: w}
	for _, b := range all {
		if b = b.copied(); mutate == nil || mutate(b) {
			p.plans = append(p.plans, b)
		}
	}
	t.Cleanup(func() { p.forget(t) })
	p.prepare(t)
	return p
}

// forget drops what is prepared.
func (p *probe) forget(t *testing.T) {
	if _, err := p.w.main.Exec(context.Background(), "DEALLOCATE ALL"); err != nil {
		t.Fatal(err)
	}
}

func (p *probe) prepare(t *testing.T) {
	ctx := context.Background()
	p.w.measuring()
	if _, err := p.w.main.Exec(ctx, "SET jit = off"); err != nil { // seconds for a plan of faulty SQL that looks expensive
		t.Fatal(err)
	}
	for i, b := range p.plans {
		for j, s := range b.sql {
			_, types := bound(s)
			name := fmt.Sprintf("probe_%d_%d", i, j)
			if _, err := p.w.main.PgConn().Prepare(ctx, name, s.Text, types); err != nil {
				t.Fatalf("%s: %v", b.query.sql, err)
			}
			b.names = append(b.names, name)
		}
	}
}

// drop leaves out, from now on, the blocks with a problem, whatever their stages answer, and says which.
func (p *probe) drop(problem func(i int, b *probed) string) (problems []string) {
	found := map[*rewrite.Block]bool{}
	for i, b := range p.plans {
		if text := problem(i, b); text != "" {
			problems = append(problems, fmt.Sprintf("%s: %s\n%s", b.query.file, b.query.sql, text))
			found[b.of] = true
		}
	}
	p.plans = slices.DeleteFunc(p.plans, func(b *probed) bool { return found[b.of] })
	return problems
}

// blocks are those that are still tried, each once.
func (p *probe) blocks() []*probed {
	return slices.CompactFunc(slices.Clone(p.plans), func(a, b *probed) bool { return a.of == b.of })
}

// fails says that a plan fails on the database as it is: that would end the pipeline of all.
func (p *probe) fails(b *probed) string {
	for _, s := range b.sql {
		if _, err := p.w.query(s, nil); err != nil {
			return fmt.Sprintf("a hostile row makes main fail: %v\n%s", err, s.Text)
		}
	}
	return ""
}

// measure runs all plans on the database as it is.
func (p *probe) measure(t *testing.T) []*exact {
	ctx := context.Background()
	pipeline := p.w.main.PgConn().StartPipeline(ctx)
	for _, b := range p.plans {
		for j, name := range b.names {
			values, _ := bound(b.sql[j])
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
	e.declared(k)
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

// database builds one hostile database and compares it with all its neighbours, whose rows lie in another order on disk
// and are read in another one, and with itself without the rows that belong to no unit, which count nowhere. It returns
// the problems of the plans, one each, and leaves those plans out from now on.
func (p *probe) database(t *testing.T, random *rand.Rand) []string {
	ctx := context.Background()
	exec := func(sql string) {
		t.Helper()
		if _, err := p.w.main.Exec(ctx, sql); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	p.w.pin(plain)
	exec(rewritetest.Hostile(random, p.databases))
	if p.certified {
		exec(rewritetest.OneUnit)
	}
	p.databases++
	p.w.measuring()
	problems := p.drop(func(_ int, b *probed) string { return p.fails(b) })
	for i, e := range p.measure(t) {
		p.plans[i].whole = e
	}
	if !p.certified {
		problems = append(problems, p.drop(func(_ int, b *probed) string { return outside(b.block, b.whole) })...)
	}
	exec("BEGIN")
	exec(rewritetest.Unitless)
	none := p.measure(t)
	exec("ROLLBACK")
	problems = append(problems, p.drop(func(i int, b *probed) string {
		if !sameIntegers(b.block, b.whole, none[i]) {
			return "rows without a unit are counted\n" + b.sql[0].Text
		}
		return ""
	})...)
	exec("SET enable_hashagg = off; SET enable_hashjoin = off; DISCARD PLANS")
	defer exec("RESET enable_hashagg; RESET enable_hashjoin")
	for unit, id := range rewritetest.Units {
		exec("BEGIN")
		exec(rewritetest.Without(unit))
		exec(rewritetest.Reordered("%s DESC", "visits.visit_id", "lab_results.lab_id", "calls.call_id", "ratings.session_id",
			"bookings.booking_id"))
		less := p.measure(t)
		exec("ROLLBACK")
		problems = append(problems, p.drop(func(i int, b *probed) string {
			problem := compare(b.block, b.whole, less[i])
			if problem == "" {
				return ""
			}
			return fmt.Sprintf("without unit %d: %s\n%s", id, problem, b.sql[0].Text)
		})...)
	}
	return problems
}

// outside says which chained sum lies outside the range that follows from its count. The mechanism would move it there,
// so an answer would be wrong without any noise.
func outside(k *rewrite.Block, e *exact) string {
	for name, values := range e.values {
		for i, r := range k.Releases {
			if r.Kind != mechanism.SumGivenCount {
				continue
			}
			lo, hi := r.PerRow.Lo*values[r.CountRef], r.PerRow.Hi*values[r.CountRef]
			if values[i] < lo || values[i] > hi {
				return fmt.Sprintf("%s is %d in group %q; its %d rows give %d to %d", r.Name, values[i], name, values[r.CountRef],
					lo, hi)
			}
		}
	}
	return ""
}

// sameIntegers reports whether two measurements are equal in every group.
func sameIntegers(k *rewrite.Block, a, b *exact) bool {
	for _, name := range append(slices.Clone(a.keys), b.keys...) {
		for i := range k.Releases {
			if valueOf(a, name, i) != valueOf(b, name, i) || histogramDistance(a.bins[name][i], b.bins[name][i]) > 0 {
				return false
			}
		}
		if a.units[name] != b.units[name] {
			return false
		}
	}
	return true
}

// compare checks two measurements of neighbours against what the block declares.
func compare(k *rewrite.Block, a, b *exact) string {
	names := map[string]bool{}
	for _, n := range append(append([]string{}, a.keys...), b.keys...) {
		names[n] = true
	}
	if k.Select != nil {
		moved, furthest := 0, int64(0)
		for n := range names {
			d := distance(a.units[n], b.units[n])
			if d > k.Select.Sensitivity {
				return fmt.Sprintf("the number of units of a group moves by %d", d)
			}
			moved, furthest = moved+int(min(d, 1)), max(furthest, d)
		}
		if s := k.Select.Squares; s > 0 && furthest*furthest > s/int64(max(moved, 1)) {
			return fmt.Sprintf("weights of units move %d groups by %d", moved, furthest)
		}
		if moved > k.Select.Groups || int64(moved) > k.Select.Total {
			return fmt.Sprintf("the number of units moves in %d groups, declared %d", moved, k.Select.Groups)
		}
	}
	rows := map[string]int64{} // by group: whole rows that move what rows bound
	mostRows := int64(0)
	layers, families := map[int]float64{}, map[int]float64{}
	for i, r := range k.Releases {
		moved, total := 0, int64(0)
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
			total += d
			if r.Row > 0 {
				rows[n], mostRows = max(rows[n], (d+r.Row-1)/r.Row), r.Total/r.Row
			}
		}
		if moved > r.Groups {
			return fmt.Sprintf("%s moves in %d groups, declared %d", r.Name, moved, r.Groups)
		}
		if total > r.Total {
			return fmt.Sprintf("%s moves by %d in all groups, declared %d", r.Name, total, r.Total)
		}
		if r.Layer > 0 {
			share := float64(total) / float64(r.Total)
			if r.InFamily() { // the rows of a family count once
				share, families[r.Family] = max(0, share-families[r.Family]), max(share, families[r.Family])
			}
			if layers[r.Layer] += share; layers[r.Layer] > 1+1e-9 {
				return fmt.Sprintf("the releases of layer %d move by %g of what is declared for one", r.Layer, layers[r.Layer])
			}
		}
	}
	moved := int64(0)
	for _, n := range rows {
		moved += n
	}
	if moved > mostRows {
		return fmt.Sprintf("what rows bound moves as by %d rows in all groups, declared %d", moved, mostRows)
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
