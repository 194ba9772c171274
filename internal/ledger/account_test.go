package ledger

import (
	"strings"
	"testing"
)

// TestFailuresOfOlderRecords: records of a version that did not count failures refuse their statement and count none.
func TestFailuresOfOlderRecords(t *testing.T) {
	a := account{name: "alice"}
	for i, tt := range []struct {
		r    *record
		want uint64
	}{
		{&record{kind: kindPeriod, cause: causeFirst}, 0},
		{&record{kind: kindFail, fingerprint: "f"}, 0},
		{&record{kind: kindFail, fingerprint: "f", failures: 1}, 1},
		{&record{kind: kindFail, fingerprint: "f"}, 1},
		{&record{kind: kindPeriod, cause: causeReset, period: 1}, 0},
	} {
		if _, _, err := a.append(tt.r); err != nil || a.failures != tt.want {
			t.Errorf("after record %d: %d failures, %v, want %d", i+1, a.failures, err, tt.want)
		}
	}
}

func TestForgedFailures(t *testing.T) {
	two := account{name: "alice", n: 3, failures: 2}
	for _, tt := range []struct {
		r    *record
		want string
	}{
		{&record{kind: kindFail, fingerprint: "f", failures: 2}, "is failure 2 after 2"},
		{&record{kind: kindFail, fingerprint: "f", failures: 4}, "is failure 4 after 2"},
		{&record{kind: kindPeriod, cause: causeReset, period: 1, failures: 1}, "carries over 1 failures of 2"},
	} {
		a := two
		if _, _, err := a.append(tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.r, err, tt.want)
		}
	}
	if err := two.differs(account{name: "alice", n: 3, failures: 1}); err == nil || !strings.Contains(err.Error(), "failures 2, its records 1") {
		t.Errorf("verify says %v", err)
	}
}
