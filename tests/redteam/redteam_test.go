// Package redteam_test judges what main really executes: a relay in front of main records the SQL and the parameters
// that the proxy sends for a statement, and these run again on hostile databases and all their neighbours. Whatever the
// plan says, the integers may not move further than the ledger was charged for.
//
// A violation prints the seed and the statement's number. To ask it again, alone, or any other statement in all
// sessions:
//
//	go test ./tests/redteam -run Executes -v -args -seed 11 -only 34
//	go test ./tests/redteam -run Executes -v -args -sql 'SELECT …' -databases 10
package redteam_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
)

var (
	seed       = flag.Uint64("seed", 1, "of statements and databases")
	statements = flag.Int("statements", 400, "random statements")
	corpusPart = flag.Int("corpus", 10, "one of so many statements of the corpus is asked")
	verbose    = flag.Bool("refusals", false, "print refusals")
	only       = flag.Int("only", -1, "ask this random statement alone")
	sql        = flag.String("sql", "", "ask this statement alone, in all sessions")
	databases  = flag.Int("databases", 4, "hostile databases that every statement is judged on")
)

// judges work side by side, each in a database of its own.
const judges = 2

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	pgservertest.Stop()
	os.Exit(code)
}

// leastAnswered is the share of random statements that a generator worth its name gets answered.
const leastAnswered = 0.4

func TestMainExecutesWhatWasCharged(t *testing.T) {
	if testing.Short() {
		t.Skip("make guards asks it")
	}
	t.Logf("seed %d", *seed)
	w := newWorld(t, judges)
	v := &violations{t: t, reported: map[string]bool{}}
	all := func(int) []session { return sessions }
	if *only >= 0 {
		w.judge(v, w.askAll(v, "one statement", random(*only, 1), oneSession))
		return
	}
	if *sql != "" {
		w.judge(v, w.askAll(v, "one statement", []statement{{source: "by hand", sql: *sql}}, all))
		return
	}
	records := w.askAll(v, "known attacks", attacks(), all)
	records = append(records, w.askAll(v, "the corpus", corpus(t, *corpusPart), oneSession)...)
	answered := w.askAll(v, "random statements", random(0, *statements), oneSession)
	if share := float64(len(answered)) / float64(*statements); *statements >= 100 && share < leastAnswered {
		t.Errorf("only %.0f %% of the random statements are answered", 100*share)
	}
	t.Logf("%d parameters in binary form", w.binary)
	w.judge(v, distinct(t, append(records, answered...)))
}

// random are n random statements from the first on.
func random(first, n int) []statement {
	var all []statement
	for i := first; i < first+n; i++ {
		all = append(all, generate(*seed, i))
	}
	return all
}

// oneSession is the session that the i-th statement of a seed is asked in.
func oneSession(i int) []session {
	return sessions[rand.New(rand.NewPCG(*seed, uint64(i))).IntN(len(sessions)):][:1]
}

// askAll asks every statement in the sessions that in gives, and returns what was answered.
func (w *world) askAll(v *violations, what string, all []statement, in func(int) []session) []*record {
	conns := map[string]*pgconn.PgConn{}
	var records []*record
	asked, refused, open := 0, 0, 0
	for _, st := range all {
		for _, s := range in(st.number) {
			if conns[s.name] == nil {
				conns[s.name] = w.connect(s)
			}
			asked++
			r, err := w.ask(conns[s.name], s, st)
			switch {
			case errors.Is(err, errRefused):
				refused++
				if *verbose {
					w.t.Logf("%v: %s", err, st.sql)
				}
			case err != nil:
				if r == nil {
					r = &record{statement: st, session: s}
				}
				v.add(r, err)
			case r == nil || len(r.queries) == 0:
				open++
			default:
				records = append(records, r)
			}
		}
	}
	w.t.Logf("%s: %d asked, %d answered (%d %%), %d refused, %d without private rows", what, asked, len(records),
		100*len(records)/max(asked, 1), refused, open)
	return records
}

// distinct leaves out what main executes for another record too, with the same settings and the same charge.
func distinct(t *testing.T, records []*record) []*record {
	seen := map[string]bool{}
	var out []*record
	for _, r := range records {
		blocks, err := json.Marshal(r.blocks)
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%q %s", r.pins.Values, blocks)
		for _, q := range r.queries {
			key += fmt.Sprintf("%q %q", q.SQL, q.Values)
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, r)
		}
	}
	return out
}

// judge runs the records on hostile databases, by several judges at once.
func (w *world) judge(v *violations, records []*record) {
	all := make([]*judge, len(w.judges))
	w.t.Run("judges", func(t *testing.T) {
		for i, conn := range w.judges {
			j := &judge{conn: conn, violated: v.add, every: 20}
			for _, r := range records {
				j.records = append(j.records, &judged{record: r})
			}
			all[i] = j
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				j.t = t
				for n := i; n < *databases; n += len(w.judges) {
					j.database(*seed*1000 + uint64(n))
				}
			})
		}
	})
	runs, pairs, slow := 0, 0, 0
	for _, j := range all {
		runs, pairs, slow = runs+j.runs, pairs+j.pairs, slow+j.slow
	}
	w.t.Logf(
		"%d different questions judged on %d databases: %d measure queries, %d comparisons with a neighbour, %d violations, %d too slow", len(records), *databases, runs, pairs, v.n, slow)
}

// violations reports what must not happen.
type violations struct {
	mu       sync.Mutex
	t        testing.TB
	n        int
	reported map[string]bool // statements
}

func (v *violations) add(r *record, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	if v.reported[r.sql] {
		v.t.Errorf("the same in session %s: %v", r.session.name, err)
		return
	}
	v.reported[r.sql] = true
	v.t.Errorf("VIOLATION (seed %d, %s)\nstatement: %s%s\nsession %s: %s\n%v\nmain executed:%s", *seed, r.source, r.sql,
		parametersText(r.values), r.session.name, r.session.set, err, list(r.queries))
}

func parametersText(values []*string) string {
	text := ""
	for i, v := range values {
		if v == nil {
			text += fmt.Sprintf("\n  $%d: NULL", i+1)
			continue
		}
		text += fmt.Sprintf("\n  $%d: %s", i+1, *v)
	}
	return text
}

// corpus takes every part-th statement of the corpus, from one on that the seed chooses; one is all of them.
func corpus(t testing.TB, part int) []statement {
	queries, err := rewritetest.Corpus(testdata + "corpus")
	if err != nil {
		t.Fatal(err)
	}
	var all []statement
	for i := int(*seed % uint64(part)); i < len(queries); i += part {
		q := queries[i]
		if strings.HasPrefix(strings.ToUpper(q.SQL), "EXPLAIN") {
			continue
		}
		all = append(all, statement{source: q.File, number: i, sql: q.SQL, values: q.Values()})
	}
	return all
}
