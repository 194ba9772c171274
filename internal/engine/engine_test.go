package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/command"
)

// TestLoadIsAllOrNothing: a reload that fails leaves the old policy in force.
func TestLoadIsAllOrNothing(t *testing.T) {
	for _, call := range []string{"schema", "parameters", "answer"} {
		w := newWorld(t)
		before := w.engine.state.Load()
		gone := errors.New("gone")
		w.on(call, func() error { return gone })
		p := parsePolicy(t)
		if err := w.engine.load(context.Background(), p, &fakeDatabases{journal: w.journal, schema: clinicSchema(p)}); !errors.Is(err, gone) {
			t.Errorf("%s fails: %v", call, err)
		}
		if w.engine.state.Load() != before {
			t.Errorf("%s fails, but the state has changed", call)
		}
	}
}

// TestGroupSecretOutlivesReloads: units keep their groups as long as the ledger lives.
func TestGroupSecretOutlivesReloads(t *testing.T) {
	w := newWorld(t)
	before := w.engine.state.Load().secret
	w.reload()
	if after := w.engine.state.Load().secret; after != before || before == "" {
		t.Errorf("secret %q, then %q", before, after)
	}
	if other := newWorld(t).engine.state.Load().secret; other == before {
		t.Error("two ledgers have the same secret")
	}
}

// TestParse tells what is the session's from what is the engine's.
func TestParse(t *testing.T) {
	w := newWorld(t)
	list, err := w.engine.Parse("/* é */ BEGIN; SELECT 1 ; SHOW TimeZone")
	if err != nil || len(list) != 3 {
		t.Fatalf("%d statements, %v", len(list), err)
	}
	for i, mine := range []bool{false, true, false} {
		if (list[i].Parsed != nil) != mine || (list[i].Command == nil) != mine {
			t.Errorf("statement %d: %+v", i, list[i])
		}
	}
	if _, ok := list[0].Command.(command.Begin); !ok {
		t.Errorf("command %T", list[0].Command)
	}
	if list[1].SQL != " SELECT 1 " || list[1].Offset != len("/* e */ BEGIN;") { // characters, not bytes
		t.Errorf("%q at %d", list[1].SQL, list[1].Offset)
	}
	if _, err := w.engine.Parse("SELECT '" + strings.Repeat("x", 1<<20) + "'"); err == nil {
		t.Error("a text beyond limits.sql_bytes was parsed")
	}
	if list, err := w.engine.Parse(" -- nothing"); err != nil || len(list) != 0 {
		t.Errorf("an empty text: %v, %v", list, err)
	}
}

// TestQuotasComeBack: whatever becomes of a statement, it gives up its share of each pool, once.
func TestQuotasComeBack(t *testing.T) {
	for _, c := range []struct{ name, sql, fault, as string }{
		{"rows that are closed twice", "SELECT ward FROM wards", "", ""},
		{"a public statement that does not start", "SELECT ward FROM wards", "run", "gone"},
		{"a private statement", question, "", ""},
		{"a finish query that does not start", question, "run", "gone"},
		{"a finish query that breaks off", question, "row", "gone"},
		{"a main that is lost", question, "measure", "busy"},
	} {
		w := newWorld(t, "epsilon: 125", "epsilon: 10000", "answers: {ttl: 1h}", "answers: {ttl: 0}")
		b, err := w.bind(c.sql)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // more than a pool has
			if c.fault != "" {
				w.do(t, "fault "+c.fault+" "+c.as)
			}
			if err := w.engine.Charge(w.ctx, w.scope, b); err != nil {
				t.Fatal(err)
			}
			if rows, err := b.Execute(w.ctx); err == nil {
				rows.Close()
				rows.Close()
			}
			if p, ok := b.(*private); ok {
				p.answer = nil
			}
		}
		for route, q := range w.engine.state.Load().quotas {
			for analyst, slots := range q.slots {
				if !slots.TryAcquire(q.limit) {
					t.Errorf("%s: a connection of route %d is still counted against %s", c.name, route, analyst)
				}
			}
		}
	}
}
