package main

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// blocked starts a count that waits in main until the lock is released.
func blocked(t *testing.T, s *site) (release func(), answer <-chan error) {
	t.Helper()
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close(ctx) })
	alice, err := s.connect("alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(ctx, "BEGIN; LOCK TABLE people"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.count(alice)
		done <- err
	}()
	for waiting := 0; waiting == 0; { // the measure is in main as soon as its lock request is
		const sql = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'people'::regclass"
		if err := admin.QueryRow(ctx, sql).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("the count did not wait: %v", err)
		default:
		}
	}
	return func() {
		if _, err := admin.Exec(ctx, "ROLLBACK"); err != nil {
			t.Error(err)
		}
	}, done
}

func TestSIGTERMLetsARunningStatementFinish(t *testing.T) {
	s := newSite(t)
	s.start()
	release, answer := blocked(t, s)
	s.signal(syscall.SIGTERM)
	s.await("stopping")
	release()
	if err := <-answer; err != nil {
		t.Errorf("the statement that was running: %v", err)
	}
	s.await(`"msg":"stopped"`)
	if err := s.serve.Wait(); err != nil {
		t.Error(err)
	}
}

func TestASecondSIGTERMStopsNow(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		s := newSite(t)
		s.start()
		release, answer := blocked(t, s)
		s.signal(syscall.SIGTERM)
		s.await("stopping")
		s.signal(sig)
		if err := <-answer; err == nil {
			t.Error("the statement was answered")
		}
		s.await("stopped before every statement was done")
		release()
		if err := s.serve.Wait(); err != nil {
			t.Error(err)
		}
	}
}
