package stores_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

// eventually waits until something is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}

// TestStoppedProxyHoldsNobodyUp stops a process while it has an account locked. The others wait and are charged; when
// it goes on, it releases nothing that it was not charged for.
func TestStoppedProxyHoldsNobodyUp(t *testing.T) {
	for _, step := range []string{"decided", "written", "committed"} {
		t.Run(step, func(t *testing.T) {
			dsn, released, ctx := postgresDSN(t), emptyFile(t), context.Background()
			other := opener(t, dsn)(ledgertest.PureConfig(1e9))
			stopped := child(dsn, released, step, 20, "LEDGER_TEST_STOP=1")
			if err := stopped.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stopped.Process.Kill() }()
			for status := syscall.WaitStatus(0); !status.Stopped(); {
				if _, err := syscall.Wait4(stopped.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || status.Exited() {
					t.Fatalf("the child ended: %v, %v", status, err)
				}
			}
			mine := 0
			for range 8 {
				if _, err := other.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
					t.Fatal(err)
				}
				mine++
			}
			before := sizeOf(t, released)
			if err := stopped.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = stopped.Wait() // it ends where its charge failed
			}()
			eventually(t, func() bool {
				select {
				case <-ended:
					return true
				default:
					return sizeOf(t, released) > before
				}
			})
			_ = stopped.Process.Kill()
			<-ended
			if total, out := charged(t, dsn), sizeOf(t, released)+mine; out > total {
				t.Errorf("%d released, %d charged", out, total)
			}
		})
	}
}
