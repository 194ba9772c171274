package ledger

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

// someRecords are one of each kind.
func someRecords() []*record {
	at := time.Date(2026, 11, 21, 2, 30, 0, 123456000, time.UTC)
	return []*record{
		{kind: kindPeriod, analyst: "alice", n: 1, at: at, cause: causeFirst, start: at},
		{kind: kindCharge, analyst: "alice", n: 2, at: at, period: 3, group: 4, fingerprint: "f", query: "SELECT 'ä'",
			version: "v", method: policy.RDP, epsilon: 0.5, selection: 1e-9,
			curve: mechanism.Curve{Pure: math.Inf(1), Renyi: []float64{0.1, 0.2, math.Inf(1)}}},
		{kind: kindCharge, analyst: "alice", n: 3, at: at, method: policy.Pure, epsilon: 0.5, curve: mechanism.Curve{Pure: 0.5}},
		{kind: kindFail, analyst: "alice", n: 4, at: at, fingerprint: "f"},
		{kind: kindFail, analyst: "alice", n: 4, at: at, fingerprint: "f", failures: 300},
		{kind: kindClear, analyst: "alice", n: 5, at: at},
		{kind: kindPeriod, n: 300, at: at, period: 7, cause: causeReset, start: at.Add(-time.Hour)},
		{kind: kindPeriod, analyst: "alice", n: 6, at: at, period: 8, cause: causeElapsed, start: at, failures: 5},
	}
}

func TestRecordsComeBack(t *testing.T) {
	for _, r := range someRecords() {
		got, err := decodeRecord(r.encode())
		if err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		if diff := cmp.Diff(r, got, cmp.AllowUnexported(record{})); diff != "" {
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
	f.Add([]byte{recordFormat, byte(kindClear), 0x80, 0x00}) // a length that is not in its shortest form
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		if again := r.encode(); !bytes.Equal(again, b) {
			t.Errorf("%x is read as %+v, which is written as %x", b, r, again)
		}
	})
}

func FuzzDecodeAccount(f *testing.F) {
	a := account{name: "alice"}
	body := func() []byte { b := a.encode(); return b[:len(b)-4] }
	f.Add(body())
	for _, r := range someRecords()[:1] {
		if _, _, err := a.append(r); err != nil {
			f.Fatal(err)
		}
	}
	c := *someRecords()[2]
	if _, _, err := a.append(&c); err != nil {
		f.Fatal(err)
	}
	f.Add(body())
	f.Fuzz(func(t *testing.T, b []byte) {
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)) // else nothing gets past the checksum
		a, err := decodeAnyAccount(b)
		if err != nil {
			return
		}
		if again := a.encode(); !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x", b, again)
		}
	})
}
