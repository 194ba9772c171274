package saved

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/postgres"
)

// each runs a test on a store of each kind.
func each(t *testing.T, test func(t *testing.T, s *Store)) {
	for kind, dsn := range map[string]func() string{
		"file":     func() string { return "file:" + filepath.Join(t.TempDir(), "ledger") },
		"postgres": func() string { return ledgertest.PostgresDSN(t, postgres.SetupSQL("proxy")) },
	} {
		t.Run(kind, func(t *testing.T) {
			s, err := Open(context.Background(), dsn(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			test(t, s)
		})
	}
}

var alice = Owner{"clinic", "alice"}

func TestWhoOpensAQuestion(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		id, err := s.Put(ctx, alice, Question{Name: " wards ", SQL: "SELECT 1", With: []string{"bob"}})
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Put(ctx, alice, Question{Name: "wards", SQL: "SELECT 2", With: []string{"bob"}})
		if err != nil || again != id {
			t.Errorf("the same name: %s, %s, %v", id, again, err)
		}
		for _, c := range []struct {
			of     Owner
			reader string
			want   bool
		}{
			{alice, "alice", true},
			{alice, "bob", true},
			{alice, "carol", false},
			{alice, "", false},
			{Owner{"other", "alice"}, "alice", false},
			{Owner{"clinic", "bob"}, "bob", false},
		} {
			q, found, err := s.Find(ctx, c.of, id, c.reader)
			if err != nil || found != c.want || found && q.SQL != "SELECT 2" {
				t.Errorf("%v by %s: %v, %v", c.of, c.reader, found, err)
			}
		}
		if err := s.Delete(ctx, Owner{"clinic", "bob"}, id); err != nil {
			t.Fatal(err)
		}
		if list, err := s.List(ctx, alice); err != nil || len(list) != 1 {
			t.Errorf("bob has deleted it: %v, %v", list, err)
		}
		if err := s.Delete(ctx, alice, id); err != nil {
			t.Fatal(err)
		}
		if list, err := s.List(ctx, alice); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestBounds(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		for name, q := range map[string]Question{
			"no name":     {Name: " "},
			"a long name": {Name: strings.Repeat("x", MaxName+1)},
			"no text":     {Name: "\xff"},
			"many":        {Name: "x", With: make([]string, MaxShared+1)},
			"large":       {Name: "x", SQL: strings.Repeat("x", MaxBytes)},
		} {
			if _, err := s.Put(ctx, alice, q); err == nil {
				t.Errorf("%s is saved", name)
			}
		}
		var all sync.WaitGroup
		for i := range 8 { // at the same time
			all.Go(func() {
				if _, err := s.Put(ctx, alice, Question{Name: fmt.Sprint("together ", i)}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		list, err := s.List(ctx, alice)
		if err != nil || len(list) != 8 {
			t.Errorf("%d are saved: %v", len(list), err)
		}
		for i := len(list); i < MaxQuestions; i++ {
			if _, err := s.Put(ctx, alice, Question{Name: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Put(ctx, alice, Question{Name: "one more"}); err == nil {
			t.Error("there is no bound")
		}
		if _, err := s.Put(ctx, alice, Question{Name: "50", SQL: "SELECT 1"}); err != nil {
			t.Errorf("replacing one: %v", err)
		}
	})
}

// TestADamagedFileIsPutAside: nothing that stands in the file keeps a proxy from its start, and one that is sound stays.
func TestADamagedFileIsPutAside(t *testing.T) {
	dsn := "file:" + filepath.Join(t.TempDir(), "ledger")
	path := strings.TrimPrefix(dsn, "file:") + ".questions"
	opened := func() (questions int, log string) {
		t.Helper()
		var out strings.Builder
		s, err := Open(context.Background(), dsn, slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list, err := s.List(context.Background(), alice)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(context.Background(), alice, Question{Name: "wards", SQL: "SELECT 1"}); err != nil {
			t.Fatal(err)
		}
		return len(list), out.String()
	}
	if n, log := opened(); n != 0 || log != "" {
		t.Errorf("new: %d questions, %s", n, log)
	}
	if n, log := opened(); n != 1 || log != "" {
		t.Errorf("again: %d questions, %s", n, log)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for name, damaged := range map[string][]byte{
		"empty": {}, "no database": []byte("x"), "cut off": sound[:len(sound)/2], "another meta": append(make([]byte, 4096), sound[4096:]...),
		"no pages": append(sound[:8192:8192], make([]byte, len(sound)-8192)...),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		n, log := opened()
		aside, err := filepath.Glob(path + ".damaged-*")
		if err != nil || n != 0 || !strings.Contains(log, "is damaged") || len(aside) != 1+before {
			t.Fatalf("%s: %d questions, %v, %v, %s", name, n, err, aside, log)
		}
		before++
		if kept, err := os.ReadFile(aside[len(aside)-1]); err != nil || string(kept) != string(damaged) {
			t.Errorf("%s: %d bytes are kept, %v", name, len(kept), err)
		}
	}
}
