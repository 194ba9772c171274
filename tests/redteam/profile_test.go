package redteam_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/profile"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

// watchful is a ledger that looks at what main has executed by the time that it is asked to charge.
type watchful struct {
	t      *testing.T
	w      *world
	refuse bool
	calls  int
	ran    []relay.Query // measure queries so far
}

func (*watchful) Preview(context.Context, []ledger.Charge) (ledger.Balance, error) {
	return ledger.Balance{}, nil
}

func (l *watchful) Charge(_ context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	if l.calls++; len(charges) == 0 {
		l.t.Error("nothing is charged")
	}
	before := len(l.ran)
	l.look()
	if l.calls == 1 && len(l.ran) != before {
		l.t.Errorf("%d measure queries ran before the first charge", len(l.ran)-before)
	}
	if l.refuse {
		return ledger.Balance{}, errors.New("over budget")
	}
	return ledger.Balance{}, nil
}

// look takes what main has executed on private rows.
func (l *watchful) look() {
	queries, err := l.w.relay.Take()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, q := range queries {
		if strings.Contains(q.SQL, "FROM ONLY") {
			l.ran = append(l.ran, q)
		}
	}
}

// TestProfileReadsWhatWasCharged runs what main executes for a profile on hostile databases and their neighbours: each
// unit has one value in every histogram and in at most one group of a selection, and nothing runs before it is charged.
func TestProfileReadsWhatWasCharged(t *testing.T) {
	w := newWorld(t, 1)
	ctx := context.Background()
	p := w.policy(strings.Replace(w.main.DSN(w.database, "dp_main"),
		net.JoinHostPort(w.main.Host, strconv.Itoa(w.main.Port)), w.relay.Addr(), 1))
	p.Profile = &policy.Budget{Epsilon: 1e6, Delta: 0.5}
	options := profile.Options{Epsilon: 5000, Quantile: 0.5} // five units, of which as many are to be on either side

	refused := &watchful{t: t, w: w, refuse: true}
	if _, err := profile.Run(ctx, p, refused, options, slog.New(slog.DiscardHandler)); err == nil || refused.calls != 1 {
		t.Errorf("a refused charge: %v after %d calls", err, refused.calls)
	}
	if refused.look(); len(refused.ran) != 0 {
		t.Errorf("%d measure queries ran without a charge", len(refused.ran))
	}

	paid := &watchful{t: t, w: w}
	result, err := profile.Run(ctx, p, paid, options, slog.New(slog.DiscardHandler))
	if err != nil || result.Failed != nil {
		t.Fatal(err, result)
	}
	for _, r := range result.Remarks {
		if strings.Contains(r, "not profiled") {
			t.Error(r)
		}
	}
	first := len(paid.ran)
	if paid.look(); paid.calls != 3 || first < 20 || len(paid.ran) == first {
		t.Fatalf("%d calls of the ledger, %d queries before the third and %d after it", paid.calls, first,
			len(paid.ran)-first)
	}
	moved, databases := 0, uint64(8)
	if testing.Short() {
		databases = 2
	}
	for seed := range databases {
		moved += w.profiled(ctx, paid.ran, first, seed)
	}
	if moved == 0 {
		t.Error("no unit moved anything")
	}
	t.Logf("%d queries, %d neighbours moved one", len(paid.ran), moved)
}

// profiled compares one hostile database with its neighbours. It returns how often one differed.
func (w *world) profiled(ctx context.Context, queries []relay.Query, first int, seed uint64) (moved int) {
	conn := w.judges[0]
	random := rand.New(rand.NewPCG(seed, 7))
	run := func(change string) []map[string]int64 {
		if _, err := conn.Exec(ctx, "BEGIN; "+change); err != nil {
			w.t.Fatal(err)
		}
		defer func() {
			if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
				w.t.Fatal(err)
			}
		}()
		var out []map[string]int64
		for _, q := range queries {
			r := conn.PgConn().ExecParams(ctx, q.SQL, q.Values, q.Types, q.Formats, nil).Read()
			if r.Err != nil {
				w.t.Fatalf("database %d: %v\n%s", seed, r.Err, q.SQL)
			}
			out = append(out, unitsIn(w.t, r.Rows))
		}
		return out
	}
	if _, err := conn.Exec(ctx, rewritetest.Hostile(random, int(seed))+rewritetest.Samples(random)); err != nil {
		w.t.Fatal(err)
	}
	whole := run("")
	for unit := range rewritetest.Units {
		less := run(rewritetest.Without(unit) + rewritetest.WithoutSamples(unit) + rewritetest.Reordered(
			"%s DESC", onDisk...))
		for i := range queries[:first] {
			distance := int64(0)
			for cell := range union(whole[i], less[i]) {
				d := whole[i][cell] - less[i][cell]
				distance += max(d, -d)
			}
			if distance > 1 {
				w.t.Errorf("database %d without unit %d: moved by %d\n%s", seed, unit, distance, queries[i].SQL)
			}
			moved += int(min(distance, 1))
		}
	}
	return moved
}

// unitsIn reads rows of a group or a cell, and the number of units in it.
func unitsIn(t *testing.T, rows [][][]byte) map[string]int64 {
	out := map[string]int64{}
	for _, row := range rows {
		last := len(row) - 1
		n, err := integer(row[last])
		if err != nil {
			t.Fatal(err)
		}
		key := ""
		for _, v := range row[:last] {
			key += fmt.Sprintf("%t %q ", v == nil, v)
		}
		if _, twice := out[key]; twice {
			t.Errorf("%s comes twice", key)
		}
		out[key] = n
	}
	return out
}

func union(a, b map[string]int64) map[string]bool {
	out := map[string]bool{}
	for _, m := range []map[string]int64{a, b} {
		for k := range m {
			out[k] = true
		}
	}
	return out
}
