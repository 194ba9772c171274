package accounting

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// Account holds what the records of one analyst add up to; or, under the empty name, of all analysts together. It is a
// value: stores copy it, change the copy, and keep the copy once its records are on disk.
type Account struct {
	Name    string
	Records uint64 // their number so far
	Cleared uint64 // number of the latest KindClear

	chain    Chain
	period   uint64
	start    time.Time // of the period
	last     time.Time // of the latest record: the ledger's clock never goes back before it
	sums     sums      // of the period
	failures uint64    // of main, since the period began or the latest KindClear
}

// NewAccount returns an account without records.
func NewAccount(name string) Account { return Account{Name: name} }

// append gives r its place in the account, applies it, and returns its bytes and what it adds to the sums.
func (a *Account) append(r *Record) ([]byte, sums, error) {
	r.Analyst, r.Number = a.Name, a.Records+1
	if r.Kind != KindPeriod {
		r.Period = a.period
	}
	payload := r.encode()
	added, err := a.apply(r, payload)
	return payload, added, err
}

// apply adds one record, which must be the account's next, and returns what a charge adds to the sums. It is the one
// place where records become totals: a store's start, `budget verify` and every charge call it.
func (a *Account) apply(r *Record, payload []byte) (added sums, err error) {
	if r.Analyst != a.Name {
		return added, fmt.Errorf("is a record of the %s", title(r.Analyst))
	}
	if r.Number != a.Records+1 {
		return added, fmt.Errorf("has number %d, but %d is due", r.Number, a.Records+1)
	}
	switch r.Kind {
	case KindPeriod:
		if a.Records == 0 != (r.Cause == causeFirst) || r.Cause != causeFirst && r.Period != a.period+1 {
			return added, fmt.Errorf("opens period %d after period %d", r.Period, a.period)
		}
		if r.Failures != 0 && r.Failures != a.failures {
			return added, fmt.Errorf("carries over %d failures of %d", r.Failures, a.failures)
		}
		a.period, a.start, a.sums, a.failures = r.Period, r.Start, sums{}, r.Failures
	case KindCharge:
		if added, err = cost(r.chargeOf(), r.Method); err != nil {
			return added, err
		}
		if a.Records == 0 || r.Period != a.period {
			return added, fmt.Errorf("charges period %d, but the account is in period %d", r.Period, a.period)
		}
		a.sums = a.sums.add(added)
	case KindFail:
		if r.Failures != 0 { // versions that did not count failures wrote 0
			if r.Failures != a.failures+1 {
				return added, fmt.Errorf("is failure %d after failure %d", r.Failures, a.failures)
			}
			a.failures = r.Failures
		}
	case KindClear:
		a.Cleared, a.failures = r.Number, 0
	}
	a.Records = r.Number
	a.chain = a.chain.link(payload)
	if r.At.After(a.last) {
		a.last = r.At
	}
	return added, nil
}

// chargeOf returns the charge of a record of KindCharge.
func (r *Record) chargeOf() ledger.Charge {
	return ledger.Charge{
		Query: r.Query, Fingerprint: r.Fingerprint, Policy: r.PolicyVersion,
		Epsilon: r.Epsilon, Curve: r.Curve, SelectionDelta: r.SelectionDelta,
	}
}

// accountFormat is the first byte of a stored account.
const accountFormat = 1

// Encode returns the account's bytes, with a CRC-32C at the end.
func (a *Account) Encode() []byte {
	b := []byte{accountFormat}
	b = appendText(b, a.Name)
	b = binary.AppendUvarint(b, a.Records)
	b = append(b, a.chain[:]...)
	b = binary.AppendUvarint(b, a.period)
	b = binary.AppendVarint(b, a.start.UnixMicro())
	b = binary.AppendVarint(b, a.last.UnixMicro())
	b = binary.AppendUvarint(b, a.Cleared)
	b = a.sums.appendTo(b)
	b = appendCount(b, a.failures)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s sums) appendTo(b []byte) []byte {
	b = s.pure.appendTo(b)
	b = s.selection.appendTo(b)
	b = binary.AppendUvarint(b, uint64(len(s.renyi)))
	for _, a := range s.renyi {
		b = a.appendTo(b)
	}
	return b
}

// DecodeAccount reads what encode wrote of the account with the given name.
func DecodeAccount(name string, b []byte) (Account, error) {
	a, err := decodeAnyAccount(b)
	if err == nil && a.Name != name {
		err = fmt.Errorf("holds the %s", title(a.Name))
	}
	return a, err
}

func decodeAnyAccount(b []byte) (Account, error) {
	var a Account
	if len(b) < 5 {
		return a, errShort
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return a, fmt.Errorf("checksum %08x does not match", sum)
	}
	d := decoder{rest: body}
	if v := d.byte(); v != accountFormat {
		return a, fmt.Errorf("has format %d, which this version does not know", v)
	}
	a.Name = d.text()
	a.Records = d.uvarint()
	copy(a.chain[:], d.take(uint64(len(a.chain))))
	a.period = d.uvarint()
	a.start, a.last = d.time(), d.time()
	a.Cleared = d.uvarint()
	a.sums.pure, a.sums.selection = d.amount(), d.amount()
	if n := d.uvarint(); d.err == nil && n > 0 {
		if n > uint64(len(d.rest)/16) {
			return a, errShort
		}
		a.sums.renyi = make([]Amount, n)
		for i := range a.sums.renyi {
			a.sums.renyi[i] = d.amount()
		}
	}
	a.failures = d.count()
	if d.err == nil && len(d.rest) > 0 {
		d.err = fmt.Errorf("has %d bytes too many", len(d.rest))
	}
	return a, d.err
}
