package accounting

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// someAccount has some of everything.
func someAccount() *Account {
	at := time.Date(2026, 11, 21, 2, 30, 0, 123456000, time.UTC)
	s := sums{pure: unbounded, selection: Amount{lo: 1}, renyi: []Amount{{}, {lo: 255}, {hi: 1}}}
	return &Account{
		Name: "alice", Records: 6, Checkpoint: 3, chain: Chain{1}, period: 8, start: at, last: at.Add(time.Hour), sums: s,
		failures: 2,
		refused:  []refusal{{1}, {2}}, charged: at, groupPeriod: 4, groupSums: sums{pure: Amount{lo: 7}},
	}
}

// someRecords are one of each kind.
func someRecords() []*Record {
	at := time.Date(2026, 11, 21, 2, 30, 0, 123456000, time.UTC)
	return []*Record{
		{Kind: KindPeriod, Analyst: "alice", Number: 1, At: at, Cause: causeFirst, Start: at},
		{
			Kind: KindCharge, Analyst: "alice", Number: 2, At: at, Period: 3, GroupPeriod: 4, Fingerprint: "f",
			Query:         "SELECT 'ä'",
			PolicyVersion: "v", Method: policy.RDP, Epsilon: 0.5, SelectionDelta: 1e-9,
			Curve: mechanism.Curve{Pure: math.Inf(1)}, CurveID: CurveID{1},
		},
		{Kind: KindCharge, Analyst: "alice", Number: 3, At: at, Method: policy.Pure, Epsilon: 0.5, Curve: mechanism.Curve{
			Pure: 0.5,
		}},
		{
			Kind: KindShared, Analyst: "alice", Number: 4, At: at, GroupPeriod: 4, Method: policy.Pure, Epsilon: 0.5,
			Curve: mechanism.Curve{Pure: 0.5},
		},
		{Kind: KindFail, Analyst: "alice", Number: 4, At: at, Fingerprint: "f", Failures: 300},
		{Kind: KindClear, Analyst: "alice", Number: 5, At: at},
		{Kind: KindPeriod, Number: 300, At: at, Period: 7, Cause: causeReset, Start: at.Add(-time.Hour)},
		{Kind: KindPeriod, Analyst: "alice", Number: 6, At: at, Period: 8, Cause: causeElapsed, Start: at, Failures: 5},
		{Kind: KindCheckpoint, Analyst: "alice", Number: 7, At: at, Period: 8, State: someAccount().Encode()},
	}
}

func TestRecordsComeBack(t *testing.T) {
	for _, r := range someRecords() {
		got, err := DecodeRecord(r.encode())
		if err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		if diff := cmp.Diff(r, got, cmp.AllowUnexported(Record{})); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, r := range someRecords() {
		b := r.encode()
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append(b, 0))
	}
	f.Add([]byte{recordFormat, byte(KindClear), 0x80, 0x00}) // a length that is not in its shortest form
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err != nil {
			return
		}
		if again := r.encode(); !bytes.Equal(again, b) {
			t.Errorf("%x is read as %+v, which is written as %x", b, r, again)
		}
	})
}

func FuzzDecodeAccount(f *testing.F) {
	seed := func(a Account) { b := a.Encode(); f.Add(b[:len(b)-4]) }
	a := NewAccount("alice")
	seed(a)
	seed(*someAccount())
	for _, r := range []*Record{
		{Kind: KindPeriod, Cause: causeFirst},
		{Kind: KindCharge, Method: policy.Pure, Epsilon: 0.5, Curve: mechanism.Curve{Pure: 0.5}},
		{Kind: KindFail, Fingerprint: "f", Failures: 1},
	} {
		if _, _, err := a.append(r); err != nil {
			f.Fatal(err)
		}
		seed(a)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)) // else nothing gets past the checksum
		a, err := decodeAnyAccount(b)
		if err != nil {
			return
		}
		if again := a.Encode(); !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x", b, again)
		}
	})
}
