package engine

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/session"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// client writes what a session sends into the journal.
type client struct{ *journal }

func (c client) RowDescription([]pgconn.FieldDescription) error { return nil }
func (c client) DataRow(values [][]byte) error                  { c.add("row %s", bytes.Join(values, nil)); return nil }
func (c client) CommandComplete(tag string) error               { c.add("%s", tag); return nil }
func (c client) EmptyQuery() error                              { return nil }
func (c client) PortalSuspended() error                         { return nil }
func (c client) Notice(n *pgconn.Notice) error                  { c.add("%s", n.Message); return nil }
func (c client) CopyOut(byte, int) error                        { return nil }
func (c client) CopyData([]byte) error                          { return nil }
func (c client) CopyDone() error                                { return nil }

// TestSessions plays texts to sessions over the engine: (texts) → (messages, charges).
func TestSessions(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string
		want  []string
		left  string
	}{
		{
			"a FETCH behind one that fails is not charged",
			[]string{
				"DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT ward FROM wards", "FETCH c",
				"DECLARE k CURSOR WITH HOLD FOR " + question,
				"FETCH PRIOR FROM c; FETCH k", "FETCH k",
			},
			[]string{
				"describe", "DECLARE CURSOR", "run on public", "close", "row ", "FETCH 1", "describe", "check", "DECLARE CURSOR",
				"ERROR 55000 cursor can only scan forward",
				"spend 50", "measure", "keep", "run on shadow", "close", "dpproxy: 40% of your budget spent, 60% left, enough for 1 like this", "row {41}", "FETCH 1",
			},
			"75",
		},
		{
			"a text whose last statement does not fit the budget",
			[]string{"SET dpproxy.epsilon = 60; " + question + "; SET dpproxy.epsilon = 50; " + question + "; " + question + " WHERE age > 30"},
			[]string{
				"SET", "describe", "check", "spend 60", "measure", "keep", "run on shadow", "close", "row {41}", "dpproxy: 48% of your budget spent, 52% left, enough for 1 like this", "SELECT 1",
				"SET", "check", "spend 50", "measure", "keep", "run on shadow", "close", "row {41}", "dpproxy: 40% of your budget spent, 12% left, enough for 0 like this", "SELECT 1",
				"describe", "check", "ERROR 53400 this would take 40% of your budget, of which 12% is left",
			},
			"15",
		},
		{
			"the same question twice in one text",
			[]string{question + "; " + question},
			[]string{
				"describe", "check", "spend 50", "measure", "keep", "run on shadow", "close", "row {41}", "dpproxy: 40% of your budget spent, 60% left, enough for 1 like this", "SELECT 1",
				"describe", "run on shadow", "close", "row {41}", "dpproxy: nothing spent, 60% left", "SELECT 1",
			},
			"75",
		},
		{
			"ROLLBACK refunds nothing",
			[]string{"BEGIN", question, "ROLLBACK"},
			[]string{"BEGIN", "describe", "check", "spend 50", "measure", "keep", "run on shadow", "close", "row {41}", "dpproxy: 40% of your budget spent, 60% left, enough for 1 like this", "SELECT 1", "ROLLBACK"},
			"75",
		},
		{
			"a refused statement comes after the answers to those before it",
			[]string{question + "; SELECT id FROM patients"},
			[]string{
				"describe", "check", "spend 50", "measure", "keep", "run on shadow", "close", "row {41}", "dpproxy: 40% of your budget spent, 60% left, enough for 1 like this", "SELECT 1",
				"describe", "ERROR 42501 rows of a private table are never returned",
			},
			"75",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			s, err := session.NewHandler(w.engine).Open(context.Background(), wire.Startup{Analyst: "alice", User: "alice", Database: "clinic", Notice: func(*pgconn.Notice) {}})
			if err != nil {
				t.Fatal(err)
			}
			w.take()
			for _, text := range c.texts {
				w.fresh()
				err := s.Query(w.ctx, text, client{w.journal})
				if err != nil {
					w.add("%s", errorText(err))
				}
				s.Sync(err != nil)
			}
			if diff := cmp.Diff(c.want, w.take()); diff != "" {
				t.Error(diff)
			}
			if left := w.left(); left != c.left {
				t.Errorf("left %s, want %s", left, c.left)
			}
		})
	}
}
