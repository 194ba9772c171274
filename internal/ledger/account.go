package ledger

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

// account holds what the records of one analyst add up to; or, under the empty name, of all analysts together. It is a
// value: stores copy it, change the copy, and keep the copy once its records are on disk.
type account struct {
	name    string
	n       uint64 // records so far
	chain   chain
	period  uint64
	start   time.Time // of the period
	last    time.Time // of the latest record: the ledger's clock never goes back before it
	cleared uint64    // n of the latest kindClear
	sums    sums      // of the period

	failures uint64 // of main, since the period began or the latest kindClear
}

// newAccount returns an account without records.
func newAccount(name string) account { return account{name: name} }

// append gives r its place in the account, applies it, and returns its bytes and what it adds to the sums.
func (a *account) append(r *record) ([]byte, sums, error) {
	r.analyst, r.n = a.name, a.n+1
	if r.kind != kindPeriod {
		r.period = a.period
	}
	payload := r.encode()
	added, err := a.apply(r, payload)
	return payload, added, err
}

// apply adds one record, which must be the account's next, and returns what a charge adds to the sums. It is the one
// place where records become totals: a store's start, `budget verify` and every charge call it.
func (a *account) apply(r *record, payload []byte) (added sums, err error) {
	if r.analyst != a.name {
		return added, fmt.Errorf("belongs to account %q", r.analyst)
	}
	if r.n != a.n+1 {
		return added, fmt.Errorf("has number %d where %d is due", r.n, a.n+1)
	}
	switch r.kind {
	case kindPeriod:
		if a.n == 0 != (r.cause == causeFirst) || r.cause != causeFirst && r.period != a.period+1 {
			return added, fmt.Errorf("opens period %d after period %d", r.period, a.period)
		}
		if r.failures != 0 && r.failures != a.failures {
			return added, fmt.Errorf("carries over %d failures of %d", r.failures, a.failures)
		}
		a.period, a.start, a.sums, a.failures = r.period, r.start, sums{}, r.failures
	case kindCharge:
		if added, err = cost(r.chargeOf(), r.method); err != nil {
			return added, err
		}
		if a.n == 0 || r.period != a.period {
			return added, fmt.Errorf("charges period %d in period %d", r.period, a.period)
		}
		a.sums = a.sums.add(added)
	case kindFail:
		if r.failures != 0 { // else it is of a version that did not count them
			if r.failures != a.failures+1 {
				return added, fmt.Errorf("is failure %d after %d", r.failures, a.failures)
			}
			a.failures = r.failures
		}
	case kindClear:
		a.cleared, a.failures = r.n, 0
	}
	a.n = r.n
	a.chain = a.chain.link(payload)
	if r.at.After(a.last) {
		a.last = r.at
	}
	return added, nil
}

// chargeOf returns the charge of a record of kindCharge.
func (r *record) chargeOf() Charge {
	return Charge{
		Query: r.query, Fingerprint: r.fingerprint, Policy: r.version,
		Epsilon: r.epsilon, Curve: r.curve, SelectionDelta: r.selection,
	}
}

// accountFormat is the first byte of a stored account.
const accountFormat = 1

// encode returns the account's bytes, with a CRC-32C at the end.
func (a *account) encode() []byte {
	b := []byte{accountFormat}
	b = appendText(b, a.name)
	b = binary.AppendUvarint(b, a.n)
	b = append(b, a.chain[:]...)
	b = binary.AppendUvarint(b, a.period)
	b = binary.AppendVarint(b, a.start.UnixMicro())
	b = binary.AppendVarint(b, a.last.UnixMicro())
	b = binary.AppendUvarint(b, a.cleared)
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

// decodeAccount reads what encode wrote of the account with the given name.
func decodeAccount(name string, b []byte) (account, error) {
	a, err := decodeAnyAccount(b)
	if err == nil && a.name != name {
		err = fmt.Errorf("holds account %q", a.name)
	}
	return a, err
}

func decodeAnyAccount(b []byte) (account, error) {
	var a account
	if len(b) < 5 {
		return a, errShort
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return a, fmt.Errorf("checksum %08x does not match", sum)
	}
	d := decoder{rest: body}
	if v := d.byte(); v != accountFormat {
		return a, fmt.Errorf("format %d is not known to this version", v)
	}
	a.name = d.text()
	a.n = d.uvarint()
	copy(a.chain[:], d.take(uint64(len(a.chain))))
	a.period = d.uvarint()
	a.start, a.last = d.time(), d.time()
	a.cleared = d.uvarint()
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
		d.err = fmt.Errorf("%d bytes too many", len(d.rest))
	}
	return a, d.err
}
