package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// recordKind says what a record does to its account.
type recordKind byte

const (
	kindPeriod recordKind = iota + 1 // opens a period: the account's sums start from 0
	kindCharge                       // adds to the sums
	kindFail                         // counts a failure of main and refuses its fingerprint from now on
	kindClear                        // forgets all failures and refused fingerprints
)

// cause says why a period began.
type cause byte

const (
	causeFirst   cause = iota + 1 // the account is new
	causeElapsed                  // `every` passed
	causeReset                    // `budget reset`
)

// record is one event of an account. It is written once and never changed.
type record struct {
	kind    recordKind
	analyst string // empty: the group account
	n       uint64 // of the account, from 1, without gaps
	at      time.Time
	period  uint64 // of the account, from 0
	group   uint64 // charge: period of the group account

	cause cause     // period
	start time.Time // period

	failures uint64 // fail, period: of the account from now on

	fingerprint string // charge, fail
	query       string // charge, as the rest
	version     string
	method      policy.Method
	epsilon     float64
	selection   float64
	curve       mechanism.Curve
}

// recordFormat is the first byte of every record.
const recordFormat = 1

// formatVersion is the version of what stores write: records, accounts and their layout.
const formatVersion = 1

// encodeOrders returns mechanism.Orders as float64 bits. A store keeps them: divergences at other orders do not add up
// with these.
func encodeOrders() []byte {
	var b []byte
	for _, alpha := range mechanism.Orders {
		b = appendNumber(b, alpha)
	}
	return b
}

// chain is the hash of a record and of all before it in its account: SHA-256, cut to 128 bits.
type chain [16]byte

// link returns the chain after a record with the given bytes.
func (c chain) link(payload []byte) chain {
	h := sha256.New()
	h.Write(c[:])
	h.Write(payload)
	var out chain
	copy(out[:], h.Sum(nil))
	return out
}

// encode returns the record's bytes: the format, then the fields in the order of the struct, numbers as minimal varints,
// texts with their length in front. Times are microseconds since 1970, UTC.
func (r *record) encode() []byte {
	b := make([]byte, 0, 64+len(r.analyst)+len(r.fingerprint)+len(r.query)+len(r.version)+8*len(r.curve.Renyi))
	b = append(b, recordFormat, byte(r.kind))
	b = appendText(b, r.analyst)
	b = binary.AppendUvarint(b, r.n)
	b = binary.AppendVarint(b, r.at.UnixMicro())
	b = binary.AppendUvarint(b, r.period)
	switch r.kind {
	case kindPeriod:
		b = append(b, byte(r.cause))
		b = binary.AppendVarint(b, r.start.UnixMicro())
		b = appendCount(b, r.failures)
	case kindFail:
		b = appendText(b, r.fingerprint)
		b = appendCount(b, r.failures)
	case kindCharge:
		b = binary.AppendUvarint(b, r.group)
		b = appendText(b, r.fingerprint)
		b = appendText(b, r.query)
		b = appendText(b, r.version)
		b = append(b, methodByte(r.method))
		b = appendNumber(b, r.epsilon)
		b = appendNumber(b, r.selection)
		b = appendNumber(b, r.curve.Pure)
		b = binary.AppendUvarint(b, uint64(len(r.curve.Renyi)))
		for _, d := range r.curve.Renyi {
			b = appendNumber(b, d)
		}
	}
	return b
}

// historyEntry returns what the analyst sees of a record of kindCharge.
func (r *record) historyEntry() HistoryEntry {
	return HistoryEntry{At: r.at, Query: r.query, Epsilon: r.epsilon}
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

// appendCount ends a record or an account with a number, unless that is 0: versions that did not count failures wrote
// none.
func appendCount(b []byte, n uint64) []byte {
	if n == 0 {
		return b
	}
	return binary.AppendUvarint(b, n)
}

func appendNumber(b []byte, x float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(x))
}
