package accounting

import (
	"strings"
	"testing"
)

// TestFailuresOfOlderRecords: records of a version that did not count failures refuse their statement and count none.
func TestFailuresOfOlderRecords(t *testing.T) {
	a := Account{Name: "alice"}
	for i, tt := range []struct {
		r    *Record
		want uint64
	}{
		{&Record{Kind: KindPeriod, Cause: causeFirst}, 0},
		{&Record{Kind: KindFail, Fingerprint: "f"}, 0},
		{&Record{Kind: KindFail, Fingerprint: "f", Failures: 1}, 1},
		{&Record{Kind: KindFail, Fingerprint: "f"}, 1},
		{&Record{Kind: KindPeriod, Cause: causeReset, Period: 1}, 0},
	} {
		if _, _, err := a.append(tt.r); err != nil || a.failures != tt.want {
			t.Errorf("after record %d: %d failures, %v, want %d", i+1, a.failures, err, tt.want)
		}
	}
}

func TestForgedFailures(t *testing.T) {
	two := Account{Name: "alice", Records: 3, failures: 2}
	for _, tt := range []struct {
		r    *Record
		want string
	}{
		{&Record{Kind: KindFail, Fingerprint: "f", Failures: 2}, "is failure 2 after failure 2"},
		{&Record{Kind: KindFail, Fingerprint: "f", Failures: 4}, "is failure 4 after failure 2"},
		{&Record{Kind: KindPeriod, Cause: causeReset, Period: 1, Failures: 1}, "carries over 1 failures of 2"},
	} {
		a := two
		if _, _, err := a.append(tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.r, err, tt.want)
		}
	}
	if err := two.differs(Account{Name: "alice", Records: 3, failures: 1}); err == nil || !strings.Contains(err.Error(), "failures 2, its records say 1") {
		t.Errorf("verify says %v", err)
	}
}
