package accounting

import (
	"strings"
	"testing"
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
