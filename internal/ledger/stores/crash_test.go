package stores_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
)

// crashes is how often a process is killed on each kind of ledger: CRASHES=3000 make crash.
func crashes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CRASHES")
	if text == "" {
		return 50
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < len(crashSteps) {
		t.Fatalf("CRASHES=%s is not a number of at least %d", text, len(crashSteps))
	}
	return n
}

// crashSteps are the moments between asking for a charge and having released for it. The first three are inside the
// store, the last two in the session.
var crashSteps = []string{"decided", "written", "committed", "acknowledged", "released"}

// crashChild charges and releases, or counts failures and reports them, in four sessions. The process kills itself the
// n-th time that any session gets to a given step. Every release is one byte at the end of a file: a write that has
// returned survives the process.
func crashChild() int {
	step, early := os.Getenv("LEDGER_TEST_STEP"), os.Getenv("LEDGER_TEST_EARLY") != ""
	n, err := strconv.ParseInt(os.Getenv("LEDGER_TEST_COUNT"), 10, 64)
	if err != nil {
		return 2
	}
	var left atomic.Int64
	left.Store(n)
	at := func(here string) {
		if here == step && left.Add(-1) == 0 {
			if os.Getenv("LEDGER_TEST_STOP") != "" {
				syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				time.Sleep(200 * time.Millisecond) // the signal may go to another thread first
				return
			}
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	released, err := os.OpenFile(os.Getenv("LEDGER_TEST_RELEASED"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 2
	}
	config := ledgertest.PureConfig(1e9)
	config.Step, config.Failures, config.Checkpoint = at, 1e9, 3
	s, err := stores.Open(context.Background(), os.Getenv("LEDGER_TEST_DSN"), config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	count := func() error {
		_, err := s.Spend(context.Background(), "alice", []ledger.Charge{ledgertest.PureCharge(1)})
		return err
	}
	if os.Getenv("LEDGER_TEST_FAIL") != "" {
		count = func() error { return s.Fail(context.Background(), "alice", "f") }
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				if early {
					released.Write([]byte{1})
				}
				if err := count(); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(2)
				}
				at("acknowledged")
				if !early {
					released.Write([]byte{1})
				}
				at("released")
			}
		})
	}
	all.Wait()
	return 0
}

// crash runs a child to its end by SIGKILL.
func crash(t *testing.T, dsn, released, step string, count int, more ...string) {
	t.Helper()
	child := child(dsn, released, step, count, more...)
	out, err := child.CombinedOutput()
	if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child at step %s ended with %v: %s", step, err, out)
	}
}

// child is a process that charges, and meets its fate at the n-th time that it gets to a step.
func child(dsn, released, step string, count int, more ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "LEDGER_TEST_CHILD=crash", "LEDGER_TEST_DSN="+dsn, "LEDGER_TEST_RELEASED="+released,
		"LEDGER_TEST_STEP="+step, "LEDGER_TEST_COUNT="+strconv.Itoa(count))
	c.Env = append(c.Env, more...)
	return c
}

// charged opens the ledger, proves its totals, and returns how often ε = 1 was charged.
func charged(t *testing.T, dsn string) int {
	t.Helper()
	ctx := context.Background()
	s, err := stores.Open(ctx, dsn, ledgertest.PureConfig(1e9))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	b, err := s.Balance(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	return int(b.EpsilonSpent)
}

// crashesPerLedger is how often one ledger goes through a crash before the next takes over: reading it all takes longer
// each time.
const crashesPerLedger = 50

func TestKilledAtEveryStepNeverReleasesMoreThanItCharged(t *testing.T) {
	for kind, fresh := range map[string]func(*testing.T) string{
		"file":     func(t *testing.T) string { return "file:" + filepath.Join(t.TempDir(), "ledger") },
		"postgres": func(t *testing.T) string { return postgresDSN(t) },
	} {
		t.Run(kind, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 4))
			left, charges, releases := crashes(t), 0, 0
			for left > 0 {
				now := min(left, crashesPerLedger)
				c, r := crashOften(t, fresh(t), now, random)
				left, charges, releases = left-now, charges+c, releases+r
			}
			t.Logf("%d processes killed: %d charged, %d released", crashes(t), charges, releases)
		})
	}
}

// crashOften kills processes on one ledger, at each step in turn, and compares after each.
func crashOften(t *testing.T, dsn string, times int, random *rand.Rand) (total, out int) {
	t.Helper()
	released := emptyFile(t)
	for i := range times {
		step := crashSteps[i%len(crashSteps)]
		before, releasedBefore := total, out
		crash(t, dsn, released, step, 1+random.IntN(12))
		total, out = charged(t, dsn), sizeOf(t, released)
		if out > total {
			t.Fatalf("killed at %s: %d released, %d charged", step, out, total)
		}
		// At most the four sessions' charges are without a release: nothing is charged twice.
		if unreleased := (total - before) - (out - releasedBefore); unreleased > 4 {
			t.Fatalf("killed at %s: %d charges more than releases by 4 sessions", step, unreleased)
		}
	}
	return total, out
}

// TestTheCrashTestCanFail releases before charging: the harness must see it.
func TestTheCrashTestCanFail(t *testing.T) {
	dsn, released := "file:"+filepath.Join(t.TempDir(), "ledger"), emptyFile(t)
	crash(t, dsn, released, "decided", 3, "LEDGER_TEST_EARLY=1")
	if total, out := charged(t, dsn), sizeOf(t, released); out <= total {
		t.Errorf("%d released before %d were charged went unnoticed", out, total)
	}
}

func emptyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "released")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sizeOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size())
}
