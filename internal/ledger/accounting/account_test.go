package accounting

import (
	"strings"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

func TestForgedFailures(t *testing.T) {
	two := Account{Name: "alice", Records: 3, failures: 2}
	for _, tt := range []struct {
		r    *Record
		want string
	}{
		{&Record{Kind: KindFail, Fingerprint: "f"}, "is failure 0 after failure 2"},
		{&Record{Kind: KindFail, Fingerprint: "f", Failures: 2}, "is failure 2 after failure 2"},
		{&Record{Kind: KindFail, Fingerprint: "f", Failures: 4}, "is failure 4 after failure 2"},
		{&Record{Kind: KindPeriod, Cause: causeReset, Period: 1, Failures: 1}, "carries over 1 failures of 2"},
	} {
		a := two
		if _, _, err := a.append(tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.r, err, tt.want)
		}
	}
	if err := two.differs("its totals say", Account{Name: "alice", Records: 3, failures: 1}); err == nil ||
		!strings.Contains(err.Error(), "failures 2, its records say 1") {
		t.Errorf("verify says %v", err)
	}
}

// TestABookKeepsItsRules: a statement that has begun under another budget, admitted or not, leaves what a store decides
// by the same book to its own.
func TestABookKeepsItsRules(t *testing.T) {
	for name, second := range map[string]float64{"admitted": 1, "refused": 100} {
		before, err := NewRules(ledgertest.PureConfig(10))
		if err != nil {
			t.Fatal(err)
		}
		now, err := before.Reload(ledgertest.PureConfig(5))
		if err != nil {
			t.Fatal(err)
		}
		first := NewBook(before, time.Unix(0, 0), NewAccount("alice"), nil)
		balance, err := first.Spend([]ledger.Charge{ledgertest.PureCharge(4)})
		if err != nil {
			t.Fatal(err)
		}
		b := NewBook(now, time.Unix(0, 0), first.Account, nil)
		part := ledgertest.PureCharge(second)
		part.Begun = balance.Begun
		if _, err := b.Spend([]ledger.Charge{part}); (err == nil) != (name == "admitted") {
			t.Errorf("%s: a part: %v", name, err)
		}
		_, err = b.Spend([]ledger.Charge{ledgertest.PureCharge(3)})
		ledgertest.WantCode(t, err, "53400")
	}
}
