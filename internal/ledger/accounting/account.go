package accounting

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// Account holds what the records of one analyst add up to; or, under the empty name, of all analysts together. It is a
// value: stores copy it, change the copy, and keep the copy once its records are on disk.
type Account struct {
	Name       string
	Records    uint64 // their number so far
	Checkpoint uint64 // number of the latest KindCheckpoint; 0: there is none

	chain    Chain
	period   uint64
	start    time.Time // of the period
	last     time.Time // of the latest record: the ledger's clock never goes back before it
	sums     sums      // of the period
	failures uint64    // of main, since the period began or the latest KindClear
	refused  []refusal // since the latest KindClear, each once

	// What the account's charges add to the account of all analysts together.
	charged     time.Time // latest charge
	groupPeriod uint64    // of the latest charge
	groupSums   sums      // of the charges in that period
}

// refusal stands for the fingerprint of a statement that failed: SHA-256, cut to 128 bits.
type refusal [16]byte

func refusalOf(fingerprint string) (r refusal) {
	h := sha256.Sum256([]byte(fingerprint))
	copy(r[:], h[:])
	return r
}

// NewAccount returns an account without records.
func NewAccount(name string) Account { return Account{Name: name} }

// Refuses reports whether a statement has failed since the latest KindClear.
func (a *Account) Refuses(fingerprint string) bool {
	return slices.Contains(a.refused, refusalOf(fingerprint))
}

// Refused returns how many statements have failed since the latest KindClear.
func (a *Account) Refused() int { return len(a.refused) }

// append gives r its place in the account, applies it, and returns its bytes and what it adds to the sums.
func (a *Account) append(r *Record) ([]byte, sums, error) {
	r.Analyst, r.Number = a.Name, a.Records+1
	if r.Kind != KindPeriod {
		r.Period = a.period
	}
	payload := r.encode()
	added, err := a.apply(r, payload, costOf)
	return payload, added, err
}

// costOf returns what a charge adds to the sums.
func costOf(r *Record) (sums, error) { return cost(r.chargeOf(), r.Method) }

// apply adds one record, which must be the account's next, and returns what a charge adds to the sums. It is the one
// place where records become totals: a store's start, `budget verify` and every charge call it. cost is costOf, or does
// the same.
func (a *Account) apply(r *Record, payload []byte, cost func(*Record) (sums, error)) (added sums, err error) {
	if r.Analyst != a.Name {
		return added, fmt.Errorf("is a record of the %s", title(r.Analyst))
	}
	if r.Number != a.Records+1 {
		return added, fmt.Errorf("has number %d, but %d is due", r.Number, a.Records+1)
	}
	switch r.Kind {
	case KindPeriod:
		err = a.begin(r)
	case KindCharge, KindShared:
		added, err = a.charge(r, cost)
	case KindFail:
		if r.Failures != a.failures+1 {
			return added, fmt.Errorf("is failure %d after failure %d", r.Failures, a.failures)
		}
		a.failures = r.Failures
		if refused := refusalOf(r.Fingerprint); !slices.Contains(a.refused, refused) {
			a.refused = append(slices.Clip(a.refused), refused) // copies of the account share the list
		}
	case KindClear:
		a.refused, a.failures = nil, 0
	case KindCheckpoint:
		err = a.confirm(r)
	}
	if err != nil {
		return added, err
	}
	a.Records = r.Number
	a.chain = a.chain.link(payload)
	if r.At.After(a.last) {
		a.last = r.At
	}
	return added, nil
}

// begin opens a period.
func (a *Account) begin(r *Record) error {
	if a.Records == 0 != (r.Cause == causeFirst) || r.Cause != causeFirst && r.Period != a.period+1 {
		return fmt.Errorf("opens period %d after period %d", r.Period, a.period)
	}
	if r.Failures != 0 && r.Failures != a.failures {
		return fmt.Errorf("carries over %d failures of %d", r.Failures, a.failures)
	}
	a.period, a.start, a.sums, a.failures = r.Period, r.Start, sums{}, r.Failures
	return nil
}

// charge adds a charge to the period's sums, and to what the account adds to all analysts together.
func (a *Account) charge(r *Record, cost func(*Record) (sums, error)) (added sums, err error) {
	if added, err = cost(r); err != nil {
		return added, err
	}
	if a.Records == 0 || r.Period != a.period {
		return added, fmt.Errorf("charges period %d, but the account is in period %d", r.Period, a.period)
	}
	if r.GroupPeriod < a.groupPeriod {
		return added, fmt.Errorf("charges period %d of all analysts together after their period %d", r.GroupPeriod,
			a.groupPeriod)
	}
	if r.GroupPeriod > a.groupPeriod {
		a.groupPeriod, a.groupSums = r.GroupPeriod, sums{}
	}
	a.sums = a.sums.add(added)
	if r.Kind == KindCharge {
		a.groupSums = a.groupSums.add(added)
	}
	if r.At.After(a.charged) {
		a.charged = r.At
	}
	return added, nil
}

// confirm takes in a checkpoint, which must say what the records before it add up to.
func (a *Account) confirm(r *Record) error {
	state, err := decodeAnyAccount(r.State)
	if err == nil {
		err = state.differs("the checkpoint says", *a)
	}
	if err != nil {
		return err
	}
	a.Checkpoint = r.Number
	return nil
}

// resume returns the account right after a checkpoint, which says itself what came before it.
func resume(name string, payload []byte, stored Chain) (Account, error) {
	r, err := DecodeRecord(payload)
	if err != nil {
		return Account{}, err
	}
	if r.Kind != KindCheckpoint {
		return Account{}, fmt.Errorf("is no checkpoint, but of kind %d", r.Kind)
	}
	a, err := DecodeAccount(name, r.State)
	if err != nil {
		return Account{}, err
	}
	if _, err := a.apply(r, payload, costOf); err != nil {
		return Account{}, err
	}
	if a.chain != stored {
		return Account{}, errChecksum(stored)
	}
	return a, nil
}

// chargeOf returns the charge of a record.
func (r *Record) chargeOf() ledger.Charge {
	return ledger.Charge{
		Query: r.Query, Fingerprint: r.Fingerprint, Policy: r.PolicyVersion,
		Epsilon: r.Epsilon, Curve: r.Curve, SelectionDelta: r.SelectionDelta,
	}
}
