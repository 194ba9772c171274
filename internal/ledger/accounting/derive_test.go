package accounting

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestDerivationRefuses: a record that does not follow from those before it is an error that names it.
func TestDerivationRefuses(t *testing.T) {
	charge := func(period uint64) *Record {
		return &Record{Kind: KindCharge, GroupPeriod: period, Method: policy.Pure, Epsilon: 1, Curve: mechanism.Curve{
			Pure: 1,
		}}
	}
	for _, tt := range []struct {
		name, want string
		second     *Record
		forge      func(payload []byte, c *Chain)
	}{
		{"sound", "", charge(3), func([]byte, *Chain) {}},
		{"chain", `account "alice", record 2: checksum`, charge(0), func(_ []byte, c *Chain) { c[0] ^= 1 }},
		{"bytes", `account "alice", record 2: checksum`, charge(0), func(b []byte, _ *Chain) { b[len(b)-1] ^= 1 }},
	} {
		err := deriveTwo(t, tt.second, tt.forge)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// deriveTwo adds up a first period and a second record, whose bytes and chain forge may change, and compares.
func deriveTwo(t *testing.T, second *Record, forge func(payload []byte, c *Chain)) error {
	t.Helper()
	d, a := NewDerivation(nil), NewAccount("alice")
	for i, r := range []*Record{{Kind: KindPeriod, Cause: causeFirst}, second} {
		payload, _, err := a.append(r)
		if err != nil {
			t.Fatal(err)
		}
		stored := a.chain
		if i == 1 {
			forge(payload, &stored)
		}
		if err := d.Add("alice", payload, stored); err != nil {
			return err
		}
	}
	d.Finish()
	return d.Compare(map[string]Account{"alice": a})
}
