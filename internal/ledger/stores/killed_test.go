package stores_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
)

// askSteps are the moments between asking a question and having given its answer.
var askSteps = []string{"decided", "written", "committed", "charged", "drawn", "kept", "released"}

// askChild asks questions 0, 1, 2… in four sessions, as proxies do: it looks for the answer, charges, draws, keeps, and
// releases what is kept. Each release is a line with the question and the answer. The process kills itself as
// crashChild does.
func askChild() int {
	n, err := strconv.ParseInt(os.Getenv("LEDGER_TEST_COUNT"), 10, 64)
	if err != nil {
		return 2
	}
	step := os.Getenv("LEDGER_TEST_STEP")
	var left atomic.Int64
	left.Store(n)
	at := func(here string) {
		if here == step && left.Add(-1) == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	released, err := os.OpenFile(os.Getenv("LEDGER_TEST_RELEASED"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 2
	}
	config := ledgertest.PureConfig(1e9)
	config.Step, config.Checkpoint = at, 3
	s, err := stores.Open(context.Background(), os.Getenv("LEDGER_TEST_DSN"), config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				if err := askOne(s, fmt.Sprint(i), at, released); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(2)
				}
			}
		})
	}
	all.Wait()
	return 0
}

// askOne releases the answer to a question.
func askOne(s ledger.Store, question string, at func(string), released *os.File) error {
	ctx := context.Background()
	for {
		answer, there, err := s.Answer(ctx, question)
		if err != nil {
			return err
		}
		if !there {
			charge := ledgertest.PureCharge(1)
			charge.Query, charge.Question = question, question
			_, err := s.Spend(ctx, "alice", []ledger.Charge{charge})
			if errors.Is(err, ledger.ErrAsked) {
				time.Sleep(time.Millisecond)
				continue
			}
			if err != nil {
				return err
			}
			at("charged")
			answer = []byte(rand.Text())
			at("drawn")
			if answer, err = s.PutAnswer(ctx, question, answer, time.Hour); err != nil {
				return err
			}
			at("kept")
		}
		if _, err := fmt.Fprintf(released, "%s %s\n", question, answer); err != nil {
			return err
		}
		at("released")
		return nil
	}
}

// TestKilledBetweenChargeAndAnswer kills processes that ask the same questions of one ledger, two at a time where
// several can share it. Of no question more answers are ever given than were charged.
func TestKilledBetweenChargeAndAnswer(t *testing.T) {
	for _, kind := range []string{"file", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			random := mathrand.New(mathrand.NewPCG(5, 6))
			kills, answers, charges := 0, 0, 0
			for left := crashes(t); left > 0; left -= crashesPerLedger {
				dsn := "file:" + filepath.Join(t.TempDir(), "ledger")
				if kind == "postgres" {
					dsn = postgresDSN(t)
				}
				k, a, c := killAskers(t, dsn, min(left, crashesPerLedger), random)
				kills, answers, charges = kills+k, answers+a, charges+c
			}
			t.Logf("%d processes killed: %d answers given, %d charged", kills, answers, charges)
		})
	}
}

// endClaims lets the time of all claims run out, again and again, also of processes that live: they are late then.
func endClaims(t *testing.T, dsn string) (stop func()) {
	conn, err := pgx.Connect(t.Context(), ledgertest.Superuser(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
			if _,
				err := conn.Exec(t.Context(), "UPDATE dpproxy_ledger.answer SET expires = now() WHERE octet_length(sealed) = 16"); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		_ = conn.Close(context.Background())
	}
}

func killAskers(t *testing.T, dsn string, times int, random *mathrand.Rand) (kills, answers, charges int) {
	t.Helper()
	released, together := emptyFile(t), 1
	if ledger.IsPostgres(dsn) {
		together = 2
		defer endClaims(t, dsn)()
	}
	for kills < times {
		var all sync.WaitGroup
		for range together {
			step, count := askSteps[kills%len(askSteps)], 1+random.IntN(12)
			kills++
			all.Go(func() { crash(t, dsn, released, step, count, "LEDGER_TEST_CHILD=ask") })
		}
		all.Wait()
		answers, charges = wantAnswersPaid(t, dsn, released)
	}
	return kills, answers, charges
}

// wantAnswersPaid compares what was released with what was charged, question by question.
func wantAnswersPaid(t *testing.T, dsn, released string) (answers, charges int) {
	t.Helper()
	charges = charged(t, dsn) // proves the totals
	s := opener(t, dsn)(ledgertest.PureConfig(1e9))
	defer s.Close()
	history, err := s.History(t.Context(), "alice", 0)
	if err != nil || len(history) != charges {
		t.Fatalf("%d lines of history, %v, for %d charges", len(history), err, charges)
	}
	paid := map[string]int{}
	for _, h := range history {
		paid[h.Query]++
	}
	text, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		question, answer, _ := strings.Cut(lines.Text(), " ")
		if given[question] == nil {
			given[question] = map[string]bool{}
		}
		given[question][answer] = true
	}
	for question, different := range given {
		if answers += len(different); len(different) > paid[question] {
			t.Fatalf("question %s has %d answers and %d charges", question, len(different), paid[question])
		}
	}
	return answers, charges
}
