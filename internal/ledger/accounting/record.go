package accounting

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Kind says what a record does to its account.
type Kind byte

const (
	KindPeriod     Kind = iota + 1 // opens a period: the account's sums start from 0
	KindCharge                     // adds to the sums
	KindFail                       // counts a failure of main and refuses its fingerprint from now on
	KindClear                      // forgets all failures and refused fingerprints
	KindCheckpoint                 // says what the account's records before it add up to
	KindShared                     // a charge that all analysts together have paid before: for an answer of another's
)

// Charges says that a record adds to the sums of its account.
func (k Kind) Charges() bool { return k == KindCharge || k == KindShared }

// Cause says why a period began.
type Cause byte

const (
	causeFirst   Cause = iota + 1 // the account is new
	causeElapsed                  // `every` passed
	causeReset                    // `budget reset`
)

// Record is one event of an account. It is written once and never changed.
type Record struct {
	Kind        Kind
	Analyst     string // empty: the group account
	Number      uint64 // of the account, from 1, without gaps
	At          time.Time
	Period      uint64 // of the account, from 0
	GroupPeriod uint64 // charge: period of the group account

	Cause Cause     // period
	Start time.Time // period

	Failures uint64 // fail, period: of the account from now on

	Fingerprint    string // charge, fail
	Query          string // charge, as all that follows
	PolicyVersion  string
	Method         policy.Method
	Epsilon        float64
	SelectionDelta float64
	Curve          mechanism.Curve // its divergences are stored apart: DecodeRecord leaves them out
	CurveID        CurveID         // of the divergences; zero: the curve has none

	State []byte // checkpoint: the account before it (Account.Encode)
}

// recordFormat is the first byte of every record.
const recordFormat = 2

// FormatVersion is the version of what stores write: records, accounts and their layout.
const FormatVersion = 2

// EncodeOrders returns mechanism.Orders as float64 bits. A store keeps them: divergences at other orders do not add up
// with these.
func EncodeOrders() []byte {
	var b []byte
	for _, alpha := range mechanism.Orders {
		b = appendNumber(b, alpha)
	}
	return b
}

// Chain is the hash of a record and of all before it in its account: SHA-256, cut to 128 bits.
type Chain [16]byte

// link returns the chain after a record with the given bytes.
func (c Chain) link(payload []byte) Chain {
	h := sha256.New()
	h.Write(c[:])
	h.Write(payload)
	var out Chain
	copy(out[:], h.Sum(nil))
	return out
}

// encode returns the record's bytes: the format, then the fields in the order of the struct, numbers as minimal
// varints, texts with their length in front. Times are microseconds since 1970, UTC.
func (r *Record) encode() []byte {
	b := make([]byte, 0, 96+len(r.Analyst)+len(r.Fingerprint)+len(r.Query)+len(r.PolicyVersion)+len(r.State))
	b = append(b, recordFormat, byte(r.Kind))
	b = appendText(b, r.Analyst)
	b = binary.AppendUvarint(b, r.Number)
	b = binary.AppendVarint(b, r.At.UnixMicro())
	b = binary.AppendUvarint(b, r.Period)
	switch r.Kind {
	case KindPeriod:
		b = append(b, byte(r.Cause))
		b = binary.AppendVarint(b, r.Start.UnixMicro())
		b = binary.AppendUvarint(b, r.Failures)
	case KindFail:
		b = appendText(b, r.Fingerprint)
		b = binary.AppendUvarint(b, r.Failures)
	case KindCheckpoint:
		b = append(b, r.State...)
	case KindCharge, KindShared:
		b = binary.AppendUvarint(b, r.GroupPeriod)
		b = appendText(b, r.Fingerprint)
		b = appendText(b, r.Query)
		b = appendText(b, r.PolicyVersion)
		b = append(b, methodByte(r.Method))
		b = appendNumber(b, r.Epsilon)
		b = appendNumber(b, r.SelectionDelta)
		b = appendNumber(b, r.Curve.Pure)
		if r.CurveID != (CurveID{}) {
			b = append(b, r.CurveID[:]...)
		}
	}
	return b
}

// HistoryEntry returns what the analyst sees of a charge.
func (r *Record) HistoryEntry() ledger.HistoryEntry {
	return ledger.HistoryEntry{At: r.At, Query: r.Query, Epsilon: r.Epsilon}
}

// methodByte encodes a method of accounting.
func methodByte(m policy.Method) byte {
	if m == policy.Pure {
		return 1
	}
	return 2
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendNumber(b []byte, x float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(x))
}
