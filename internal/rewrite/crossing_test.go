package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestProofsCanFail: every proof of values in a plan of the corpus holds, and fails once a value stands in its list
// twice.
func TestProofsCanFail(t *testing.T) {
	w, proofs := theWorld, 0
	for _, q := range corpus(t) {
		asked, err := w.ask(q.sql, parameters(q.params))
		if err != nil || asked.plan == nil {
			continue
		}
		for _, p := range asked.plan.Proofs {
			if p.Of == "" {
				continue
			}
			proofs++
			if !w.proven(t, p) {
				t.Errorf("%s: %s: the proof fails: %s", q.file, q.sql, p.Values.Text)
			}
			if twice, ok := repeated(p); ok && w.proven(t, twice) {
				t.Errorf("%s: %s: the proof holds of equal values: %s", q.file, q.sql, twice.Values.Text)
			}
		}
	}
	if proofs < 100 {
		t.Errorf("only %d proofs", proofs)
	}
	t.Logf("%d proofs", proofs)
}

func (w *world) proven(t *testing.T, p rewrite.Proof) bool {
	t.Helper()
	rows, err := w.query(p.Values, nil)
	if err != nil {
		t.Fatalf("%s: %v", p.Values.Text, err)
	}
	return *rows[0][0] == "t"
}

// repeated adds a value to a proof's list that is there already; false: the list is empty.
func repeated(p rewrite.Proof) (rewrite.Proof, bool) {
	if len(p.Values.Parameters) == 0 { // a list of constants: its first row, once more
		text := p.Values.Text
		from := strings.Index(text, "(VALUES (") + len("(VALUES ")
		to := from + closing(text[from:])
		p.Values.Text = text[:to] + ", " + text[from:to] + text[to:]
		return p, true
	}
	var parameters []rewrite.Parameter
	for _, q := range p.Values.Parameters {
		list := *q.Value
		if list == "{}" {
			return p, false
		}
		doubled := list[:len(list)-1] + "," + list[1:]
		parameters = append(parameters, rewrite.Parameter{Type: q.Type, Value: &doubled})
	}
	p.Values.Parameters = parameters
	return p, true
}

// closing is the length of the text up to where its first parenthesis closes; literals have theirs.
func closing(text string) int {
	depth, quoted := 0, false
	for i, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
		case quoted:
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// sloppy is a lookup whose values cross as text in the session's own settings: what Canonical is there to prevent.
type sloppy struct{ lookup }

func (l sloppy) text(run func(context.Context, backend.Request) (*backend.Rows, error), sql string) (
	*rewrite.Table, error,
) {
	rows, err := run(context.Background(), backend.Request{SQL: sql, Settings: l.w.session})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	table := rewrite.NewTable(len(rows.Columns()))
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return table, nil
		}
		if err != nil {
			return nil, err
		}
		values := make([]*rewrite.Canonical, len(row))
		for i, v := range row {
			if v != nil {
				text := rewrite.Canonical(v)
				values[i] = &text
			}
		}
		table.Add(values)
	}
}

func (l sloppy) Rows(q rewrite.Query) (*rewrite.Table, error) {
	return l.text(l.w.backend.Shadow, q.SQL)
}

func (l sloppy) PublicRows(q rewrite.Query) (*rewrite.Table, error) {
	return l.text(l.w.backend.Public, q.SQL)
}

func (l sloppy) Distinct(c policy.ColumnOf, oid uint32) ([]rewrite.Canonical, error) {
	return l.lookup.Distinct(c, oid)
}

// TestSloppyCrossingsAreFound: where values cross as text in a hostile session's settings, and the plan is another one
// for it, at least half of the plans are found out: main refuses a proof or the query itself, or the answer is not
// PostgreSQL's.
func TestSloppyCrossingsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("make guards asks it")
	}
	if err := theWorld.fill(rand.New(rand.NewPCG(1, 2)), oraclePatients); err != nil {
		t.Fatal(err)
	}
	theWorld.indexed(t)
	wide := theWorld.withGroups(1 << 20)
	worlds, silent := wide.inSessions(t), map[string][]*answer{}
	var made, found atomic.Int64
	var mu sync.Mutex
	each(t, "asked", worlds, func(t *testing.T, name string, w *world) {
		var answered []*answer
		for _, q := range corpus(t) {
			asked, err := w.ask(q.sql, parameters(q.params))
			if err != nil || asked.plan == nil {
				continue
			}
			values, err := w.read(asked)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := asked.analysis.Plan(context.Background(), values, sloppy{lookup{w, asked}},
				rewrite.Options{HashKey: "test"})
			if err == nil && w.readAlike(plan, asked.plan) {
				continue // nothing crosses that main would read as another value
			}
			made.Add(1)
			if err != nil || !w.allProven(plan) {
				found.Add(1)
				continue
			}
			asked.plan = plan
			got, err := w.finish(asked)
			if err != nil {
				found.Add(1)
				continue
			}
			answered = append(answered, &answer{q, asked, got})
		}
		mu.Lock()
		defer mu.Unlock()
		silent[name] = answered
	})
	if err := wide.dropUnitless(); err != nil {
		t.Fatal(err)
	}
	wide.neighbours(t)
	each(t, "compared", worlds, func(_ *testing.T, name string, w *world) {
		for _, a := range silent[name] {
			if w.compare(a) != "" {
				found.Add(1)
			}
		}
	})
	t.Logf("%d of %d plans are found out", found.Load(), made.Load())
	if made.Load() < 20 || 2*found.Load() < made.Load() {
		t.Errorf("%d of %d plans with sloppy crossings are found out, want half", found.Load(), made.Load())
	}
}

// readAlike reports whether two plans measure the same over domains that main reads as the same values.
func (w *world) readAlike(a, b *rewrite.Plan) bool {
	if len(a.Blocks) != len(b.Blocks) || len(a.Proofs) != len(b.Proofs) {
		return false
	}
	for i := range a.Blocks {
		if a.Blocks[i].Measure.Text != b.Blocks[i].Measure.Text {
			return false
		}
	}
	for i, p := range a.Proofs {
		if len(p.Values.Parameters) == 0 {
			continue
		}
		_, domain, _ := strings.Cut(p.Values.Text, " FROM ")
		domain, _, _ = strings.Cut(domain, " GROUP BY ")
		read := func(p rewrite.Proof) string {
			rows, err := w.query(rewrite.SQL{
				Text:       "SELECT pg_catalog.array_agg(d::text)::text FROM " + domain,
				Parameters: p.Values.Parameters,
			}, nil)
			if err != nil || rows[0][0] == nil {
				return fmt.Sprint(err)
			}
			return *rows[0][0]
		}
		if read(p) != read(b.Proofs[i]) {
			return false
		}
	}
	return true
}

func (w *world) allProven(plan *rewrite.Plan) bool {
	for _, p := range plan.Proofs {
		if p.Of == "" {
			continue
		}
		if rows, err := w.query(p.Values, nil); err != nil || *rows[0][0] != "t" {
			return false
		}
	}
	return true
}
